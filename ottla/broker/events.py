"""The table of log events: every name the broker logs, its level, its keys, and when it is logged.

Nothing is logged that is not in here, and docs/logs.md is printed from it; tests hold both. What happens in groups is
logged from the notes that also make the journal, so those events have the names of the notes.

A key is left out when it has no value. Every event has `timestamp`, `level` and `event`, and `node_id` where it
concerns one node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event. `keys` are those it can have, `when` is for people."""

    name: str
    level: Level
    keys: tuple[str, ...]
    when: str


_BROKER: Final = (
    LogEvent("broker.stop.requested", "info", ("signal",), "A signal came; the orderly end begins."),
    LogEvent("broker.stopped", "info", (), "Everything is answered, written and closed."),
    LogEvent("clock.stopped", "warning", ("reason",), "The clock is virtual and nothing can move it."),
    LogEvent("setting.ignored", "warning", ("setting", "reason"), "A setting was given that nobody knows."),
    LogEvent("setting.stored", "info", ("setting", "reason"), "A setting of Kafka's was given that has no effect."),
    LogEvent("journal.abandoned", "error", ("path", "reason"), "The journal can't be written; it ends here."),
    LogEvent(
        "task.failed",
        "error",
        ("task", "reason"),
        "A task met a bug of ours, with its traceback; others go on.",
    ),
    LogEvent("job.failed", "error", ("job", "reason"), "The same of a job in the background."),
    LogEvent(
        "timer.failed",
        "error",
        ("timer", "reason"),
        "The same of what a timer called, or of who waited for something. Said once for a reason.",
    ),
    LogEvent(
        "change.failed", "error", ("listener", "reason"), "The same of who was told of a change; the change is made."
    ),
    LogEvent(
        "round.failed",
        "error",
        ("work", "reason"),
        "The same of a round of what is done again and again; the pauses become longer. Said once for a reason.",
    ),
    LogEvent("round.recovered", "info", ("work",), "A round that had failed went well."),
    LogEvent("control.failed", "error", ("method", "path"), "The control API failed at a request; a bug of ours."),
    LogEvent("loop.failed", "error", ("reason",), "Something failed that is no request's; a bug of ours."),
)

_NODES: Final = (
    LogEvent("node.stopped", "info", ("is_hard",), "A node was stopped, gently or as if it had died."),
    LogEvent("node.missed", "warning", (), "A node that died is missed now, ottla.failover.ms later."),
    LogEvent("node.started", "info", (), "A node that was stopped is up again."),
    LogEvent("leaders.moved", "info", ("partitions",), "So many partitions have another leader, or none any more."),
)

_CONNECTIONS: Final = (
    LogEvent(
        "connection.refused",
        "warning",
        ("client_host", "reason", "frame"),
        "What came could not be understood or is not served; `frame` is how it began. The connection is closed.",
    ),
    LogEvent("connection.idle.closed", "info", ("client_host",), "Silent for connections.max.idle.ms."),
    LogEvent(
        "connection.failed",
        "error",
        ("client_host", "frame"),
        "What came did not get as far as a handler; a bug of ours, with its traceback. The connection is closed.",
    ),
    LogEvent(
        "request.refused",
        "warning",
        ("api", "api_version", "reason"),
        "Answered UNKNOWN_SERVER_ERROR because the right answer can't be written.",
    ),
    LogEvent("request.failed", "error", ("api", "api_version"), "A handler raised; a bug of ours, with its traceback."),
    LogEvent(
        "request.handled",
        "debug",
        ("api", "api_version", "correlation_id", "client_id", "client_host", "duration_ms"),
        "A request is answered.",
    ),
)

_TOPICS: Final = (
    LogEvent("topic.created", "info", ("topic", "partitions", "client_id"), "A client created a topic."),
    LogEvent("topic.grown", "info", ("topic", "partitions", "client_id"), "A client added partitions."),
    LogEvent("topic.deleted", "info", ("topic", "client_id"), "A client deleted a topic."),
    LogEvent(
        "topic.autocreation.refused", "warning", ("topic", "error", "reason"), "A topic asked for could not be made."
    ),
    LogEvent(
        "transaction.refused", "warning", ("transactional_id", "client_id", "reason"), "Somebody wanted a transaction."
    ),
)

