"""The settings of a topic: their names, values and defaults, and what a log makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.log.config import (
    BROKER_NAMES,
    INTERNAL_SEGMENT_BYTES,
    LOG_SETTINGS,
    LogConfig,
    parse_log_configs,
)
from ottla.protocol.compression import CompressionType
from ottla.protocol.records import TimestampType
from ottla.settings.table import find_setting
from ottla.settings.values import ConfigError


def test_the_names_are_kafkas() -> None:
    """Kafka's 37 topic settings and the one for its own tests."""
    assert len(LOG_SETTINGS) == 38
    assert [name for name, setting in LOG_SETTINGS.items() if setting.is_internal] == [INTERNAL_SEGMENT_BYTES]
    assert not {"message.format.version", "message.downconversion.enable"} & set(LOG_SETTINGS)


@pytest.mark.parametrize("name", sorted(BROKER_NAMES))
def test_the_broker_has_a_setting_for_each_default(name: str) -> None:
    """Every broker setting named is one, and the last of them has the topic setting's own default."""
    settings = [(find_setting(broker_name), factor) for broker_name, factor in BROKER_NAMES[name]]
    assert all(setting is not None for setting, _ in settings)
    defaults = [setting.default * factor for setting, factor in settings if setting and setting.default is not None]
    assert defaults[-1] == LOG_SETTINGS[name].default


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("cleanup.policy", "compact, delete", ["compact", "delete"]),
        ("cleanup.policy", "", []),
        ("retention.ms", "-1", -1),
        ("retention.bytes", " 100 ", 100),
        ("segment.bytes", "1048576", 1_048_576),
        ("compression.gzip.level", "-1", -1),
        ("compression.zstd.level", "-131072", -131_072),
        ("min.cleanable.dirty.ratio", "0.25", 0.25),
        ("preallocate", "TRUE", True),
        ("leader.replication.throttled.replicas", "*", ["*"]),
        ("leader.replication.throttled.replicas", "0:1,1:2", ["0:1", "1:2"]),
        ("remote.storage.enable", "false", False),
        (INTERNAL_SEGMENT_BYTES, "100", 100),
    ],
)
def test_values_that_fit(name: str, text: str, value: Any) -> None:
    """Parsed to their type."""
    assert parse_log_configs({name: text}) == {name: value}


@pytest.mark.parametrize(
    "configs",
    [
        {"retention.msec": "1"},
        {"retention.ms": "abc"},
        {"retention.ms": "-2"},
        {"retention.ms": "9223372036854775808"},
        {"segment.bytes": "1000"},
        {"segment.bytes": "2147483648"},
        {"cleanup.policy": "shred"},
        {"compression.type": "GZIP"},
        {"compression.gzip.level": "0"},
        {"compression.gzip.level": "10"},
        {"message.timestamp.type": "logappendtime"},
        {"min.cleanable.dirty.ratio": "1.5"},
        {"follower.replication.throttled.replicas": "0"},
        {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"},
        {"remote.storage.enable": "true"},
    ],
    ids=str,
)
def test_values_that_do_not(configs: dict[str, str]) -> None:
    """Refused, with the setting named."""
    with pytest.raises(ConfigError, match=next(iter(configs)).replace(".", r"\.")):
        parse_log_configs(configs)


def test_what_a_log_does_by_default() -> None:
    """Kafka's defaults."""
    config = LogConfig.of({})
    assert (config.compact, config.delete, config.min_insync_replicas) == (False, True, 1)
    assert (config.retention_ms, config.retention_bytes) == (604_800_000, -1)
    assert (config.segment_bytes, config.roll_ms) == (1 << 30, 604_800_000)
    rules = config.rules
    assert (rules.max_message_bytes, rules.compression, rules.compression_level) == (1_048_588, None, None)
    assert rules.message_timestamp_type is TimestampType.CREATE_TIME
    assert (rules.message_timestamp_before_max_ms, rules.message_timestamp_after_max_ms) == (2**63 - 1, 3_600_000)
    assert not rules.is_compacted


@pytest.mark.parametrize(
    ("codec", "compression", "level"),
    [
        ("producer", None, None),
        ("uncompressed", CompressionType.NONE, None),
        ("snappy", CompressionType.SNAPPY, None),
        ("gzip", CompressionType.GZIP, 3),
        ("lz4", CompressionType.LZ4, 4),
        ("zstd", CompressionType.ZSTD, 5),
    ],
)
def test_each_codec_has_its_own_level(codec: str, compression: CompressionType | None, level: int | None) -> None:
    """Those of the other codecs don't matter."""
    levels = {"compression.gzip.level": "3", "compression.lz4.level": "4", "compression.zstd.level": "5"}
    rules = LogConfig.of(parse_log_configs({"compression.type": codec} | levels)).rules
    assert (rules.compression, rules.compression_level) == (compression, level)


def test_compaction_shortens_segments() -> None:
    """A compacted topic closes its segments soon enough to compact them in time."""
    configs = {"cleanup.policy": "compact", "max.compaction.lag.ms": "10", "message.timestamp.type": "LogAppendTime"}
    config = LogConfig.of(parse_log_configs(configs))
    assert (config.roll_ms, config.compact, config.delete) == (10, True, False)
    assert config.rules.is_compacted
    assert config.rules.message_timestamp_type is TimestampType.LOG_APPEND_TIME
