"""Groups and their members: the kinds of the coordinator's notes, which also make the journal, and the group log."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import Details, EventKind, Once
from ottla.events.kinds.phrases import client, counted, said

_IN_GROUP = ("group_id", "generation_id")
#: What every note tells as well: the group's state after it, and how many notes there were of the group.
_OF_NOTE = ("state", "group_sequence")


def _by_leader(details: Details) -> str:
    """Which member has assigned, in kinds of groups in which one does."""
    return f" by {details['leader']}" if "leader" in details else ""


def _since_start(details: Details) -> str:
    """How long a rebalance has taken."""
    return f"; {details['duration_ms']} ms after the start" if "duration_ms" in details else ""


class GroupEvents:
    """The kinds, by their names in code."""

    GROUP_REBALANCE_STARTED: Final = EventKind(
        "group.rebalance.started",
        "info",
        (*_IN_GROUP, "cause", "member_id", "reason", "delay_ms"),
        "A rebalance started. `cause`, `member_id` and `reason` say why, because of which member, and the member's own "
        "reason. `delay_ms`: how long a group that was empty waits for more members.",
        _OF_NOTE,
        says=lambda d: f"rebalance started: {d['cause']}{said(d)}",
    )
    GROUP_DELAY_BEGUN: Final = EventKind(
        "group.delay.begun",
        "info",
        ("group_id", "delay_ms", "reason"),
        "A group that was empty waits for more members before its first rebalance. `ottla serve` logs it once.",
        says=lambda d: f"waits {d['delay_ms']} ms for more members",
    )
    GROUP_REBALANCE_JOINED: Final = EventKind(
        "group.rebalance.joined",
        "info",
        (*_IN_GROUP, "cause", "members", "leader", "protocol_type", "protocol_name", "duration_ms"),
        "All members have joined, or the rebalance timeout is over; a new generation starts. `members` is their "
        "number.",
        (*_OF_NOTE, "member_ids"),
        says=lambda d: (
            f"generation {d['generation_id']}: {counted(d['members'], 'member')}, leader {d.get('leader')}, "
            f"{d.get('protocol_name')}{_since_start(d)}"
        ),
    )
    GROUP_REBALANCE_COMPLETED: Final = EventKind(
        "group.rebalance.completed",
        "info",
        (*_IN_GROUP, "cause", "leader", "protocol_name", "duration_ms"),
        "The leader has sent the assignment. `duration_ms` counts from the start of the rebalance.",
        (*_OF_NOTE, "assignment_bytes"),
        says=lambda d: f"generation {d['generation_id']} is assigned{_by_leader(d)}{_since_start(d)}",
    )
    GROUP_REBALANCE_STUCK: Final = EventKind(
        "group.rebalance.stuck",
        "warning",
        (*_IN_GROUP, "members"),
        "The members have no protocol in common; the group waits.",
        (*_OF_NOTE, "member_ids"),
        says=lambda d: f"stuck: {counted(d['members'], 'member')} without a protocol in common",
    )
    GROUP_EMPTIED: Final = EventKind(
        "group.emptied",
        "info",
        (*_IN_GROUP, "duration_ms"),
        "A rebalance ended without members.",
        _OF_NOTE,
        says=lambda d: f"generation {d['generation_id']}: no members left",
    )
    GROUP_MEMBER_ID_HANDED_OUT: Final = EventKind(
        "group.member.id_handed_out",
        "debug",
        (*_IN_GROUP, "member_id", "client_id", "client_host"),
        "A new member was given its member id and must join again with it.",
        _OF_NOTE,
        says=lambda d: f"told its member id: {client(d)}",
        is_minor=True,
    )
    GROUP_MEMBER_JOINED: Final = EventKind(
        "group.member.joined",
        "debug",
        (
            *_IN_GROUP,
            "member_id",
            "group_instance_id",
            "client_id",
            "client_host",
            "session_timeout_ms",
            "rebalance_timeout_ms",
            "reason",
        ),
        "A new member joined.",
        _OF_NOTE,
        says=lambda d: f"joined: {client(d)}{said(d)}",
    )
    GROUP_MEMBER_REJOINED: Final = EventKind(
        "group.member.rejoined",
        "debug",
        (*_IN_GROUP, "member_id", "is_changed", "reason"),
        "A member joined again.",
        _OF_NOTE,
        says=lambda d: f"rejoined{', changed' if d.get('is_changed') else ''}{said(d)}",
    )
    GROUP_MEMBER_REPLACED: Final = EventKind(
        "group.member.replaced",
        "info",
        (*_IN_GROUP, "member_id", "replaced_member_id", "group_instance_id", "reason"),
        "A static member came back with a new member id.",
        _OF_NOTE,
        says=lambda d: f"replaced {d.get('replaced_member_id')}{said(d)}",
    )
    GROUP_MEMBER_REMOVED: Final = EventKind(
        "group.member.removed",
        "info",
        (*_IN_GROUP, "member_id", "group_instance_id", "cause", "reason", "silent_ms"),
        "A member left or was removed (`cause`). `silent_ms`: the time since its last request.",
        _OF_NOTE,
        says=lambda d: f"removed: {d['cause']}{said(d)}",
    )
    GROUP_JOIN_REFUSED: Final = EventKind(
        "group.join.refused",
        "info",
        (*_IN_GROUP, "member_id", "client_id", "client_host", "error"),
        "A JoinGroup was answered with an error.",
        _OF_NOTE,
        says=lambda d: f"JoinGroup refused: {d['error']}, to {client(d)}",
    )
    GROUP_CREATED: Final = EventKind(
        "group.created",
        "debug",
        (*_IN_GROUP, "cause"),
        "A group was created.",
        _OF_NOTE,
        says=lambda d: f"created by a {d.get('cause')}",
        is_minor=True,
    )
    GROUP_LOADED: Final = EventKind(
        "group.loaded",
        "debug",
        (*_IN_GROUP, "members", "leader", "protocol_type", "protocol_name"),
        "A group was read from its log.",
        (*_OF_NOTE, "member_ids"),
        is_minor=True,
    )
    GROUP_UNLOADED: Final = EventKind(
        "group.unloaded",
        "debug",
        _IN_GROUP,
        "Another node, or no node, coordinates the group now.",
        _OF_NOTE,
        is_minor=True,
    )
    GROUP_DELETED: Final = EventKind(
        "group.deleted",
        "info",
        (*_IN_GROUP, "cause"),
        "A group was deleted.",
        _OF_NOTE,
        says=lambda d: f"deleted: {d.get('cause')}",
    )
    GROUP_OFFSETS_REMOVED: Final = EventKind(
        "group.offsets.removed",
        "info",
        (*_IN_GROUP, "cause", "partitions"),
        "Committed offsets were removed. `partitions` is their number.",
        _OF_NOTE,
        says=lambda d: f"offsets removed of {counted(d['partitions'], 'partition')}: {d['cause']}",
    )
    GROUP_FAILED: Final = EventKind(
        "group.failed",
        "error",
        ("group_id", "reason"),
        "A group raised an exception (a bug), with its traceback. The group is read again from its log; other groups "
        "go "
        "on. Logged at most once an hour for each reason.",
    )
    GROUP_RECOVERED: Final = EventKind(
        "group.recovered", "info", ("group_id",), "A group that had failed is coordinated again."
    )
    GROUPS_LOADED: Final = EventKind(
        "groups.loaded", None, (), "All groups that existed at the start have been read; told once.", is_minor=True
    )
    GROUP_LOG_LOADED: Final = EventKind(
        "group_log.loaded",
        "info",
        ("partition", "groups", "duration_ms"),
        "A partition of __consumer_offsets was read; this node now coordinates its groups.",
        is_minor=True,
    )
    GROUP_LOG_LOAD_FAILED: Final = EventKind(
        "group_log.load.failed",
        "error",
        ("partition", "reason"),
        "A partition of __consumer_offsets can't be read. Its groups have no coordinator.",
    )
    GROUP_LOG_RECORDS_IGNORED: Final = EventKind(
        "group_log.records.ignored",
        "warning",
        ("partition", "record_type", "records"),
        "A partition of __consumer_offsets has records of an unknown type, from other kinds of groups.",
    )
    GROUP_WRITE_FAILED: Final = EventKind(
        "group.write.failed",
        "error",
        (*_IN_GROUP, "error", "what"),
        "A record could not be written to the group's log. Logged once for each reason, and again after a minute "
        "without it.",
        _OF_NOTE,
        says=lambda d: f"{d.get('what', 'group')} not written: {d.get('error')}",
        once=Once(("group_id", "what"), "error", 60_000),
    )


#: The kinds that coordinators make notes of.
NOTED: Final = tuple(
    kind
    for kind in vars(GroupEvents).values()
    if isinstance(kind, EventKind) and "group_sequence" in (*kind.keys, *kind.keys_unlogged)
)