_STORAGE: Final = (
    LogEvent(
        "log.offline",
        "error",
        ("directory", "reason"),
        "A log on disk could not be written or read, or is not what it was. Answered KAFKA_STORAGE_ERROR until the "
        "next start.",
    ),
    LogEvent(
        "log.cut",
        "warning",
        ("directory", "end_offset", "bytes_cut", "reason"),
        "The broker had not been stopped in order, and the end of a log was not whole: it was cut off.",
    ),
    LogEvent(
        "logs.recovering",
        "info",
        ("logs", "logs_done"),
        "The broker had not been stopped in order, and looks through its logs; said again every few seconds.",
    ),
    LogEvent("logs.opened", "info", ("path", "logs", "duration_ms"), "What is in the data directory is there again."),
    LogEvent("log.stray", "warning", ("directory", "path"), "A log of no known topic was set aside, to `path`."),
    LogEvent(
        "log.removal.failed", "error", ("directory", "reason"), "A deleted log could not be removed from the disk."
    ),
    LogEvent(
        "index.rebuilt", "warning", ("path",), "The index of a segment was missing or did not fit; it was made anew."
    ),
    LogEvent(
        "metadata.damaged",
        "warning",
        ("path",),
        "A file beside a log makes no sense. What was in it is taken from the log as far as it is there; where a log "
        "began that DeleteRecords had cut is not.",
    ),
    LogEvent(
        "data_dir.close.failed",
        "error",
        ("path", "reason"),
        "The data directory could not be closed in order; the next start will look through the logs.",
    ),
    LogEvent(
        "log.care.failed",
        "error",
        ("topic", "partition", "work", "reason"),
        "What is done to each log from time to time met a bug of ours at this one, with its traceback. It is left out "
        "for longer and longer; said once for a reason.",
    ),
    LogEvent("log.care.recovered", "info", ("topic", "partition", "work"), "It went well again."),
    LogEvent(
        "disk.work.failed",
        "error",
        ("reason",),
        "Flushing or removing files met a bug of ours, with its traceback. A log to be flushed is offline then.",
    ),
    LogEvent("recovery.points.failed", "warning", ("reason",), "It could not be noted how far logs are flushed."),
    LogEvent(
        "virtual.date.failed",
        "warning",
        ("path", "reason"),
        "The date of the virtual clock could not be noted; the next start begins with an older one.",
    ),
    LogEvent(
        "cluster.journal.cut",
        "warning",
        ("bytes_cut",),
        "The last changes in the cluster's journal were not whole: they were cut off.",
    ),
    LogEvent(
        "cluster.journal.failed",
        "error",
        ("reason",),
        "A change of the cluster could not be kept, and was refused; or the "
        "journal could not be flushed, and takes no more changes.",
    ),
)

_IN_GROUP: Final = ("group_id", "generation_id")

