"""The log's lines: a reader of the stream of events that writes those of the log's level and above.

A group whose log takes no record is told of with each commit, many times a second, and so is a transactional id. Who
reads the log hears it once for a reason, until it has not happened for a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ottla.broker.structured_log import LEVELS
from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks

if TYPE_CHECKING:
    from ottla.broker.structured_log import Log
    from ottla.events.stream import Event, Stream

#: Events that are told with each write that fails, and the key that says whose it was.
_UNWRITTEN: Final = {Kind.GROUP_WRITE_FAILED: "group_id", Kind.TRANSACTION_WRITE_FAILED: "transactional_id"}
#: What a log refused so long ago is told again.
_QUIET_MS: Final = 60_000


def write_log_lines(events: Stream, log: Log) -> None:
    """Have what happens from now on in the log, as far as it is of its level."""
    #: By group id, or transactional id, and what could not be written.
    unwritten: Setbacks[tuple[str, object]] = Setbacks(events.now_ms, _QUIET_MS)

    def write(event: Event) -> None:
        details = event.details
        if event.kind in _UNWRITTEN and not unwritten.failed(
            (details[_UNWRITTEN[event.kind]], details.get("what")), str(details.get("error"))
        ):
            return
        assert event.kind.level is not None
        keys: dict[str, Any] = {} if event.node_id is None else {"node_id": event.node_id}
        keys |= {key: details[key] for key in event.kind.keys if key in details}
        if event.raised is not None:
            keys["exc_info"] = event.raised
        getattr(log, event.kind.level)(event.kind.value, **keys)

    events.read(write, [kind for kind in Kind if kind.level is not None and log.is_enabled_for(LEVELS[kind.level])])
