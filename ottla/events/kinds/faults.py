"""What goes wrong because somebody asked for it, and what is held."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.phrases import counted, hit, void


class FaultEvents:
    """The kinds, by their names in code."""

    FAULT_SET: Final = EventKind(
        "fault.set",
        "info",
        ("fault_id", "fault"),
        "A fault or a hold was set.",
        says=lambda d: f"fault {d['fault_id']} set: {d['fault']}",
    )
    FAULT_HIT: Final = EventKind(
        "fault.hit",
        "debug",
        ("fault_id", "fault", "api", "client_id", "group_id", "member_id", "transactional_id", "topic", "partition"),
        "A fault applied to a request, an append or a new connection.",
        says=lambda d: f"fault {d['fault_id']} hit {hit(d)}: {d['fault']}",
    )
    FAULT_REMOVED: Final = EventKind(
        "fault.removed",
        "info",
        ("fault_id", "fault", "hits"),
        "A fault was removed. `hits`: how often it applied.",
        says=lambda d: f"fault {d['fault_id']} removed; it happened {counted(d['hits'], 'time')}",
    )
    REQUEST_HELD: Final = EventKind(
        "request.held",
        "debug",
        ("fault_id", "number", "api", "client_id", "group_id", "member_id", "at"),
        "A request or its answer (`at`) waits until it is let go.",
        says=lambda d: f"{d['api']} of {d['client_id']} held at the {d['at']} by fault {d['fault_id']}",
    )
    REQUEST_LET_GO: Final = EventKind(
        "request.let_go",
        "debug",
        ("fault_id", "number", "api", "client_id", "how"),
        "A held request was let go, refused or lost (`how`).",
        says=lambda d: f"{d['api']} of {d['client_id']} {d['how']} by fault {d['fault_id']}",
    )
    APPEND_HELD: Final = EventKind(
        "append.held",
        "debug",
        ("fault_id", "number", "group_id", "transactional_id"),
        "An append of a group or a transactional id waits until it is let go; its coordinator does nothing else for it "
        "meanwhile.",
        says=lambda d: f"append held by fault {d['fault_id']}",
    )
    APPEND_LET_GO: Final = EventKind(
        "append.let_go",
        "debug",
        ("fault_id", "number", "group_id", "transactional_id", "how"),
        "A held append was let go or refused (`how`).",
        says=lambda d: f"append {d['how']} by fault {d['fault_id']}",
    )
    DEADLINE_HELD: Final = EventKind(
        "deadline.held",
        "debug",
        ("fault_id", "number", "deadline", "group_id", "member_id", "transactional_id"),
        "A timer of a group or a transactional id, or a node's failover (`deadline`), has no effect until let go.",
        says=lambda d: f"{d['deadline']} held when it was due, by fault {d['fault_id']}",
    )
    DEADLINE_LET_GO: Final = EventKind(
        "deadline.let_go",
        "debug",
        ("fault_id", "number", "deadline", "group_id", "member_id", "transactional_id", "how", "is_void"),
        "A held deadline was let go or lost (`how`). `is_void`: the deadline has no effect, because the state has "
        "changed meanwhile.",
        says=lambda d: f"{d['deadline']} {d['how']}{void(d)} by fault {d['fault_id']}",
    )
