"""The log's lines: a reader of the stream of events that writes those of the log's level and above.

What goes wrong may do so many times a second: with each commit of a group whose log takes no record, with each try of a
client that speaks TLS. Who reads the log hears it once for a reason, until it has not happened for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.broker.structured_log import LEVELS
from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks

if TYPE_CHECKING:
    from ottla.broker.structured_log import Log
    from ottla.events.stream import Event, Stream


class _Repeated(NamedTuple):
    """An event that comes again and again for one reason: whose it is, why it is, and after what silence it is news."""

    whose: tuple[str, ...]
    why: str
    quiet_ms: int


_REPEATED: Final = {
    Kind.GROUP_WRITE_FAILED: _Repeated(("group_id", "what"), "error", 60_000),
    Kind.TRANSACTION_WRITE_FAILED: _Repeated(("transactional_id", "what"), "error", 60_000),
    Kind.CONNECTION_FOREIGN: _Repeated(("client_host", "reason"), "reason", 1_000),
}


def write_log_lines(events: Stream, log: Log) -> None:
    """Have what happens from now on in the log, as far as it is of its level."""
    told = {
        kind: Setbacks[tuple[object, ...]](events.now_ms, repeated.quiet_ms) for kind, repeated in _REPEATED.items()
    }

    def write(event: Event) -> None:
        details = event.details
        if (repeated := _REPEATED.get(event.kind)) is not None and not told[event.kind].failed(
            tuple(details.get(key) for key in repeated.whose), str(details.get(repeated.why))
        ):
            return
        assert event.kind.level is not None
        keys: dict[str, Any] = {} if event.node_id is None else {"node_id": event.node_id}
        keys |= {key: details[key] for key in event.kind.keys if key in details}
        if event.raised is not None:
            keys["exc_info"] = event.raised
        getattr(log, event.kind.level)(event.kind.value, **keys)

    enabled = {level for level, number in LEVELS.items() if log.is_enabled_for(number)}
    events.read(write, [kind for kind in Kind if kind.level in enabled])
