"""What goes wrong because somebody asked for it, and what is held."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

FAULT_SET: Final = Row("fault.set", "info", ("fault_id", "fault"), "A fault or a hold was set.")
FAULT_HIT: Final = Row(
    "fault.hit",
    "debug",
    ("fault_id", "fault", "api", "client_id", "group_id", "member_id", "transactional_id", "topic", "partition"),
    "A fault applied to a request, an append or a new connection.",
)
FAULT_REMOVED: Final = Row(
    "fault.removed", "info", ("fault_id", "fault", "hits"), "A fault was removed. `hits`: how often it applied."
)
REQUEST_HELD: Final = Row(
    "request.held",
    "debug",
    ("fault_id", "number", "api", "client_id", "group_id", "member_id", "at"),
    "A request or its answer (`at`) waits until it is let go.",
)
REQUEST_LET_GO: Final = Row(
    "request.let_go",
    "debug",
    ("fault_id", "number", "api", "client_id", "how"),
    "A held request was let go, refused or lost (`how`).",
)
APPEND_HELD: Final = Row(
    "append.held",
    "debug",
    ("fault_id", "number", "group_id", "transactional_id"),
    "An append of a group or a transactional id waits until it is let go; its coordinator does nothing else for it "
    "meanwhile.",
)
APPEND_LET_GO: Final = Row(
    "append.let_go",
    "debug",
    ("fault_id", "number", "group_id", "transactional_id", "how"),
    "A held append was let go or refused (`how`).",
)
DEADLINE_HELD: Final = Row(
    "deadline.held",
    "debug",
    ("fault_id", "number", "deadline", "group_id", "member_id", "transactional_id"),
    "A timer of a group or a transactional id (`deadline`), or a node's failover, has no effect until it is let go.",
)
DEADLINE_LET_GO: Final = Row(
    "deadline.let_go",
    "debug",
    ("fault_id", "number", "deadline", "group_id", "member_id", "transactional_id", "how", "is_void"),
    "A held deadline was let go or lost (`how`). `is_void`: the deadline has no effect, because the state has "
    "changed meanwhile.",
)
