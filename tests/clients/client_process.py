"""A client library in a process of its own, as a test sees it: it does as told, and what its consumer sees is kept.

    ana = start(CONFLUENT, "ana")
    ana.subscribe(group=group, topics=[topic])
    ana.until(lambda: ana.holds == {(topic, 0), (topic, 1)}, "ana holds both partitions")
    ana.freeze()      # it is still there, and does nothing: longer than its session, and it is expelled
    ana.kill()        # kill -9

Words that are not defined here are the program's own (`programs.program`), with its arguments.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, Any, Final, NamedTuple, Protocol

import pytest

from ottla.protocol.errors import ErrorCode
from tests.clients.libraries import ROOT
from tests.support.patience import PATIENCE_SECONDS

#: When messages are dated that are dated at all: lately, for brokers don't keep old ones for long.
AN_HOUR_AGO_MS: Final = (int(time.time()) - 3600) * 1000

TopicPartition = tuple[str, int]


class RefusedError(Exception):
    """The library said no; `code` is Kafka's error code, None if the library had reasons of its own."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@contextmanager
def refused(code: ErrorCode) -> Iterator[None]:
    """Expect that the library is refused something for this reason."""
    with pytest.raises(RefusedError) as refused:
        yield
    assert refused.value.code == code, refused.value.text


