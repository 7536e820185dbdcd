"""What goes wrong because somebody asked for it, and what is held."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

FAULT_SET: Final = Row(
    "fault.set", "info", ("fault_id", "fault"), "Somebody asked for a fault, or for something to be held."
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
DEADLINE_HELD: Final = Row(
    "deadline.held",
    "debug",
    ("fault_id", "number", "deadline", "group_id", "member_id"),
    "A timer of a group (`deadline`: session, join, sync), or a node's failover, has no effect until it is let go.",
)
DEADLINE_LET_GO: Final = Row(
    "deadline.let_go",
    "debug",
    ("fault_id", "number", "deadline", "group_id", "member_id", "how", "is_void"),
    "It was let go or lost (`how`). `is_void`: nothing comes of it, for something else has happened meanwhile.",
)
