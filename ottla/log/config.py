"""The settings of a topic: the table of their names, types, defaults and ranges, and the parsed form that logs read.

    parse_log_configs({"retention.ms": "1000"})    {"retention.ms": 1000}, or a `ConfigError`
    LogConfig.of({"retention.ms": 1000})           every other value at its default

A partition reads its `LogConfig` at each append, so a changed topic gets a new one and nothing else has to happen.
Where a topic says nothing, the broker's own setting of a similar name applies: `BROKER_NAMES` says which, the first
that is given winning, with the factor that makes its unit ours.

Kafka: LogConfig, ServerTopicConfigSynonyms. Some settings are only kept and shown, since there is nothing here they
could apply to: no replication, no preallocated files, no second tier of storage, no disks to spare by jitter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from ottla.protocol.compression import CompressionType
from ottla.protocol.record_validation import AppendRules
from ottla.protocol.records import TimestampType
from ottla.settings.setting import Setting
from ottla.settings.table import RECORD_BYTES_MAX
from ottla.settings.values import ConfigError, parse_value

_LONG_MAX: Final = 2**63 - 1
_MS_PER_MINUTE: Final = 60_000
_MS_PER_HOUR: Final = 60 * _MS_PER_MINUTE
_MS_PER_DAY: Final = 24 * _MS_PER_HOUR
_MIB: Final = 1024 * 1024

#: For tests: a segment size below what segment.bytes allows. Not shown to clients. Kafka:
#: INTERNAL_SEGMENT_BYTES_CONFIG.
INTERNAL_SEGMENT_BYTES: Final = "internal.segment.bytes"

LOG_SETTINGS: Final = {
    setting.name: setting
    for setting in (
        Setting("cleanup.policy", "list", ["delete"], choices=("compact", "delete")),
        Setting("compression.gzip.level", "int", -1, -1, 9),
        Setting("compression.lz4.level", "int", 9, 1, 17),
        Setting(
            "compression.type",
            "string",
            "producer",
            choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        ),
        Setting("compression.zstd.level", "int", 3, -131_072, 22),
        Setting("delete.retention.ms", "long", _MS_PER_DAY, 0),
        Setting("errors.deadletterqueue.group.enable", "boolean", False),
        Setting("file.delete.delay.ms", "long", 60_000, 0),
        Setting("flush.messages", "long", _LONG_MAX, 1),
        Setting("flush.ms", "long", _LONG_MAX, 0),
        Setting("follower.replication.throttled.replicas", "list", []),
        Setting("index.interval.bytes", "int", 4096, 0),
        Setting("leader.replication.throttled.replicas", "list", []),
        Setting("local.retention.bytes", "long", -2, -2),
        Setting("local.retention.ms", "long", -2, -2),
        Setting("max.compaction.lag.ms", "long", _LONG_MAX, 1),
        Setting("max.decompressed.message.bytes", "int", RECORD_BYTES_MAX, 1, RECORD_BYTES_MAX),
        Setting("max.message.bytes", "int", _MIB + 12, 0),
        Setting("message.timestamp.after.max.ms", "long", _MS_PER_HOUR, 0),
        Setting("message.timestamp.before.max.ms", "long", _LONG_MAX, 0),
        Setting("message.timestamp.type", "string", "CreateTime", choices=("CreateTime", "LogAppendTime")),
        Setting("min.cleanable.dirty.ratio", "double", 0.5, 0, 1),
        Setting("min.compaction.lag.ms", "long", 0, 0),
        Setting("min.insync.replicas", "int", 1, 1),
        Setting("preallocate", "boolean", False),
        Setting("remote.copy.lag.bytes", "long", -1, -1),
        Setting("remote.copy.lag.ms", "long", 0, -1),
        Setting("remote.log.copy.disable", "boolean", False),
        Setting("remote.log.delete.on.disable", "boolean", False),
        Setting("remote.storage.enable", "boolean", False),
        Setting("retention.bytes", "long", -1),
        Setting("retention.ms", "long", 7 * _MS_PER_DAY, -1),
        Setting("segment.bytes", "int", 1024 * _MIB, _MIB),
        Setting("segment.index.bytes", "int", 10 * _MIB, 4),
        Setting("segment.jitter.ms", "long", 0, 0),
        Setting("segment.ms", "long", 7 * _MS_PER_DAY, 1),
        Setting("unclean.leader.election.enable", "boolean", False),
        Setting(INTERNAL_SEGMENT_BYTES, "int", None, is_internal=True),
    )
}

#: Topic setting → the broker's settings that give its default: (name, factor to the topic's unit), the first given
#: wins.
BROKER_NAMES: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "max.decompressed.message.bytes": (("max.decompressed.message.bytes", 1),),
    "max.message.bytes": (("message.max.bytes", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "preallocate": (("log.preallocate", 1),),
    "remote.copy.lag.bytes": (("log.remote.copy.lag.bytes", 1),),
    "remote.copy.lag.ms": (("log.remote.copy.lag.ms", 1),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", _MS_PER_MINUTE),
        ("log.retention.hours", _MS_PER_HOUR),
    ),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _MS_PER_HOUR)),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _MS_PER_HOUR)),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
}

_THROTTLED_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")


def parse_log_configs(configs: Mapping[str, str]) -> dict[str, Any]:
    """The values of a topic's configs. Raises `ConfigError` for an unknown name, a bad value or values at odds."""
    values = {}
    for name, text in configs.items():
        setting = LOG_SETTINGS.get(name)
        if setting is None:
            raise ConfigError(f"{name} is not a setting of topics")
        values[name] = parse_value(setting, text)
        _check_value(setting, text, values[name])
    least_ms = values.get("min.compaction.lag.ms", LOG_SETTINGS["min.compaction.lag.ms"].default)
    most_ms = values.get("max.compaction.lag.ms", LOG_SETTINGS["max.compaction.lag.ms"].default)
    if least_ms > most_ms:
        raise ConfigError(f"min.compaction.lag.ms={least_ms} is above max.compaction.lag.ms={most_ms}")
    if values.get("remote.storage.enable"):
        raise ConfigError("remote.storage.enable=true needs tiered storage, which this broker does not have")
    return values


