"""The log's lines: a reader of the stream of events that writes those of the log's level and above.

A line takes as long as several answers, and a rebalance writes three. So what went well is written when the answers of
its turn have left, at most a turn of the loop later; what did not, at once, and what happened before it.

What goes wrong may do so many times a second: with each commit of a group whose log takes no record, with each try of a
client that speaks TLS. The log has it once for each reason, until it has not happened for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.broker.reporting.structured_log import LEVELS
from ottla.events.kind import KINDS
from ottla.events.setbacks import Setbacks

if TYPE_CHECKING:
    from ottla.broker.reporting.structured_log import Log
    from ottla.events.stream import Event, Stream

CallSoon: TypeAlias = Callable[[Callable[[], None]], object]


_GOOD: Final = ("debug", "info")


class LogLines:
    """Writes them."""

    def __init__(self, events: Stream, log: Log) -> None:
        """From now on, what is of the log's level or above."""
        self._log = log
        self._told = {
            kind: Setbacks[tuple[object, ...]](events.now_ms, kind.once.quiet_ms)
            for kind in KINDS.values()
            if kind.once is not None
        }
        #: Has something called in the loop's next turn. None: lines are written at once.
        self._call_soon: CallSoon | None = None
        self._waiting: deque[Event] = deque()
        enabled = {level for level, number in LEVELS.items() if log.is_enabled_for(number)}
        events.read(self._read, [kind for kind in KINDS.values() if kind.level in enabled])

    def write_soon(self, call_soon: CallSoon) -> None:
        """From now on write what went well in the loop's next turn, after the answers of this one."""
        self._call_soon = call_soon

    def write_at_once(self) -> None:
        """Write what waits, and from now on everything at once."""
        self._call_soon = None
        self._write_waiting()

    def _read(self, event: Event) -> None:
        waiting = self._waiting
        waiting.append(event)
        if self._call_soon is None or event.kind.level not in _GOOD:
            self._write_waiting()
        elif len(waiting) == 1:
            self._call_soon(self._write_waiting)

    def _write_waiting(self) -> None:
        while self._waiting:
            self._write(self._waiting.popleft())

    def _write(self, event: Event) -> None:
        details = event.details
        if (once := event.kind.once) is not None and not self._told[event.kind].failed(
            tuple(details.get(key) for key in once.whose), str(details.get(once.why))
        ):
            return
        assert event.kind.level is not None
        keys: dict[str, Any] = {} if event.node_id is None else {"node_id": event.node_id}
        keys |= {key: details[key] for key in event.kind.keys if key in details}
        if event.raised is not None:
            keys["exc_info"] = event.raised
        getattr(self._log, event.kind.level)(event.kind.name, **keys)
