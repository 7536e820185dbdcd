"""What the clients' programs have in common: told what to do on stdin, they say on stdout what came of it.

One JSON object a line. `{"do": "commit", "with": {…}}` is answered, in the order asked, with `{"done": …}` or with
`{"refused": {"code": 36, "text": "…"}}`. What the program's consumer sees is said in between, unasked:
`{"assigned": [["topic", 0]]}`, `{"revoked": …}`, `{"lost": …}`, `{"messages": […]}`, `{"failed": {"code": …}}`.

Keys, values and headers are bytes, written as latin-1 text. Times are in milliseconds.
A program whose stdin ends is gone at once, without a word to the broker, like a client whose machine has lost power;
`close` is the orderly way to leave.

The words are methods whose arguments and results are JSON. A library that can't do something lacks the word.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

#: How long one look for messages takes at most, if nothing else is said; words are listened to in between.
TURN_SECONDS = 0.02
#: How long a library may take for one call before the program gives up.
CALL_SECONDS_MAX = float(os.environ.get("OTTLA_PATIENCE_SECONDS") or 120)
#: Consumers beat often, so that they hear of a rebalance soon.
HEARTBEAT_INTERVAL_MS = 100
#: Nor do fetches wait long, for other requests on the same connection wait behind them.
FETCH_MAX_WAIT_MS = 50


class Refused(Exception):
    """The library said no. `code` is Kafka's error code, or None if the library's own reasons were others."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    def json(self) -> dict[str, Any]:
        return {"code": self.code, "text": self.text}


def text(data: bytes | None) -> str | None:
    return None if data is None else bytes(data).decode("latin-1")


def raw(data: str | None) -> bytes | None:
    return None if data is None else data.encode("latin-1")


def say(**what: Any) -> None:
    """Tell the test something."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def say_polled(polled: Mapping[Any, Sequence[Any]]) -> None:
    """Tell of the messages of a poll, which kafka-python and aiokafka give alike: lists, by partition."""
    messages = [
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp_ms": record.timestamp,
            "key": text(record.key),
            "value": text(record.value),
            "headers": [[name, text(value)] for name, value in record.headers],
        }
        for records in polled.values()
        for record in records
    ]
    if messages:
        say(messages=messages)


class Program:
    """A client library behind the words. Subclasses have the words and `turn`."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self.bootstrap = bootstrap
        self.client_id = client_id
        #: Whether there is a consumer that wants its turns.
        self.is_consuming = False
        #: How long one of them takes at most.
        self.turn_seconds = TURN_SECONDS

    def turn(self) -> None:
        """Let the consumer do what it has to for at most `turn_seconds`, and `say` what it saw."""
        raise NotImplementedError

    def refusal(self, error: Exception) -> Refused | None:
        """What an error of the library means; None: it is not one of the library's."""
        raise NotImplementedError

    def run(self) -> None:
        """Do as told until stdin ends."""
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(lines,), daemon=True).start()
        while True:
            if self.is_consuming and lines.empty():
                self._try_turn()
            else:
                self._do(json.loads(lines.get()))

    def _try_turn(self) -> None:
        try:
            self.turn()
        except Exception as error:
            refused = self.refusal(error)
            if refused is None:
                raise
            self.is_consuming = False
            say(failed=refused.json())

    def _do(self, order: dict[str, Any]) -> None:
        try:
            done = getattr(self, order["do"])(**order["with"])
        except Exception as error:
            refused = error if isinstance(error, Refused) else self.refusal(error)
            if refused is None:
                raise
            say(refused=refused.json())
        else:
            say(done=done)


def _listen(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def main(program: type[Program]) -> None:
    """Run a program as its module's main: `python -m …programs.aio BOOTSTRAP CLIENT_ID`."""
    program(*sys.argv[1:3]).run()
