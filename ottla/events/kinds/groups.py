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
    "A rebalance started. `cause`, `member_id` and `reason` say why, because of which member, and the member's own "
    "reason. `delay_ms`: how long a group that was empty waits for more members.",
    _OF_NOTE,
)
GROUP_DELAY_BEGUN: Final = Row(
    "group.delay.begun",
    "info",
    ("group_id", "delay_ms", "reason"),
    "A group that was empty waits for more members before its first rebalance. `ottla serve` logs it once.",
)
GROUP_REBALANCE_JOINED: Final = Row(
    "group.rebalance.joined",
    "info",
    (*_IN_GROUP, "cause", "members", "leader", "protocol_type", "protocol_name", "duration_ms"),
    "All members have joined, or the rebalance timeout is over; a new generation starts. `members` is their number.",
    (*_OF_NOTE, "member_ids"),
)
GROUP_REBALANCE_COMPLETED: Final = Row(
    "group.rebalance.completed",
    "info",
    (*_IN_GROUP, "cause", "leader", "protocol_name", "duration_ms"),
    "The leader has sent the assignment. `duration_ms` counts from the start of the rebalance.",
    (*_OF_NOTE, "assignment_bytes"),
)
GROUP_REBALANCE_STUCK: Final = Row(
    "group.rebalance.stuck",
    "warning",
    (*_IN_GROUP, "members"),
    "The members have no protocol in common; the group waits.",
    (*_OF_NOTE, "member_ids"),
)
GROUP_EMPTIED: Final = Row(
    "group.emptied", "info", (*_IN_GROUP, "duration_ms"), "A rebalance ended without members.", _OF_NOTE
)
GROUP_MEMBER_ID_HANDED_OUT: Final = Row(
    "group.member.id_handed_out",
    "debug",
    (*_IN_GROUP, "member_id", "client_id", "client_host"),
    "A new member was given its member id and must join again with it.",
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
    "A new member joined.",
    _OF_NOTE,
)
GROUP_MEMBER_REJOINED: Final = Row(
    "group.member.rejoined",
    "debug",
    (*_IN_GROUP, "member_id", "is_changed", "reason"),
    "A member joined again.",
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
    "A member left or was removed (`cause`). `silent_ms`: the time since its last request.",
    _OF_NOTE,
)
GROUP_JOIN_REFUSED: Final = Row(
    "group.join.refused",
    "info",
    (*_IN_GROUP, "member_id", "client_id", "client_host", "error"),
    "A JoinGroup was answered with an error.",
    _OF_NOTE,
)
GROUP_CREATED: Final = Row("group.created", "debug", (*_IN_GROUP, "cause"), "A group was created.", _OF_NOTE)
GROUP_LOADED: Final = Row(
    "group.loaded",
    "debug",
    (*_IN_GROUP, "members", "leader", "protocol_type", "protocol_name"),
    "A group was read from its log.",
    (*_OF_NOTE, "member_ids"),
)
GROUP_UNLOADED: Final = Row(
    "group.unloaded", "debug", _IN_GROUP, "Another node, or no node, coordinates the group now.", _OF_NOTE
)
GROUP_DELETED: Final = Row("group.deleted", "info", (*_IN_GROUP, "cause"), "A group was deleted.", _OF_NOTE)
GROUP_OFFSETS_REMOVED: Final = Row(
    "group.offsets.removed",
    "info",
    (*_IN_GROUP, "cause", "partitions"),
    "Committed offsets were removed. `partitions` is their number.",
    _OF_NOTE,
)
GROUP_FAILED: Final = Row(
    "group.failed",
    "error",
    ("group_id", "reason"),
    "A group raised an exception (a bug), with its traceback. The group is read again from its log; other groups go "
    "on. Logged at most once an hour for each reason.",
)
GROUP_RECOVERED: Final = Row("group.recovered", "info", ("group_id",), "A group that had failed is coordinated again.")
GROUPS_LOADED: Final = Row("groups.loaded", None, (), "All groups that existed at the start have been read; told once.")
GROUP_LOG_LOADED: Final = Row(
    "group_log.loaded",
    "info",
    ("partition", "groups", "duration_ms"),
    "A partition of __consumer_offsets was read; this node now coordinates its groups.",
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
    "A partition of __consumer_offsets has records of an unknown type, from other kinds of groups.",
)
GROUP_WRITE_FAILED: Final = Row(
    "group.write.failed",
    "error",
    (*_IN_GROUP, "error", "what"),
    "A record could not be written to the group's log. Logged once for each reason, and again after a minute "
    "without it.",
    _OF_NOTE,
)
