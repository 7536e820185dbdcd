"""Topics that come, grow and go, and what is refused of them."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.phrases import counted


class TopicEvents:
    """The kinds, by their names in code."""

    TOPIC_CREATED: Final = EventKind(
        "topic.created",
        "info",
        ("topic", "topic_id", "partitions", "client_id"),
        "A topic was created; on demand if `client_id` is missing.",
        says=lambda d: (
            f"topic {d['topic']} created, {counted(d['partitions'], 'partition')}"
            + (f", for {d['client_id']}" if d.get("client_id") else "")
        ),
    )
    TOPIC_GROWN: Final = EventKind(
        "topic.grown",
        "info",
        ("topic", "first_partition", "partitions", "client_id"),
        "Partitions were added. `first_partition` is the first new one, `partitions` the number of all.",
        says=lambda d: f"topic {d['topic']} has {counted(d['partitions'], 'partition')} now",
    )
    TOPIC_DELETED: Final = EventKind(
        "topic.deleted",
        "info",
        ("topic", "topic_id", "partitions", "client_id"),
        "A topic was deleted.",
        says=lambda d: f"topic {d['topic']} deleted",
    )
    TOPIC_AUTOCREATION_REFUSED: Final = EventKind(
        "topic.autocreation.refused", "warning", ("topic", "error", "reason"), "A topic could not be created on demand."
    )
