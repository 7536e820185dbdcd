"""The table of settings that have an effect here: name, type, default, range, meaning.

Names, types, defaults and ranges are Kafka's; Ottla's own settings are called `ottla.…`. Kafka's other settings are in
`stored`: they are accepted, checked and shown, so that a server.properties and admin tools work, but they have no
effect. `find_setting` looks in both tables; the second is loaded when it is first needed.

Kafka: the ConfigDefs behind KafkaConfig, and DynamicBrokerConfig for what can be changed while the broker runs.
"""

from __future__ import annotations

from typing import Any, Final

from ottla.settings.setting import CLUSTER_WIDE, PER_BROKER, Setting


def _read_only(name: str, kind: str, default: Any, meaning: str, **limits: Any) -> Setting:
    return Setting(name, kind, default, meaning=meaning, **limits)


def _cluster_wide(name: str, kind: str, default: Any, meaning: str, **limits: Any) -> Setting:
    return Setting(name, kind, default, meaning=meaning, update=CLUSTER_WIDE, **limits)


_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_MIB: Final = 1024 * 1024
#: What Java can allocate for one record, which is no limit.
RECORD_BYTES_MAX: Final = _INT_MAX - 8
_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

_IDENTITY: Final = (
    _read_only(
        "node.id",
        "int",
        None,
        "Id of the first node; the other nodes have the next ids. Default: broker.id, or 1.",
        at_least=0,
    ),
    _read_only("broker.id", "int", -1, "The older name of node.id."),
    _read_only("broker.rack", "string", None, "The rack of the nodes, as clients see it."),
)

_LISTENERS: Final = (
    Setting(
        "listeners",
        "list",
        ["PLAINTEXT://:9092"],
        update=PER_BROKER,
        meaning="Where the first node listens: NAME://HOST:PORT. --listen overrides it. Without both: 127.0.0.1:9092.",
    ),
    _read_only(
        "advertised.listeners", "list", None, "The address that clients of a listener get; --advertise overrides it."
    ),
    Setting(
        "listener.security.protocol.map",
        "string",
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        update=PER_BROKER,
        meaning="NAME:PROTOCOL for each name in listeners; PLAINTEXT is served.",
    ),
    _read_only(
        "inter.broker.listener.name",
        "string",
        None,
        "The name of an advertised listener. Nodes here need no connection to each other.",
    ),
    _read_only("controller.listener.names", "list", None, "Listeners of controllers; ignored here."),
)

_NODES: Final = (
    _read_only("ottla.failover.ms", "long", 100, "How soon after a node's death other nodes lead.", at_least=0),
    _read_only("auto.leader.rebalance.enable", "boolean", True, "Move leaders back to the preferred replica."),
    _read_only(
        "leader.imbalance.check.interval.seconds",
        "long",
        300,
        "Time between two checks for leaders to move back.",
        at_least=1,
    ),
    _cluster_wide(
        "unclean.leader.election.enable",
        "boolean",
        False,
        "Let a replica that is not in sync lead, if no other replica can.",
    ),
)

_CONNECTIONS: Final = (
    _read_only("connections.max.idle.ms", "long", 600_000, "Close a connection after this time without a request."),
    _read_only(
        "socket.request.max.bytes",
        "int",
        100 * _MIB,
        "Largest request; a larger one closes the connection.",
        at_least=1,
    ),
    _read_only("fetch.max.bytes", "int", 55 * _MIB, "Most bytes in one fetch answer.", at_least=1024),
    _read_only(
        "max.incremental.fetch.session.cache.slots", "int", 1000, "Largest number of fetch sessions.", at_least=0
    ),
    _read_only(
        "max.request.partition.size.limit",
        "int",
        2000,
        "Most partitions in one answer of DescribeTopicPartitions.",
        at_least=1,
    ),
)

_TOPICS: Final = (
    _read_only("auto.create.topics.enable", "boolean", True, "Create a missing topic when a client asks for it."),
    _read_only("delete.topic.enable", "boolean", True, "Allow clients to delete topics."),
    _read_only("num.partitions", "int", 1, "Partitions of a new topic, if the client gives no number.", at_least=1),
    _read_only("default.replication.factor", "int", 1, "Replicas of a new topic, if the client gives no number."),
)