def _check_value(setting: Setting, text: str, value: Any) -> None:
    """What type and range don't say."""
    if setting.name == "compression.gzip.level" and value == 0:
        raise ConfigError(f"{setting.name}={text} is not a level; give -1 or 1 to 9")
    is_replicas = setting.name.endswith(".throttled.replicas")
    if is_replicas and value != ["*"] and not all(_THROTTLED_REPLICA.fullmatch(replica) for replica in value):
        raise ConfigError(f"{setting.name}={text} is neither * nor a list of partition:broker")


@dataclass(slots=True)
class LogConfig:
    """What a log does by, parsed. Sizes in bytes, times in ms; see `LOG_SETTINGS` for names and defaults."""

    #: What a produced batch must be like, and in what form it is kept.
    rules: AppendRules
    compact: bool
    delete: bool
    #: How long tombstones stay once they were seen by the log cleaner.
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    #: After so many records, and after how long, a log is flushed.
    flush_messages: int
    flush_ms: int
    min_insync_replicas: int
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    #: After how long a segment is closed; a compacted log may not wait longer than its compaction may.
    roll_ms: int
    #: Whether a leader that may have missed records is better than none.
    unclean_leader_election_enable: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """From parsed values by name. What is missing is at Kafka's default."""

        def value(name: str) -> Any:
            return values[name] if name in values else LOG_SETTINGS[name].default

        compact = "compact" in value("cleanup.policy")
        codec = value("compression.type")
        segment_ms = value("segment.ms")
        return cls(
            rules=AppendRules(
                max_message_bytes=value("max.message.bytes"),
                max_decompressed_message_bytes=value("max.decompressed.message.bytes"),
                message_timestamp_type=_TIMESTAMP_TYPES[value("message.timestamp.type")],
                message_timestamp_before_max_ms=value("message.timestamp.before.max.ms"),
                message_timestamp_after_max_ms=value("message.timestamp.after.max.ms"),
                is_compacted=compact,
                compression=_CODECS[codec],
                compression_level=value(f"compression.{codec}.level") if codec in _CODECS_WITH_LEVELS else None,
            ),
            compact=compact,
            delete="delete" in value("cleanup.policy"),
            delete_retention_ms=value("delete.retention.ms"),
            min_compaction_lag_ms=value("min.compaction.lag.ms"),
            max_compaction_lag_ms=value("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio=value("min.cleanable.dirty.ratio"),
            flush_messages=value("flush.messages"),
            flush_ms=value("flush.ms"),
            min_insync_replicas=value("min.insync.replicas"),
            retention_bytes=value("retention.bytes"),
            retention_ms=value("retention.ms"),
            segment_bytes=value(INTERNAL_SEGMENT_BYTES) or value("segment.bytes"),
            roll_ms=min(value("max.compaction.lag.ms"), segment_ms) if compact else segment_ms,
            unclean_leader_election_enable=value("unclean.leader.election.enable"),
        )


_TIMESTAMP_TYPES: Final = {
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}
_CODECS: Final[Mapping[str, CompressionType | None]] = {
    "producer": None,
    "uncompressed": CompressionType.NONE,
    "gzip": CompressionType.GZIP,
    "snappy": CompressionType.SNAPPY,
    "lz4": CompressionType.LZ4,
    "zstd": CompressionType.ZSTD,
}
_CODECS_WITH_LEVELS: Final = ("gzip", "lz4", "zstd")
