"""The kinds of events: every name, the level it is logged at, its keys, and when it is told.

Nothing is told that is not in here; docs/logs.md is printed from it, and tests hold both. A kind without a level is not
logged: it is for readers in the broker, the control API and tests. The kinds of groups are those of the coordinator's
notes, which also make the journal.

A key is left out when it has no value. Every event has its sequence and its two times, and `node_id` where it concerns
one node.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, Self, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_IN_GROUP = ("group_id", "generation_id")
_OF_PRODUCER = ("transactional_id", "producer_id", "producer_epoch")


class Kind(Enum):
    """What can happen. Its value is its name, in the past tense, with dots."""

    level: Level | None
    """At which it is logged; None: it is not."""
    keys: tuple[str, ...]
    """The details it can have."""
    when: str
    """What it means, for people."""

    def __new__(cls, name: str, level: Level | None, keys: tuple[str, ...], when: str) -> Self:
        kind = object.__new__(cls)
        kind._value_ = name
        kind.level, kind.keys, kind.when = level, keys, when
        return kind

    # The broker

    BROKER_STOP_REQUESTED = "broker.stop.requested", "info", ("signal",), "A signal came; the orderly end begins."
    BROKER_STOPPED = "broker.stopped", "info", (), "Everything is answered, written and closed."
    CLOCK_STOPPED = "clock.stopped", "warning", ("reason",), "The clock is virtual and nothing can move it."
    SETTING_IGNORED = "setting.ignored", "warning", ("setting", "reason"), "A setting was given that nobody knows."
    SETTING_STORED = (
        "setting.stored",
        "info",
        ("setting", "reason"),
        "A setting of Kafka's was given that has no effect.",
    )
    JOURNAL_ABANDONED = "journal.abandoned", "error", ("path", "reason"), "The journal can't be written; it ends here."
    TASK_FAILED = (
        "task.failed",
        "error",
        ("task", "reason"),
        "A task met a bug of ours, with its traceback; others go on.",
    )
    JOB_FAILED = "job.failed", "error", ("job", "reason"), "The same of a job in the background."
    TIMER_FAILED = (
        "timer.failed",
        "error",
        ("timer", "reason"),
        "The same of what a timer called, or of who waited for something. Said once for a reason.",
    )
    CHANGE_FAILED = (
        "change.failed",
        "error",
        ("listener", "reason"),
        "The same of who was told what happens in groups, or that the broker stops.",
    )
    ROUND_FAILED = (
        "round.failed",
        "error",
        ("work", "reason"),
        "The same of a round of what is done again and again; the pauses become longer. Said once for a reason.",
    )
    ROUND_RECOVERED = "round.recovered", "info", ("work",), "A round that had failed went well."
    CONTROL_FAILED = (
        "control.failed",
        "error",
        ("method", "path"),
        "The control API failed at a request; a bug of ours.",
    )
    LOOP_FAILED = "loop.failed", "error", ("reason",), "Something failed that is no request's; a bug of ours."
    TIME_ADVANCED = "time.advanced", None, ("ms",), "The virtual clock was moved, and all that was due has happened."
    SETTINGS_CHANGED = (
        "settings.changed",
        None,
        ("layer",),
        "A setting was changed while the broker runs: the node's or, with an empty `layer`, the cluster's.",
    )
    READER_FAILED = (
        "reader.failed",
        "error",
        ("kind", "reader", "reason"),
        "The same of who read an event of this kind; other readers got it.",
    )

    # Nodes

    NODE_STOPPED = "node.stopped", "info", ("is_hard",), "A node was stopped, gently or as if it had died."
    NODE_MISSED = "node.missed", "warning", (), "A node that died is missed now, ottla.failover.ms later."
    NODE_STARTED = "node.started", "info", (), "A node that was stopped is up again."
    LEADERS_MOVED = (
        "leaders.moved",
        "info",
        ("partitions",),
        "So many partitions have another leader, or none any more.",
    )
    NODE_DIED = "node.died", None, (), "A node went without a word; clients are told of it until it is missed."
    PARTITION_LEADER_CHANGED = (
        "partition.leader.changed",
        None,
        ("topic", "partition", "leader_id", "former_leader_id", "leader_epoch"),
        "A partition has another leader; -1: none.",
    )

    # Connections and requests

    CONNECTION_REFUSED = (
        "connection.refused",
        "warning",
        ("client_host", "reason", "frame"),
        "What came could not be understood or is not served; `frame` is how it began. The connection is closed.",
    )
    CONNECTION_IDLE_CLOSED = "connection.idle.closed", "info", ("client_host",), "Silent for connections.max.idle.ms."
    CONNECTION_FAILED = (
        "connection.failed",
        "error",
        ("client_host", "frame"),
        "What came did not get as far as a handler; a bug of ours, with its traceback. The connection is closed.",
    )
    REQUEST_REFUSED = (
        "request.refused",
        "warning",
        ("api", "api_version", "reason"),
        "Answered UNKNOWN_SERVER_ERROR because the right answer can't be written.",
    )
    REQUEST_FAILED = (
        "request.failed",
        "error",
        ("api", "api_version"),
        "A handler raised; a bug of ours, with its traceback.",
    )
    REQUEST_HANDLED = (
        "request.handled",
        "debug",
        ("api", "api_version", "correlation_id", "client_id", "client_host", "duration_ms"),
        "A request is answered.",
    )

    # Topics

    TOPIC_CREATED = (
        "topic.created",
        "info",
        ("topic", "topic_id", "partitions", "client_id"),
        "A topic was created; without `client_id` on demand.",
    )
    TOPIC_GROWN = (
        "topic.grown",
        "info",
        ("topic", "first_partition", "partitions", "client_id"),
        "Partitions were added: the first of them, and how many there are now.",
    )
    TOPIC_DELETED = "topic.deleted", "info", ("topic", "topic_id", "partitions", "client_id"), "A topic was deleted."
    TOPIC_AUTOCREATION_REFUSED = (
        "topic.autocreation.refused",
        "warning",
        ("topic", "error", "reason"),
        "A topic asked for could not be made.",
    )
    # Storage

    LOG_OFFLINE = (
        "log.offline",
        "error",
        ("directory", "reason"),
        "A log on disk could not be written or read, or is not what it was. Answered KAFKA_STORAGE_ERROR "
        "until the next start.",
    )
    LOG_CUT = (
        "log.cut",
        "warning",
        ("directory", "end_offset", "bytes_cut", "reason"),
        "The broker had not been stopped in order, and the end of a log was not whole: it was cut off.",
    )
    LOGS_RECOVERING = (
        "logs.recovering",
        "info",
        ("logs", "logs_done"),
        "The broker had not been stopped in order, and looks through its logs; said again every few seconds.",
    )
    LOGS_OPENED = (
        "logs.opened",
        "info",
        ("path", "logs", "duration_ms"),
        "What is in the data directory is there again.",
    )
    LOG_STRAY = "log.stray", "warning", ("directory", "path"), "A log of no known topic was set aside, to `path`."
    LOG_REMOVAL_FAILED = (
        "log.removal.failed",
        "error",
        ("directory", "reason"),
        "A deleted log could not be removed from the disk.",
    )
    INDEX_REBUILT = (
        "index.rebuilt",
        "warning",
        ("path",),
        "The index of a segment was missing or did not fit; it was made anew.",
    )
    METADATA_DAMAGED = (
        "metadata.damaged",
        "warning",
        ("path",),
        "A file beside a log makes no sense. What was in it is taken from the log as far as it is there; "
        "where a log began that DeleteRecords had cut is not.",
    )
    DATA_DIR_CLOSE_FAILED = (
        "data_dir.close.failed",
        "error",
        ("path", "reason"),
        "The data directory could not be closed in order; the next start will look through the logs.",
    )
    LOG_CARE_FAILED = (
        "log.care.failed",
        "error",
        ("topic", "partition", "work", "reason"),
        "What is done to each log from time to time met a bug of ours at this one, with its traceback. It is "
        "left out for longer and longer; said once for a reason.",
    )
    LOG_CARE_RECOVERED = "log.care.recovered", "info", ("topic", "partition", "work"), "It went well again."
    DISK_WORK_FAILED = (
        "disk.work.failed",
        "error",
        ("reason",),
        "Flushing or removing files met a bug of ours, with its traceback. A log to be flushed is offline then.",
    )
    RECOVERY_POINTS_FAILED = (
        "recovery.points.failed",
        "warning",
        ("reason",),
        "It could not be noted how far logs are flushed.",
    )
    VIRTUAL_DATE_FAILED = (
        "virtual.date.failed",
        "warning",
        ("path", "reason"),
        "The date of the virtual clock could not be noted; the next start begins with an older one.",
    )
    CLUSTER_JOURNAL_CUT = (
        "cluster.journal.cut",
        "warning",
        ("bytes_cut",),
        "The last changes in the cluster's journal were not whole: they were cut off.",
    )
    CLUSTER_JOURNAL_FAILED = (
        "cluster.journal.failed",
        "error",
        ("reason",),
        "A change of the cluster could not be kept, and was refused; or the journal could not be flushed, and "
        "takes no more changes.",
    )

    # Compaction

    LOG_CLEANED = (
        "log.cleaned",
        "info",
        ("topic", "partition", "first_offset", "end_offset", "bytes_before", "bytes_after", "duration_ms"),
        "A compacted log was cleaned: it was dirty from the first of the offsets to the second.",
    )
    LOG_CLEANING_STOPPED = (
        "log.cleaning.stopped",
        "warning",
        ("topic", "partition", "reason"),
        "A compacted log could not be cleaned to its end. It is tried again after longer and longer pauses; "
        "said once for a reason.",
    )
    LOG_CLEANING_FAILED = (
        "log.cleaning.failed",
        "error",
        ("topic", "partition", "reason"),
        "A compacted log can't be read, or cleaning it met a bug of ours, with its traceback. It is not "
        "cleaned any more, and only grows.",
    )

    # Groups

    GROUP_REBALANCE_STARTED = (
        "group.rebalance.started",
        "info",
        (*_IN_GROUP, "cause", "member_id", "reason"),
        "Members are called together: why, because of whom, and what that one said.",
    )
    GROUP_REBALANCE_JOINED = (
        "group.rebalance.joined",
        "info",
        (*_IN_GROUP, "cause", "members", "leader", "protocol_type", "protocol_name", "duration_ms"),
        "Everybody is there, or was waited for long enough: a new generation. `members` is how many.",
    )
    GROUP_REBALANCE_COMPLETED = (
        "group.rebalance.completed",
        "info",
        (*_IN_GROUP, "cause", "leader", "protocol_name", "duration_ms"),
        "The leader has brought the assignment. `duration_ms` counts from the start.",
    )
    GROUP_REBALANCE_STUCK = (
        "group.rebalance.stuck",
        "warning",
        (*_IN_GROUP, "members"),
        "Members have no protocol in common and wait.",
    )
    GROUP_EMPTIED = "group.emptied", "info", (*_IN_GROUP, "duration_ms"), "A rebalance ended without members."
    GROUP_MEMBER_ID_HANDED_OUT = (
        "group.member.id_handed_out",
        "debug",
        (*_IN_GROUP, "member_id", "client_id", "client_host"),
        "Somebody new was told its member id and is to come back with it.",
    )
    GROUP_MEMBER_JOINED = (
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
    )
    GROUP_MEMBER_REJOINED = (
        "group.member.rejoined",
        "debug",
        (*_IN_GROUP, "member_id", "is_changed", "reason"),
        "A member came again.",
    )
    GROUP_MEMBER_REPLACED = (
        "group.member.replaced",
        "info",
        (*_IN_GROUP, "member_id", "replaced_member_id", "group_instance_id", "reason"),
        "A static member came back with a new member id.",
    )
    GROUP_MEMBER_REMOVED = (
        "group.member.removed",
        "info",
        (*_IN_GROUP, "member_id", "group_instance_id", "cause", "reason"),
        "A member left, or was given up: `cause` says which.",
    )
    GROUP_JOIN_REFUSED = (
        "group.join.refused",
        "info",
        (*_IN_GROUP, "member_id", "client_id", "client_host", "error"),
        "A JoinGroup was answered with an error.",
    )
    GROUP_CREATED = "group.created", "debug", (*_IN_GROUP, "cause"), "A group came into being."
    GROUP_LOADED = (
        "group.loaded",
        "debug",
        (*_IN_GROUP, "members", "leader", "protocol_type", "protocol_name"),
        "A group was read from its log.",
    )
    GROUP_UNLOADED = "group.unloaded", "debug", _IN_GROUP, "Another node coordinates the group now, or none."
    GROUP_DELETED = "group.deleted", "info", (*_IN_GROUP, "cause"), "A group is gone."
    GROUP_OFFSETS_REMOVED = (
        "group.offsets.removed",
        "info",
        (*_IN_GROUP, "cause", "partitions"),
        "Committed offsets of so many are gone.",
    )
    GROUP_FAILED = (
        "group.failed",
        "error",
        ("group_id", "reason"),
        "A group met a bug of ours, with its traceback. It is read anew from its log; other groups go on. "
        "Said once for a reason within an hour.",
    )
    GROUP_RECOVERED = "group.recovered", "info", ("group_id",), "A group that had failed is coordinated again."
    GROUP_LOG_LOADED = (
        "group_log.loaded",
        "info",
        ("partition", "groups", "duration_ms"),
        "A partition of __consumer_offsets was read, and its groups are coordinated from now on.",
    )
    GROUP_LOG_LOAD_FAILED = (
        "group_log.load.failed",
        "error",
        ("partition", "reason"),
        "A partition of __consumer_offsets can't be read. Its groups have no coordinator.",
    )
    GROUP_LOG_RECORDS_IGNORED = (
        "group_log.records.ignored",
        "warning",
        ("partition", "record_type", "records"),
        "A partition of __consumer_offsets has records of a type that isn't known here: groups of other kinds.",
    )
    GROUP_WRITE_FAILED = (
        "group.write.failed",
        "error",
        (*_IN_GROUP, "error", "what"),
        "The group's log took no record. Said once for a reason, until it has not happened for a minute.",
    )

    # Transactions

    TRANSACTION_PRODUCER_INITIALIZED = (
        "transaction.producer.initialized",
        "debug",
        (*_OF_PRODUCER, "client_id"),
        "A producer has its id and epoch under a transactional id.",
    )
    TRANSACTION_PRODUCER_FENCED = (
        "transaction.producer.fenced",
        "info",
        (*_OF_PRODUCER, "cause", "client_id"),
        "A producer with an open transaction may not go on: its time is up, or somebody else has begun under its "
        "transactional id, whose `client_id` that is.",
    )
    TRANSACTION_BEGAN = (
        "transaction.began",
        "debug",
        (*_OF_PRODUCER, "partitions"),
        "A transaction has its first partitions.",
    )
    TRANSACTION_PARTITIONS_ADDED = (
        "transaction.partitions.added",
        "debug",
        (*_OF_PRODUCER, "partitions"),
        "It has so many more.",
    )
    TRANSACTION_PREPARED = (
        "transaction.prepared",
        "debug",
        (*_OF_PRODUCER, "result", "cause", "partitions"),
        "It is decided: `commit` or `abort`. So many partitions get a marker.",
    )
    TRANSACTION_COMMITTED = (
        "transaction.committed",
        "debug",
        (*_OF_PRODUCER, "duration_ms"),
        "All markers are written.",
    )
    TRANSACTION_ABORTED = "transaction.aborted", "debug", (*_OF_PRODUCER, "duration_ms"), "All markers are written."
    TRANSACTION_ID_EXPIRED = (
        "transaction.id.expired",
        "debug",
        _OF_PRODUCER,
        "A transactional id was not used for too long and is forgotten.",
    )
    TRANSACTION_WRITE_FAILED = (
        "transaction.write.failed",
        "error",
        (*_OF_PRODUCER, "error"),
        "__transaction_state took no record. Said once for a reason, until it has not happened for a minute.",
    )
    TRANSACTIONS_FAILED = (
        "transactions.failed",
        "error",
        ("partition", "reason"),
        "The transactional ids of a partition of __transaction_state met a bug of ours, with its traceback. They are "
        "read anew from their log. Said once for a reason within an hour.",
    )
    TRANSACTIONS_RECOVERED = "transactions.recovered", "info", ("partition",), "They are coordinated again."
    TRANSACTION_LOG_LOADED = (
        "transaction_log.loaded",
        "info",
        ("partition", "duration_ms"),
        "A partition of __transaction_state was read, and its transactional ids are coordinated from now on.",
    )
    TRANSACTION_LOG_LOAD_FAILED = (
        "transaction_log.load.failed",
        "error",
        ("partition", "reason"),
        "A partition of __transaction_state can't be read. Its transactional ids have no coordinator.",
    )
    TRANSACTION_LOG_RECORDS_IGNORED = (
        "transaction_log.records.ignored",
        "warning",
        ("partition", "record_type", "records"),
        "A partition of __transaction_state has records of a type that isn't known here.",
    )


#: Every kind by its name.
KINDS: Final = {kind.value: kind for kind in Kind}
