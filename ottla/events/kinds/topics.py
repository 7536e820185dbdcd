"""Topics that come, grow and go, and what is refused of them."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

TOPIC_CREATED: Final = Row(
    "topic.created",
    "info",
    ("topic", "topic_id", "partitions", "client_id"),
    "A topic was created; on demand if `client_id` is missing.",
)
TOPIC_GROWN: Final = Row(
    "topic.grown",
    "info",
    ("topic", "first_partition", "partitions", "client_id"),
    "Partitions were added. `first_partition` is the first new one, `partitions` the number of all.",
)
TOPIC_DELETED: Final = Row(
    "topic.deleted", "info", ("topic", "topic_id", "partitions", "client_id"), "A topic was deleted."
)
TOPIC_AUTOCREATION_REFUSED: Final = Row(
    "topic.autocreation.refused", "warning", ("topic", "error", "reason"), "A topic could not be created on demand."
)
