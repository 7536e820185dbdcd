"""Groups and their members: the kinds of the coordinator's notes, which also make the journal, and the group log."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

_IN_GROUP = ("group_id", "generation_id")
#: What every note tells as well: the group's state after it, and how many notes there were of the group.
_OF_NOTE = ("state", "group_sequence")

GROUP_REBALANCE_STARTED: Final = Row(
    "group.rebalance.started",
    "info",
    (*_IN_GROUP, "cause", "member_id", "reason", "delay_ms"),
    "Members are called together: why, because of whom, and what that one said. `delay_ms` is how long a group that "
    "was empty waits for more members.",
    _OF_NOTE,
)
GROUP_DELAY_BEGUN: Final = Row(
    "group.delay.begun",
    "info",
    ("group_id", "delay_ms", "reason"),
    "A group that was empty waits for more members before its first rebalance. `ottla serve` says it once.",
)
GROUP_REBALANCE_JOINED: Final = Row(
    "group.rebalance.joined",
    "info",
    (*_IN_GROUP, "cause", "members", "leader", "protocol_type", "protocol_name", "duration_ms"),
    "Everybody is there, or was waited for long enough: a new generation. `members` is how many.",
    (*_OF_NOTE, "member_ids"),
)
GROUP_REBALANCE_COMPLETED: Final = Row(
    "group.rebalance.completed",
    "info",
    (*_IN_GROUP, "cause", "leader", "protocol_name", "duration_ms"),
    "The leader has brought the assignment. `duration_ms` counts from the start.",
    (*_OF_NOTE, "assignment_bytes"),
)
GROUP_REBALANCE_STUCK: Final = Row(
    "group.rebalance.stuck",
    "warning",
    (*_IN_GROUP, "members"),
    "Members have no protocol in common and wait.",
    (*_OF_NOTE, "member_ids"),
)
GROUP_EMPTIED: Final = Row(
    "group.emptied", "info", (*_IN_GROUP, "duration_ms"), "A rebalance ended without members.", _OF_NOTE
)
GROUP_MEMBER_ID_HANDED_OUT: Final = Row(
    "group.member.id_handed_out",
    "debug",
    (*_IN_GROUP, "member_id", "client_id", "client_host"),
    "Somebody new was told its member id and is to come back with it.",
    _OF_NOTE,
)
GROUP_MEMBER_JOINED: Final = Row(
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
    "A new member.",
    _OF_NOTE,
)
GROUP_MEMBER_REJOINED: Final = Row(
    "group.member.rejoined",
    "debug",
    (*_IN_GROUP, "member_id", "is_changed", "reason"),
    "A member came again.",
    _OF_NOTE,
)
GROUP_MEMBER_REPLACED: Final = Row(
    "group.member.replaced",
    "info",
    (*_IN_GROUP, "member_id", "replaced_member_id", "group_instance_id", "reason"),
    "A static member came back with a new member id.",
    _OF_NOTE,
)
GROUP_MEMBER_REMOVED: Final = Row(
    "group.member.removed",
    "info",
    (*_IN_GROUP, "member_id", "group_instance_id", "cause", "reason", "silent_ms"),
    "A member left, or was given up: `cause` says which. `silent_ms` is the time since its last sign of life.",
    _OF_NOTE,
)
GROUP_JOIN_REFUSED: Final = Row(
    "group.join.refused",
    "info",
    (*_IN_GROUP, "member_id", "client_id", "client_host", "error"),
    "A JoinGroup was answered with an error.",
    _OF_NOTE,
)
GROUP_CREATED: Final = Row("group.created", "debug", (*_IN_GROUP, "cause"), "A group came into being.", _OF_NOTE)
GROUP_LOADED: Final = Row(
    "group.loaded",
    "debug",
    (*_IN_GROUP, "members", "leader", "protocol_type", "protocol_name"),
    "A group was read from its log.",
    (*_OF_NOTE, "member_ids"),
)
GROUP_UNLOADED: Final = Row(
    "group.unloaded", "debug", _IN_GROUP, "Another node coordinates the group now, or none.", _OF_NOTE
)
GROUP_DELETED: Final = Row("group.deleted", "info", (*_IN_GROUP, "cause"), "A group is gone.", _OF_NOTE)
GROUP_OFFSETS_REMOVED: Final = Row(
    "group.offsets.removed",
    "info",
    (*_IN_GROUP, "cause", "partitions"),
    "Committed offsets of so many are gone.",
    _OF_NOTE,
)
GROUP_FAILED: Final = Row(
    "group.failed",
    "error",
    ("group_id", "reason"),
    "A group met a bug of ours, with its traceback. It is read anew from its log; other groups go on. "
    "Said once for a reason within an hour.",
)
GROUP_RECOVERED: Final = Row("group.recovered", "info", ("group_id",), "A group that had failed is coordinated again.")
GROUPS_LOADED: Final = Row(
    "groups.loaded", None, (), "What groups there were at the start, if any, are read; said once."
)
GROUP_LOG_LOADED: Final = Row(
    "group_log.loaded",
    "info",
    ("partition", "groups", "duration_ms"),
    "A partition of __consumer_offsets was read, and its groups are coordinated from now on.",
)
GROUP_LOG_LOAD_FAILED: Final = Row(
    "group_log.load.failed",
    "error",
    ("partition", "reason"),
    "A partition of __consumer_offsets can't be read. Its groups have no coordinator.",
)
GROUP_LOG_RECORDS_IGNORED: Final = Row(
    "group_log.records.ignored",
    "warning",
    ("partition", "record_type", "records"),
    "A partition of __consumer_offsets has records of a type that isn't known here: groups of other kinds.",
)
GROUP_WRITE_FAILED: Final = Row(
    "group.write.failed",
    "error",
    (*_IN_GROUP, "error", "what"),
    "The group's log took no record. Said once for a reason, until it has not happened for a minute.",
    _OF_NOTE,
)
