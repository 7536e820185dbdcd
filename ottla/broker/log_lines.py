"""The log's lines: a reader of the stream of events that writes those of the log's level and above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.log import LEVELS
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.log import Log
    from ottla.events.stream import Event, Stream


def write_log_lines(events: Stream, log: Log) -> None:
    """Have what happens from now on in the log, as far as it is of its level."""

    def write(event: Event) -> None:
        assert event.kind.level is not None
        keys = dict(event.details)
        if event.node_id is not None:
            keys["node_id"] = event.node_id
        if event.raised is not None:
            keys["exc_info"] = event.raised
        getattr(log, event.kind.level)(event.kind.value, **keys)

    events.read(write, [kind for kind in Kind if kind.level is not None and log.is_enabled_for(LEVELS[kind.level])])