_GROUPS: Final = (
    LogEvent(
        "group.rebalance.started",
        "info",
        (*_IN_GROUP, "cause", "member_id", "reason"),
        "Members are called together: why, because of whom, and what that one said.",
    ),
    LogEvent(
        "group.rebalance.joined",
        "info",
        (*_IN_GROUP, "cause", "members", "leader", "protocol_type", "protocol_name", "duration_ms"),
        "Everybody is there, or was waited for long enough: a new generation. `members` is how many.",
    ),
    LogEvent(
        "group.rebalance.completed",
        "info",
        (*_IN_GROUP, "cause", "leader", "protocol_name", "duration_ms"),
        "The leader has brought the assignment. `duration_ms` counts from the start.",
    ),
    LogEvent(
        "group.rebalance.stuck", "warning", (*_IN_GROUP, "members"), "Members have no protocol in common and wait."
    ),
    LogEvent("group.emptied", "info", (*_IN_GROUP, "duration_ms"), "A rebalance ended without members."),
    LogEvent(
        "group.member.id_handed_out",
        "debug",
        (*_IN_GROUP, "member_id", "client_id", "client_host"),
        "Somebody new was told its member id and is to come back with it.",
    ),
    LogEvent(
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
    ),
    LogEvent(
        "group.member.rejoined", "debug", (*_IN_GROUP, "member_id", "is_changed", "reason"), "A member came again."
    ),
    LogEvent(
        "group.member.replaced",
        "info",
        (*_IN_GROUP, "member_id", "replaced_member_id", "group_instance_id", "reason"),
        "A static member came back with a new member id.",
    ),
    LogEvent(
        "group.member.removed",
        "info",
        (*_IN_GROUP, "member_id", "group_instance_id", "cause", "reason"),
        "A member left, or was given up: `cause` says which.",
    ),
    LogEvent(
        "group.join.refused",
        "info",
        (*_IN_GROUP, "member_id", "client_id", "client_host", "error"),
        "A JoinGroup was answered with an error.",
    ),
    LogEvent("group.created", "debug", (*_IN_GROUP, "cause"), "A group came into being."),
    LogEvent(
        "group.loaded",
        "debug",
        (*_IN_GROUP, "members", "leader", "protocol_type", "protocol_name"),
        "A group was read from its log.",
    ),
    LogEvent("group.unloaded", "debug", _IN_GROUP, "Another node coordinates the group now, or none."),
    LogEvent("group.deleted", "info", (*_IN_GROUP, "cause"), "A group is gone."),
    LogEvent(
        "group.offsets.removed", "info", (*_IN_GROUP, "cause", "partitions"), "Committed offsets of so many are gone."
    ),
    LogEvent(
        "group.failed",
        "error",
        ("group_id", "reason"),
        "A group met a bug of ours, with its traceback. It is read anew from its log; other groups go on. Said once "
        "for a reason within an hour.",
    ),
    LogEvent("group.recovered", "info", ("group_id",), "A group that had failed is coordinated again."),
    LogEvent(
        "group_log.loaded",
        "info",
        ("partition", "groups", "duration_ms"),
        "A partition of __consumer_offsets was read, and its groups are coordinated from now on.",
    ),
    LogEvent(
        "group_log.load.failed",
        "error",
        ("partition", "reason"),
        "A partition of __consumer_offsets can't be read. Its groups have no coordinator.",
    ),
    LogEvent(
        "group_log.records.ignored",
        "warning",
        ("partition", "record_type", "records"),
        "A partition of __consumer_offsets has records of a type that isn't known here: groups of other kinds.",
    ),
    LogEvent(
        "group.write.failed",
        "error",
        (*_IN_GROUP, "error", "what"),
        "The group's log took no record. Said once for a reason, until it has not happened for a minute.",
    ),
)

_CLEANING: Final = (
    LogEvent(
        "log.cleaned",
        "info",
        ("topic", "partition", "first_offset", "end_offset", "bytes_before", "bytes_after", "duration_ms"),
        "A compacted log was cleaned: it was dirty from the first of the offsets to the second.",
    ),
    LogEvent(
        "log.cleaning.stopped",
        "warning",
        ("topic", "partition", "reason"),
        "A compacted log could not be cleaned to its end. It is tried again after longer and longer pauses; said once "
        "for a reason.",
    ),
    LogEvent(
        "log.cleaning.failed",
        "error",
        ("topic", "partition", "reason"),
        "A compacted log can't be read, or cleaning it met a bug of ours, with its traceback. It is not cleaned any "
        "more, and only grows.",
    ),
)

#: Every log event by its name.
EVENTS: Final = {
    event.name: event for event in (*_BROKER, *_NODES, *_CONNECTIONS, *_TOPICS, *_STORAGE, *_CLEANING, *_GROUPS)
}
