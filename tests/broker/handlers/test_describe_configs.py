"""DescribeConfigs: of topics, brokers, groups and metrics subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from tests.broker.scene import Scene

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
GIVEN, CLUSTERS, NODES, DEFAULT = 4, 3, 2, 5


def of(*resources: tuple[int, str], keys: list[str] | None = None, more: bool = False) -> DescribeConfigsRequest:
    """`more`: with synonyms and documentation."""
    return DescribeConfigsRequest(
        [DescribeConfigsRequest.DescribeConfigsResource(kind, name, keys) for kind, name in resources], more, more
    )


def one(scene: Scene, kind: int, name: str, *keys: str, version: int = 4, node_id: int = 1) -> Any:
    """The configs of one resource, by name, with everything that can be told of them."""
    result = scene.ask(of((kind, name), keys=list(keys), more=True), version, node_id=node_id).results[0]
    assert (result.error_code, result.error_message, result.resource_type, result.resource_name) == (0, "", kind, name)
    return {config.name: config for config in result.configs}


def test_resource_that_is_listed_twice() -> None:
    """It is described once: a request of 2 KB should not be answered with 16 MB. The keys listed last count."""
    scene = Scene()
    scene.create("a")
    request = of((TOPIC, "a"), (BROKER, "1"), *[(TOPIC, "a")] * 1_000)
    request.resources[-1].configuration_keys = ["retention.ms"]
    answer = scene.ask(request, 4)
    assert [(result.resource_type, result.resource_name) for result in answer.results] == [(TOPIC, "a"), (BROKER, "1")]
    assert [config.name for config in answer.results[0].configs] == ["retention.ms"]


def test_synonyms_and_documentation_come_when_asked_for() -> None:
    scene = Scene(settings={"message.max.bytes": "1000"})
    scene.create("a", max_message_bytes="5")
    config = one(scene, TOPIC, "a")["max.message.bytes"]
    assert [(s.name, s.value, s.source) for s in config.synonyms] == [
        ("max.message.bytes", "5", 1),
        ("message.max.bytes", "1000", GIVEN),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    assert config.documentation == "Largest batch of records."


@pytest.mark.parametrize(
    ("kind", "name", "error_code", "has_text"),
    [
        (TOPIC, "absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        (TOPIC, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION, True),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, True),
        (BROKER, "2", ErrorCode.INVALID_REQUEST, True),
        (BROKER, "-1", ErrorCode.INVALID_REQUEST, True),
        (BROKER, "one", ErrorCode.INVALID_REQUEST, True),
        (BROKER, "1" * 5000, ErrorCode.INVALID_REQUEST, True),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, True),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST, True),
        (METRICS, "", ErrorCode.INVALID_REQUEST, True),
        (GROUP, "", ErrorCode.INVALID_REQUEST, True),
    ],
)
def test_resource_that_can_not_be_described_keeps_no_other_from_being(
    kind: int, name: str, error_code: ErrorCode, has_text: bool
) -> None:
    scene = Scene(nodes=2)
    scene.create("a")
    bad, good = scene.ask(of((kind, name), (TOPIC, "a"), keys=["retention.ms"]), 4).results
    assert (bad.error_code, bad.resource_type, bad.resource_name, bad.configs) == (error_code, kind, name, [])
    assert bool(bad.error_message) == has_text
    assert (good.error_code, len(good.configs)) == (0, 1)


@pytest.mark.parametrize("kind", [0, 1, 3, 9, -1])
def test_unknown_resource_type_refuses_the_whole_request(kind: int) -> None:
    scene = Scene()
    scene.create("a")
    results = scene.ask(of((TOPIC, "a"), (kind, "x")), 4).results
    assert [(r.error_code, r.resource_type, r.resource_name, r.configs) for r in results] == [
        (ErrorCode.INVALID_REQUEST, TOPIC, "a", []),
        (ErrorCode.INVALID_REQUEST, kind, "x", []),
    ]
    assert all(r.error_message for r in results)


def test_node_shows_every_setting_of_kafka_and_its_own() -> None:
    """With types, and read-only unless it can change while the broker runs."""
    configs = one(Scene(settings={"num.partitions": "3"}), BROKER, "1")
    assert len([name for name in configs if not name.startswith("ottla.transaction.")]) == 352
    assert list(configs) == sorted(configs)
    partitions, size = configs["num.partitions"], configs["message.max.bytes"]
    assert (partitions.value, partitions.config_source, partitions.read_only, partitions.config_type) == (
        "3",
        GIVEN,
        True,
        3,
    )
    assert (size.value, size.config_source, size.read_only) == ("1048588", DEFAULT, False)
    assert configs["log.cleaner.io.max.bytes.per.second"].value == "1.7976931348623157E308"
    assert (configs["log.retention.ms"].value, configs["log.retention.ms"].synonyms) == (None, [])
    assert all(config.documentation for config in configs.values())


def test_each_node_answers_for_itself_only() -> None:
    """With its own id and addresses, which it was started with: by options of Ottla, by a file in Kafka's case."""
    scene = Scene(nodes=2)
    configs = one(scene, BROKER, "2", node_id=2)
    assert (configs["node.id"].value, configs["broker.id"].value) == ("2", "2")
    for name in ("listeners", "advertised.listeners"):
        assert (configs[name].value, configs[name].config_source) == ("PLAINTEXT://127.0.0.1:9093", GIVEN)
    assert scene.ask(of((BROKER, "2")), 4, node_id=1).results[0].error_code == ErrorCode.INVALID_REQUEST