class Message(NamedTuple):
    """A message, sent or received. What is None on the way out is for the client or the broker to choose."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    partition: int | None = None
    topic: str | None = None
    offset: int | None = None

    def json(self) -> dict[str, Any]:
        return {
            "value": _text(self.value),
            "key": _text(self.key),
            "headers": [[name, _text(value)] for name, value in self.headers],
            "timestamp_ms": self.timestamp_ms,
            "partition": self.partition,
        }

    @classmethod
    def from_json(cls, heard: dict[str, Any]) -> Message:
        value, key = _raw(heard.pop("value")), _raw(heard.pop("key"))
        headers = tuple((name, _raw(content)) for name, content in heard.pop("headers"))
        return cls(value, key, headers, **heard)


class Runnable(Protocol):
    """A client library whose program can be started."""

    @property
    def name(self) -> str: ...

    def command(self, bootstrap: str, client_id: str) -> list[str]: ...

    def environment(self) -> dict[str, str]: ...


class ClientProcess:
    """A running program. What it tells arrives in a thread; all that is kept here is for reading only.

    Its stderr is ours, or goes to `stderr`. Whatever is waited for fails after `patience_seconds`.
    """

    def __init__(
        self,
        library: Runnable,
        bootstrap: str,
        client_id: str,
        stderr: IO[str] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.library = library
        self.client_id = client_id
        self.patience_seconds = patience_seconds
        #: The partitions its consumer holds by its group's decision.
        self.holds: set[TopicPartition] = set()
        #: What was given, taken and lost, in order: ("assigned", {("topic", 0)}).
        self.rebalances: list[tuple[str, frozenset[TopicPartition]]] = []
        #: What its consumer received, in order.
        self.messages: list[Message] = []
        #: Errors its consumer met.
        self.failures: list[RefusedError] = []
        #: Whether there is a consumer to close.
        self.is_consuming = False
        self._answers: list[dict[str, Any]] = []
        self._messages_before_answer = 0
        self._process = subprocess.Popen(
            library.command(bootstrap, client_id),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=ROOT,
            env=library.environment(),
        )
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __getattr__(self, word: str) -> Callable[..., Any]:
        if word.startswith("_"):
            raise AttributeError(word)
        return partial(self.ask, word)

    def ask(self, word: str, **arguments: Any) -> Any:
        """Have the program do something, and return what it answers. Raises `RefusedError`."""
        self.tell(word, **arguments)
        return self.answer(word)

    def tell(self, word: str, **arguments: Any) -> None:
        """Have the program do something, and don't wait; `answer` takes the answers in the order asked."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": word, "with": arguments}) + "\n")
        self._process.stdin.flush()

    def answer(self, word: str = "it") -> Any:
        """The next answer. Raises `RefusedError`."""
        self.until(lambda: bool(self._answers), f"{word} is done")
        answer = self._answers.pop(0)
        self._messages_before_answer = answer["messages before"]
        if "refused" in answer:
            raise RefusedError(**answer["refused"])
        return answer["done"]

    def send(self, topic: str, *messages: Message | bytes, **options: Any) -> list[tuple[int, int]]:
        """Produce messages; returns partition and offset of each. `options` are those of the program's `produce`."""
        listed = [message if isinstance(message, Message) else Message(message) for message in messages]
        stored = self.ask("produce", topic=topic, messages=[message.json() for message in listed], **options)
        return [(at, offset) for at, offset in stored]

    def subscribe(self, **options: Any) -> None:
        """Begin to consume as a member of a group."""
        self.ask("subscribe", **options)
        self.is_consuming = True

    def assign(self, *partitions: TopicPartition, **options: Any) -> None:
        """Begin to consume these partitions."""
        self.ask("assign", partitions=partitions, **options)
        self.is_consuming = True

    def close(self) -> None:
        """Close the consumer; a member leaves its group. The process can begin anew."""
        self.is_consuming = False
        self.ask("close")
        self.holds = set()

    def forget(self) -> None:
        """Forget what was seen so far, before something new begins."""
        self.holds = set()
        self.messages, self.rebalances, self.failures = [], [], []

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def has_crashed(self) -> bool:
        """Whether it has ended, and nobody has killed it."""
        return self._process.poll() not in (None, -signal.SIGKILL)

    @property
    def fresh(self) -> list[bytes | None]:
        """The values of the messages its consumer received since it was last told something, a seek for example."""
        return [message.value for message in self.messages[self._messages_before_answer :]]

    @property
    def values(self) -> list[bytes | None]:
        """The values of the messages its consumer received."""
        return [message.value for message in self.messages]

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until the program has told enough for `holds`, which is `what` in words."""
        until(holds, what, self)

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop all its threads, as a machine does that swaps or is suspended; its connections stay open."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Have the process gone, whatever state it is in."""
        self._process.kill()
        self._process.wait()
        self._thread.join()
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    @property
    def story(self) -> str:
        """What came of it so far, for whoever reads a failure."""
        ended = self._process.poll()
        lines = [
            f"{self.client_id} ({self.library.name}{'' if ended is None else f', ended with {ended}'})",
            f"  holds {sorted(self.holds)} after {len(self.messages)} messages",
            *(f"  {what} {sorted(partitions)}" for what, partitions in self.rebalances),
            *(f"  failed: {failure}" for failure in self.failures),
        ]
        return "\n".join(lines)

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._changed:
                self._hear(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _hear(self, told: dict[str, Any]) -> None:
        if "done" in told or "refused" in told:
            self._answers.append({**told, "messages before": len(self.messages)})
        for message in told.get("messages", ()):
            self.messages.append(Message.from_json(message))
        if "failed" in told:
            self.failures.append(RefusedError(**told["failed"]))
        for what in ("assigned", "revoked", "lost"):
            if what in told:
                partitions = frozenset((topic, index) for topic, index in told[what])
                self.holds = self.holds | partitions if what == "assigned" else self.holds - partitions
                self.rebalances.append((what, partitions))

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait(seconds)


def until(holds: Callable[[], bool], what: str, *clients: ClientProcess) -> None:
    """Wait until `holds`, which is `what` in words, about what these clients have told."""
    patience_seconds = clients[0].patience_seconds
    deadline = time.monotonic() + patience_seconds
    while not holds():
        story = "\n".join(client.story for client in clients)
        assert time.monotonic() < deadline, f"waited {patience_seconds} s in vain until {what}\n{story}"
        ended = [client.client_id for client in clients if client.has_crashed]
        assert not ended, f"{ended} ended before {what}; why stands on stderr\n{story}"
        clients[0]._wait(0.02)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("latin-1")


def _raw(data: str | None) -> bytes | None:
    return None if data is None else data.encode("latin-1")
