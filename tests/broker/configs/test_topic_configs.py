"""A topic's configs: what it says, what the broker's settings say for it, and how both are shown."""

from __future__ import annotations

import pytest

from ottla.broker.configs.entries import ConfigEntry, Synonym
from ottla.broker.configs.topic_configs import configs_at_creation, describe_topic
from ottla.cluster.refused import Refused
from ottla.cluster.topic_configs import check_topic_configs
from ottla.log.topic_configs import effective_values, log_config
from ottla.protocol.errors import ErrorCode
from ottla.settings.settings import CLUSTER, ConfigSource, Settings

DYNAMIC, CLUSTERS, GIVEN, DEFAULT, TOPIC = (
    ConfigSource.DYNAMIC_BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER,
    ConfigSource.STATIC_BROKER,
    ConfigSource.DEFAULT,
    ConfigSource.TOPIC,
)


def described(name: str, texts: dict[str, str], settings: Settings) -> ConfigEntry:
    entries = describe_topic(texts, settings.of_node(1), settings.layers(1, {}))
    return next(entry for entry in entries if entry.name == name)


def at_creation(name: str, texts: dict[str, str], settings: Settings) -> ConfigEntry:
    return next(entry for entry in configs_at_creation(texts, settings.layers(1, {})) if entry.name == name)


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_finest_unit_given_for_the_broker_is_the_topics_default(given: dict[str, str], retention_ms: int) -> None:
    """-1 is for ever in every unit."""
    assert effective_values({}, Settings(given))["retention.ms"] == retention_ms


def test_what_the_topic_says_wins() -> None:
    settings = Settings({"log.retention.ms": "4", "message.max.bytes": "1000"})
    config = log_config({"retention.ms": " 5 "}, settings)
    assert (config.retention_ms, config.rules.max_message_bytes) == (5, 1000)


def test_internal_segment_size_is_for_tests_of_segments() -> None:
    """Kafka 4 allows no segment.bytes below 1 MiB; this name does, and shows only where it was set."""
    settings = Settings()
    assert log_config({"internal.segment.bytes": "100"}, settings).segment_bytes == 100
    names = [entry.name for entry in describe_topic({}, settings.of_node(1), settings.layers(1, {}))]
    assert len(names) == 37
    assert names == sorted(names)
    assert described("internal.segment.bytes", {"internal.segment.bytes": "100"}, settings).value == "100"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("no.such", "1", "Unknown topic config name: no.such"),
        ("message.format.version", "2.0", "Unknown topic config name: message.format.version"),
        ("retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        (
            "segment.bytes",
            "1000",
            "Invalid value 1000 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (
            "cleanup.policy",
            "shred",
            "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete",
        ),
    ],
)
def test_topic_can_not_say_anything(name: str, text: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        check_topic_configs({name: text})
    assert (refused.value.error_code, refused.value.message) == (ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize(
    "texts",
    [
        {"remote.storage.enable": "true"},
        {"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "10"},
        {"compression.gzip.level": "0"},
        {"leader.replication.throttled.replicas": "everybody"},
    ],
)
def test_values_that_fit_each_alone_can_still_be_refused(texts: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        check_topic_configs(texts)
    assert refused.value.error_code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"cleanup.policy": ""},
        {"cleanup.policy": "compact, delete,compact"},
        {"leader.replication.throttled.replicas": "*"},
        {"leader.replication.throttled.replicas": "0:1, 1:2"},
        {"compression.gzip.level": "-1"},
    ],
)
def test_odd_values_that_kafka_takes(texts: dict[str, str]) -> None:
    check_topic_configs(texts)


def test_shown_default_comes_with_the_brokers_setting_as_its_synonym() -> None:
    entry = described("max.message.bytes", {}, Settings())
    assert (entry.value, entry.source) == ("1048588", DEFAULT)
    assert entry.synonyms == [Synonym("message.max.bytes", "1048588", DEFAULT)]


def test_shown_value_comes_first_and_all_it_won_against_after_it() -> None:
    """Topic, node, cluster, given at the start, default; the text of lower layers as it was written."""
    settings = Settings({"message.max.bytes": " 1000 "})
    settings.change(CLUSTER, {"message.max.bytes": "2000", "min.insync.replicas": "1"})
    settings.change("1", {"message.max.bytes": "3000"})
    entry = described("max.message.bytes", {"max.message.bytes": " 4000 "}, settings)
    assert (entry.value, entry.source) == ("4000", TOPIC)
    assert entry.synonyms == [
        Synonym("max.message.bytes", "4000", TOPIC),
        Synonym("message.max.bytes", "3000", DYNAMIC),
        Synonym("message.max.bytes", "2000", CLUSTERS),
        Synonym("message.max.bytes", " 1000 ", GIVEN),
        Synonym("message.max.bytes", "1048588", DEFAULT),
    ]
    assert described("max.message.bytes", {}, settings).source is DYNAMIC


def test_coarser_units_show_only_behind_the_finest() -> None:
    """As in Kafka: hours given alone leave the topic's retention without synonyms, and "default"."""
    hours = described("retention.ms", {}, Settings({"log.retention.hours": "1"}))
    assert (hours.value, hours.source, hours.synonyms) == ("3600000", DEFAULT, [])
    both = described("retention.ms", {}, Settings({"log.retention.hours": "1", "log.retention.ms": "5"}))
    assert (both.value, both.source) == ("5", GIVEN)
    assert both.synonyms == [
        Synonym("log.retention.ms", "5", GIVEN),
        Synonym("log.retention.hours", "1", GIVEN),
        Synonym("log.retention.hours", "168", DEFAULT),
    ]


def test_min_insync_replicas_comes_from_the_clusters_layer() -> None:
    entry = described("min.insync.replicas", {}, Settings())
    assert entry.source is CLUSTERS
    assert entry.synonyms == [
        Synonym("min.insync.replicas", "1", CLUSTERS),
        Synonym("min.insync.replicas", "1", DEFAULT),
    ]


def test_shown_values_are_as_understood_those_at_creation_as_written() -> None:
    texts = {"retention.ms": " 1000 ", "cleanup.policy": "compact, delete,compact"}
    settings = Settings()
    assert described("retention.ms", texts, settings).value == "1000"
    assert described("cleanup.policy", texts, settings).value == "compact,delete"
    assert at_creation("retention.ms", texts, settings).value == " 1000 "
    assert at_creation("cleanup.policy", texts, settings).value == "compact, delete,compact"


def test_at_creation_the_first_layer_that_says_anything_counts() -> None:
    """Here hours do count, turned into the topic's unit."""
    settings = Settings({"log.retention.hours": "2", "message.max.bytes": "1000"})
    retention = at_creation("retention.ms", {}, settings)
    assert (retention.value, retention.source) == ("7200000", GIVEN)
    settings.change(CLUSTER, {"message.max.bytes": "2000", "min.insync.replicas": "1"})
    size = at_creation("max.message.bytes", {}, settings)
    assert (size.value, size.source) == ("2000", CLUSTERS)
    segment = at_creation("segment.bytes", {}, settings)
    assert (segment.value, segment.source) == ("1073741824", DEFAULT)


def test_every_config_says_what_it_does() -> None:
    settings = Settings()
    for entry in describe_topic({}, settings.of_node(1), settings.layers(1, {})):
        assert entry.documentation