def test_passwords_and_settings_nobody_knows_are_named_without_value() -> None:
    """They may be secret."""
    scene = Scene(settings={"ssl.key.password": "geheim", "my.plugin.token": "geheim"})
    configs = one(scene, BROKER, "1", "ssl.key.password", "my.plugin.token")
    password, unknown = configs["ssl.key.password"], configs["my.plugin.token"]
    assert (password.value, password.is_sensitive, password.config_type) == (None, True, 9)
    assert (unknown.value, unknown.is_sensitive, unknown.config_type, unknown.read_only) == (None, True, 0, True)
    assert [(s.value, s.source) for s in (*password.synonyms, *unknown.synonyms)] == [(None, GIVEN), (None, GIVEN)]
    assert unknown.documentation is None


def test_cluster_shows_what_was_set_for_all_nodes() -> None:
    """An empty name asks for it. min.insync.replicas is there from the start, as in Kafka."""
    scene = Scene()
    assert list(one(scene, BROKER, "")) == ["min.insync.replicas"]
    scene.cluster.settings.change("", {"message.max.bytes": " 77 ", "min.insync.replicas": "1", "my.plugin": "geheim"})
    configs = one(scene, BROKER, "")
    size, plugin = configs["message.max.bytes"], configs["my.plugin"]
    assert (size.value, size.config_source, [(s.value, s.source) for s in size.synonyms]) == (
        " 77 ",
        CLUSTERS,
        [(" 77 ", CLUSTERS)],
    )
    assert (plugin.value, plugin.is_sensitive) == (None, True)
    assert one(scene, BROKER, "1")["message.max.bytes"].value == "77"


def test_synonyms_of_a_node_go_from_its_own_layer_to_the_default() -> None:
    scene = Scene(settings={"log.retention.hours": "1"})
    scene.cluster.settings.change("", {"log.retention.ms": "77", "min.insync.replicas": "1"})
    scene.cluster.settings.change("1", {"log.retention.ms": "88"})
    configs = one(scene, BROKER, "1", "log.retention.ms", "log.retention.hours")
    assert [(s.name, s.value, s.source) for s in configs["log.retention.ms"].synonyms] == [
        ("log.retention.ms", "88", NODES),
        ("log.retention.ms", "77", CLUSTERS),
        ("log.retention.hours", "1", GIVEN),
        ("log.retention.hours", "168", DEFAULT),
    ]
    assert [(s.name, s.source) for s in configs["log.retention.hours"].synonyms] == [
        ("log.retention.hours", GIVEN),
        ("log.retention.hours", DEFAULT),
    ]


def test_internal_settings_show_only_when_they_are_given() -> None:
    assert "log.initial.task.delay.ms" not in one(Scene(), BROKER, "1")
    scene = Scene(settings={"log.initial.task.delay.ms": "5"})
    assert one(scene, BROKER, "1")["log.initial.task.delay.ms"].value == "5"
