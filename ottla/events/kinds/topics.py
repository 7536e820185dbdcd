"""Topics that come, grow and go, and what is refused of them."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

TOPIC_CREATED: Final = Row(
    "topic.created",
    "info",
    ("topic", "topic_id", "partitions", "client_id"),
    "A topic was created; without `client_id` on demand.",
)
TOPIC_GROWN: Final = Row(
    "topic.grown",
    "info",
    ("topic", "first_partition", "partitions", "client_id"),
    "Partitions were added: the first of them, and how many there are now.",
)
TOPIC_DELETED: Final = Row(
    "topic.deleted", "info", ("topic", "topic_id", "partitions", "client_id"), "A topic was deleted."
)
TOPIC_AUTOCREATION_REFUSED: Final = Row(
    "topic.autocreation.refused", "warning", ("topic", "error", "reason"), "A topic asked for could not be made."
)