_LOGS: Final = (
    _read_only(
        "ottla.log.bytes.max",
        "long",
        1024 * _MIB,
        "Largest size of all logs in memory together; more records are refused.",
        at_least=0,
    ),
    _cluster_wide("message.max.bytes", "int", _MIB + 12, "Largest batch of records.", at_least=0),
    _cluster_wide(
        "max.decompressed.message.bytes",
        "int",
        RECORD_BYTES_MAX,
        "Largest record of a compressed batch, unpacked.",
        at_least=1,
        at_most=RECORD_BYTES_MAX,
    ),
    _cluster_wide(
        "log.cleanup.policy", "list", ["delete"], "What happens to old records.", choices=("compact", "delete")
    ),
    _cluster_wide("log.retention.ms", "long", None, "How long records are kept; -1: forever."),
    _read_only("log.retention.minutes", "int", None, "Used if log.retention.ms is not given."),
    _read_only("log.retention.hours", "int", 168, "Used if log.retention.ms and log.retention.minutes are not given."),
    _cluster_wide("log.retention.bytes", "long", -1, "How many bytes of a partition are kept; -1: all."),
    _read_only(
        "log.initial.task.delay.ms",
        "long",
        30_000,
        "Time before the first search for old records.",
        at_least=0,
        is_internal=True,
    ),
    _read_only(
        "producer.id.expiration.check.interval.ms",
        "int",
        600_000,
        "Time between two searches for idle producers.",
        at_least=1,
        is_internal=True,
    ),
    _read_only(
        "log.retention.check.interval.ms", "long", 300_000, "Time between two searches for old records.", at_least=1
    ),
    _cluster_wide("log.segment.bytes", "int", 1024 * _MIB, "Size at which a segment is closed.", at_least=_MIB),
    _cluster_wide("log.roll.ms", "long", None, "Age at which a segment is closed."),
    _read_only("log.roll.hours", "int", 168, "Used if log.roll.ms is not given.", at_least=1),
    _cluster_wide(
        "log.cleaner.max.compaction.lag.ms",
        "long",
        _LONG_MAX,
        "How long a record waits for compaction at most.",
        at_least=1,
    ),
    _read_only("log.cleaner.enable", "boolean", True, "Compact logs whose cleanup.policy says so."),
    _cluster_wide(
        "log.cleaner.backoff.ms", "long", 15_000, "Time between two searches for logs to compact.", at_least=0
    ),
    _cluster_wide(
        "log.cleaner.min.cleanable.ratio",
        "double",
        0.5,
        "Share of a log that must be dirty before it is compacted.",
        at_least=0,
        at_most=1,
    ),
    _cluster_wide("log.cleaner.min.compaction.lag.ms", "long", 0, "How long a record is not compacted.", at_least=0),
    _cluster_wide(
        "log.cleaner.delete.retention.ms", "long", 86_400_000, "How long compaction keeps a tombstone.", at_least=0
    ),
    _cluster_wide(
        "log.cleaner.dedupe.buffer.size", "long", 128 * _MIB, "Bytes for the keys of one log; up to 64 MiB are used."
    ),
    _cluster_wide(
        "log.message.timestamp.type",
        "string",
        "CreateTime",
        "Whose clock gives a record its timestamp: the producer's or the broker's.",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _cluster_wide(
        "log.message.timestamp.before.max.ms",
        "long",
        _LONG_MAX,
        "How far in the past a record's timestamp may be.",
        at_least=0,
    ),
    _cluster_wide(
        "log.message.timestamp.after.max.ms",
        "long",
        3_600_000,
        "How far in the future a record's timestamp may be.",
        at_least=0,
    ),
    _cluster_wide("compression.type", "string", "producer", "The codec in which batches are stored.", choices=_CODECS),
    _cluster_wide("compression.gzip.level", "int", -1, "1 to 9, or -1 for gzip's own default.", at_least=-1, at_most=9),
    _cluster_wide("compression.lz4.level", "int", 9, "lz4's compression level.", at_least=1, at_most=17),
    _cluster_wide("compression.zstd.level", "int", 3, "zstd's compression level.", at_least=-131_072, at_most=22),
    _cluster_wide(
        "log.flush.interval.messages",
        "long",
        _LONG_MAX,
        "Flush a log on disk after this many records, before they are acknowledged.",
        at_least=1,
    ),
    _cluster_wide(
        "log.flush.interval.ms", "long", None, "Flush a log on disk after this time; see the scheduler's interval."
    ),
    _read_only(
        "log.flush.scheduler.interval.ms",
        "long",
        _LONG_MAX,
        "Time between two searches for logs to flush.",
    ),
    _read_only(
        "log.flush.offset.checkpoint.interval.ms",
        "int",
        60_000,
        "How often flushed offsets are stored, so that a restart after a crash reads less.",
        at_least=0,
    ),
    _cluster_wide("min.insync.replicas", "int", 1, "Replicas that acks=all waits for.", at_least=1),
    _cluster_wide(
        "producer.id.expiration.ms", "int", 86_400_000, "How long an idle producer is remembered.", at_least=1
    ),
)

_GROUPS: Final = (
    _read_only("group.initial.rebalance.delay.ms", "int", 3000, "How long a new group waits for more members."),
    _read_only("group.min.session.timeout.ms", "int", 6000, "Shortest session timeout a member may ask for."),
    _read_only("group.max.session.timeout.ms", "int", 1_800_000, "Longest session timeout a member may ask for."),
    _read_only("group.max.size", "int", _INT_MAX, "Most members of a group.", at_least=1),
    _read_only("offset.metadata.max.bytes", "int", 4096, "Longest metadata of a committed offset."),
    _read_only("offsets.retention.minutes", "int", 10_080, "How long an empty group keeps its offsets.", at_least=1),
    _read_only(
        "offsets.retention.check.interval.ms",
        "long",
        600_000,
        "Time between two searches for expired offsets.",
        at_least=1,
    ),
    _read_only("offsets.topic.num.partitions", "int", 50, "Partitions of __consumer_offsets.", at_least=1),
    _read_only(
        "offsets.topic.replication.factor",
        "short",
        3,
        "Replicas of __consumer_offsets, at most one on each node.",
        at_least=1,
    ),
    _read_only(
        "offsets.topic.segment.bytes",
        "int",
        100 * _MIB,
        "Size at which segments of __consumer_offsets are closed.",
        at_least=1,
    ),
)

_TRANSACTIONS: Final = (
    _read_only(
        "transaction.max.timeout.ms", "int", 900_000, "Longest transaction timeout a producer may ask for.", at_least=1
    ),
    _read_only(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "int",
        10_000,
        "Time between two searches for transactions that are open too long.",
        at_least=1,
    ),
    _read_only(
        "transactional.id.expiration.ms",
        "int",
        604_800_000,
        "How long an unused transactional id is kept.",
        at_least=1,
    ),
    _read_only(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "int",
        3_600_000,
        "Time between two searches for unused ids.",
        at_least=1,
    ),
    _read_only("transaction.state.log.num.partitions", "int", 50, "Partitions of __transaction_state.", at_least=1),
    _read_only(
        "transaction.state.log.replication.factor",
        "short",
        3,
        "Replicas of __transaction_state, at most one on each node.",
        at_least=1,
    ),
    _read_only("transaction.state.log.min.isr", "int", 2, "min.insync.replicas of __transaction_state.", at_least=1),
    _read_only(
        "transaction.state.log.segment.bytes",
        "int",
        100 * _MIB,
        "Size at which segments of __transaction_state are closed.",
        at_least=1,
    ),
    _read_only(
        "add.partitions.to.txn.retry.backoff.ms",
        "int",
        20,
        "Pause before a partition is added again, while the previous transaction is being completed.",
        at_least=1,
    ),
    _read_only(
        "add.partitions.to.txn.retry.backoff.max.ms",
        "int",
        100,
        "How long the broker retries this before it answers the producer.",
        at_least=0,
    ),
    _read_only(
        "ottla.transaction.version",
        "int",
        2,
        "The feature transaction.version: 2 lets clients raise their epoch with each transaction, 1 and 0 do not.",
        at_least=0,
        at_most=2,
    ),
    _cluster_wide(
        "transaction.partition.verification.enable",
        "boolean",
        True,
        "Refuse transactional batches outside a transaction.",
    ),
)

#: The settings with an effect, in the order of docs/config.md.
SETTINGS: Final = {
    setting.name: setting
    for setting in (*_IDENTITY, *_LISTENERS, *_NODES, *_CONNECTIONS, *_TOPICS, *_LOGS, *_GROUPS, *_TRANSACTIONS)
}


def find_setting(name: str) -> Setting | None:
    """The setting of this name, with or without an effect; None if neither Ottla nor Kafka has it."""
    return SETTINGS.get(name) or _stored().get(name)


def all_settings() -> dict[str, Setting]:
    """Every setting by name, Kafka's internal ones included."""
    return {**SETTINGS, **_stored()}


def _stored() -> dict[str, Setting]:
    from ottla.settings.stored import STORED_SETTINGS

    return STORED_SETTINGS
