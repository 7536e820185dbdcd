"""What goes wrong because somebody asked for it, and what is held."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

FAULT_SET: Final = Row(
    "fault.set", "info", ("fault_id", "fault"), "Somebody asked for a fault, or for requests to be held."
)
FAULT_HIT: Final = Row(
    "fault.hit",
    "debug",
    ("fault_id", "fault", "api", "client_id", "group_id", "member_id", "topic", "partition"),
    "It happened: to a request, to an append, or to somebody who connected.",
)
FAULT_REMOVED: Final = Row(
    "fault.removed", "info", ("fault_id", "fault", "hits"), "It is no more. `hits`: how often it happened."
)
REQUEST_HELD: Final = Row(
    "request.held",
    "debug",
    ("fault_id", "number", "api", "client_id", "group_id", "member_id", "at"),
    "A request waits, or its answer (`at`), until somebody lets it go.",
)
REQUEST_LET_GO: Final = Row(
    "request.let_go",
    "debug",
    ("fault_id", "number", "api", "client_id", "how"),
    "It was let go, refused or lost (`how`).",
)
