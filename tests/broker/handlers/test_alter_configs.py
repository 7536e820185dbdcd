"""AlterConfigs and IncrementalAlterConfigs: what may be said of which resource, and what comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.log.producer_entry import NumberedBatch
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_configs import AlterConfigsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.security.authorizer import AclOperation, AclResourceType
from tests.broker.scene import WALL_MS, AllowsNothing, Scene

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

Change = tuple[str, int, str | None]


def incremental(kind: int, name: str, *changes: Change) -> IncrementalAlterConfigsRequest.AlterConfigsResource:
    return IncrementalAlterConfigsRequest.AlterConfigsResource(
        kind, name, [IncrementalAlterConfigsRequest.AlterableConfig(*change) for change in changes]
    )


def replacing(kind: int, name: str, *configs: tuple[str, str | None]) -> AlterConfigsRequest.AlterConfigsResource:
    return AlterConfigsRequest.AlterConfigsResource(
        kind, name, [AlterConfigsRequest.AlterableConfig(*config) for config in configs]
    )


def change(scene: Scene, kind: int, name: str, *changes: Change, node_id: int = 1) -> tuple[int, str | None]:
    """(error code, message) of an incremental change."""
    request = IncrementalAlterConfigsRequest([incremental(kind, name, *changes)])
    answer = scene.ask(request, 1, node_id=node_id).responses[0]
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer.error_code, answer.error_message


def replace(scene: Scene, kind: int, name: str, *configs: tuple[str, str | None]) -> tuple[int, str | None]:
    """(error code, message) of a replacement."""
    answer = scene.ask(AlterConfigsRequest([replacing(kind, name, *configs)]), 2).responses[0]
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer.error_code, answer.error_message


OK = (ErrorCode.NONE, None)


@pytest.mark.parametrize("version", [0, 1])
def test_config_of_a_topic_is_set_and_deleted(version: int) -> None:
    """The others stay, and the logs go by it at once; deleting what is not set is fine."""
    scene = Scene()
    topic = scene.create("a", retention_bytes="7")
    for value, size in (("77", 77), (None, 1_048_588), (None, 1_048_588)):
        operation = SET if value else DELETE
        request = IncrementalAlterConfigsRequest([incremental(TOPIC, "a", ("max.message.bytes", operation, value))])
        answer = scene.ask(request, version).responses[0]
        assert (answer.error_code, answer.error_message) == OK
        assert topic.partitions[0].config.rules.max_message_bytes == size
        assert topic.partitions[0].config.retention_bytes == 7


def test_lists_are_appended_to_and_subtracted_from() -> None:
    """From the config's own default, whatever the broker's setting says; items that are there are not doubled."""
    scene = Scene(settings={"log.cleanup.policy": ""})
    topic = scene.create("a")
    for operation, value, policy in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact,delete", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "compact", ""),
        (APPEND, "delete", "delete"),
    ):
        assert change(scene, TOPIC, "a", ("cleanup.policy", operation, value)) == OK
        assert topic.configs["cleanup.policy"] == policy
        assert topic.partitions[0].config.compact == ("compact" in policy)


@pytest.mark.parametrize(
    ("changes", "error_code", "message"),
    [
        ([("no.such", SET, "1")], ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such"),
        ([("retention.ms", SET, "abc")], ErrorCode.INVALID_CONFIG, None),
        ([("segment.bytes", SET, "1000")], ErrorCode.INVALID_CONFIG, None),
        ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST, "Null value not supported for : retention.ms"),
        ([("cleanup.policy", APPEND, None)], ErrorCode.INVALID_REQUEST, None),
        ([("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG, None),
        ([("no.such", SUBTRACT, "1")], ErrorCode.INVALID_CONFIG, None),
        ([("cleanup.policy", APPEND, "shred")], ErrorCode.INVALID_CONFIG, None),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], ErrorCode.INVALID_REQUEST, None),
        ([("retention.ms", SET, "1"), ("segment.bytes", SET, "1")], ErrorCode.INVALID_CONFIG, None),
    ],
)  # fmt: skip
def test_change_that_can_not_be_changes_nothing(
    changes: list[Change], error_code: ErrorCode, message: str | None
) -> None:
    """All configs of a resource are taken, or none."""
    scene = Scene()
    topic = scene.create("a", retention_bytes="7")
    answered, text = change(scene, TOPIC, "a", *changes)
    assert answered == error_code
    assert text == message if message is not None else text
    assert topic.configs == {"retention.bytes": "7"}


def test_deleting_a_config_that_is_none_is_fine() -> None:
    """Only what is said in the end is checked."""
    scene = Scene()
    scene.create("a")
    assert change(scene, TOPIC, "a", ("no.such", DELETE, None)) == OK
    assert change(scene, TOPIC, "a") == OK


@pytest.mark.parametrize("operation", [4, 9, -1])
def test_unknown_operation_is_what_kafka_stumbles_on_for_topics_and_groups(operation: int) -> None:
    scene = Scene()
    scene.create("a")
    for kind, name in ((TOPIC, "a"), (GROUP, "g"), (METRICS, "s")):
        assert change(scene, kind, name, ("x", operation, "1")) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    code, text = change(scene, BROKER, "1", ("message.max.bytes", operation, "1"))
    assert (code, bool(text)) == (ErrorCode.INVALID_REQUEST, True)


@pytest.mark.parametrize(
    ("kind", "name", "error_code"),
    [
        (TOPIC, "absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_REQUEST),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (0, "x", ErrorCode.INVALID_REQUEST),
        (3, "x", ErrorCode.INVALID_REQUEST),
        (9, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_resource_that_is_none_keeps_no_other_from_being_changed(kind: int, name: str, error_code: ErrorCode) -> None:
    """In both APIs, with a text."""
    scene = Scene(nodes=2)
    topic = scene.create("a")
    answers: list[Any] = []
    request = IncrementalAlterConfigsRequest(
        [incremental(kind, name), incremental(TOPIC, "a", ("retention.ms", SET, "5"))]
    )
    answers += scene.ask(request, 1).responses
    assert topic.configs == {"retention.ms": "5"}
    answers += scene.ask(AlterConfigsRequest([replacing(kind, name), replacing(TOPIC, "a")]), 2).responses
    assert topic.configs == {}
    assert [answer.error_code for answer in answers] == [error_code, 0, error_code, 0]
    assert all(answer.error_message for answer in answers if answer.error_code)


def test_resource_listed_twice_is_refused_both_times() -> None:
    scene = Scene()
    topic = scene.create("a")
    twice = incremental(TOPIC, "a", ("retention.ms", SET, "5"))
    other = incremental(GROUP, "a", ("consumer.session.timeout.ms", SET, "50000"))
    answers = scene.ask(IncrementalAlterConfigsRequest([twice, other, twice]), 1).responses
    assert [(a.resource_type, a.error_code) for a in answers] == [
        (TOPIC, ErrorCode.INVALID_REQUEST),
        (GROUP, 0),
        (TOPIC, ErrorCode.INVALID_REQUEST),
    ]
    answers = scene.ask(AlterConfigsRequest([replacing(TOPIC, "a")] * 2), 2).responses
    assert [a.error_code for a in answers] == [ErrorCode.INVALID_REQUEST] * 2
    assert topic.configs == {}


@pytest.mark.parametrize("version", range(3))
def test_replacement_takes_back_what_it_does_not_list(version: int) -> None:
    scene = Scene()
    topic = scene.create("a", retention_ms="5", retention_bytes="7")
    request = AlterConfigsRequest([replacing(TOPIC, "a", ("retention.ms", "6"))])
    answer = scene.ask(request, version).responses[0]
    assert (answer.error_code, answer.error_message) == OK
    assert topic.configs == {"retention.ms": "6"}
    assert topic.partitions[0].config.retention_bytes == -1


@pytest.mark.parametrize(
    ("configs", "error_code"),
    [
        ([("no.such", "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", "abc")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", "1"), ("retention.ms", "1")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_replacement_that_can_not_be_changes_nothing(
    configs: list[tuple[str, str | None]], error_code: ErrorCode
) -> None:
    scene = Scene()
    topic = scene.create("a", retention_ms="5")
    code, text = replace(scene, TOPIC, "a", *configs)
    assert (code, bool(text)) == (error_code, True)
    assert topic.configs == {"retention.ms": "5"}


def test_validate_only_checks_and_changes_nothing() -> None:
    scene = Scene()
    topic = scene.create("a")
    good, bad = ("retention.ms", SET, "5"), ("retention.ms", SET, "abc")
    request = IncrementalAlterConfigsRequest([incremental(TOPIC, "a", good)], validate_only=True)
    assert scene.ask(request, 1).responses[0].error_code == 0
    request = IncrementalAlterConfigsRequest([incremental(TOPIC, "a", bad)], validate_only=True)
    assert scene.ask(request, 1).responses[0].error_code == ErrorCode.INVALID_CONFIG
    request_all = AlterConfigsRequest([replacing(TOPIC, "a", ("retention.ms", "5"))], validate_only=True)
    assert scene.ask(request_all, 2).responses[0].error_code == 0
    assert topic.configs == {}


def test_appending_can_not_make_a_value_longer_than_the_log_of_kafkas_controller_holds() -> None:
    """32,767 characters; a request can carry half of that at a time."""
    scene = Scene()
    scene.create("a")
    name = "follower.replication.throttled.replicas"
    assert change(scene, TOPIC, "a", (name, APPEND, ",".join(f"{n}:1" for n in range(3500)))) == OK
    code, text = change(scene, TOPIC, "a", (name, APPEND, ",".join(f"{n}:2" for n in range(3500))))
    assert (code, bool(text)) == (ErrorCode.INVALID_CONFIG, True)


def test_setting_of_a_node_counts_for_what_it_leads() -> None:
    """And only it can be asked to change it."""
    scene = Scene(nodes=2)
    topic = scene.create("a", 2)
    assert change(scene, BROKER, "2", ("message.max.bytes", SET, " 77 "), node_id=2) == OK
    assert [partition.config.rules.max_message_bytes for partition in topic.partitions] == [1_048_588, 77]
    assert change(scene, BROKER, "2", ("message.max.bytes", DELETE, None), node_id=2) == OK
    assert [partition.config.rules.max_message_bytes for partition in topic.partitions] == [1_048_588] * 2


def test_setting_of_the_cluster_counts_for_all_nodes() -> None:
    scene = Scene(nodes=2)
    topic = scene.create("a", 2)
    assert change(scene, BROKER, "", ("log.retention.ms", SET, "77"), node_id=2) == OK
    assert [partition.config.retention_ms for partition in topic.partitions] == [77, 77]
    assert change(scene, BROKER, "", ("log.cleanup.policy", APPEND, "compact")) == OK
    assert all(partition.config.compact for partition in topic.partitions)


def test_setting_nobody_knows_is_kept() -> None:
    """As Kafka keeps it, for a plugin to read."""
    scene = Scene()
    assert change(scene, BROKER, "1", ("my.plugin", SET, "x")) == OK
    assert scene.cluster.settings.layer("1") == {"my.plugin": "x"}


@pytest.mark.parametrize(
    ("name", "changed", "error_code"),
    [
        ("1", ("num.partitions", SET, "3"), ErrorCode.INVALID_REQUEST),
        ("", ("num.partitions", SET, "3"), ErrorCode.INVALID_REQUEST),
        ("1", ("message.max.bytes", SET, "abc"), ErrorCode.INVALID_REQUEST),
        ("1", ("message.max.bytes", SET, "-1"), ErrorCode.INVALID_REQUEST),
        ("1", ("message.max.bytes", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        ("1", ("my.plugin", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        ("", ("listeners", SET, "PLAINTEXT://:1"), ErrorCode.INVALID_REQUEST),
        ("1", ("ssl.keystore.location", SET, "x"), ErrorCode.INVALID_REQUEST),
        ("1", ("min.insync.replicas", SET, "2"), ErrorCode.INVALID_CONFIG),
        ("", ("min.insync.replicas", DELETE, None), ErrorCode.INVALID_CONFIG),
    ],
)
def test_setting_of_a_broker_that_can_not_be_changed_so(name: str, changed: Change, error_code: ErrorCode) -> None:
    scene = Scene()
    before = scene.cluster.settings.layer(name)
    code, text = change(scene, BROKER, name, changed)
    assert (code, bool(text)) == (error_code, True)
    assert scene.cluster.settings.layer(name) == before


def test_replacing_the_clusters_settings_must_keep_min_insync_replicas() -> None:
    scene = Scene()
    assert replace(scene, BROKER, "")[0] == ErrorCode.INVALID_CONFIG
    assert replace(scene, BROKER, "", ("min.insync.replicas", "2")) == OK
    assert scene.cluster.settings["min.insync.replicas"] == 2
    assert replace(scene, BROKER, "1", ("message.max.bytes", "77")) == OK
    assert replace(scene, BROKER, "1") == OK
    assert scene.cluster.settings.of_node(1)["message.max.bytes"] == 1_048_588


def test_loggers_can_not_be_changed() -> None:
    """There are none; the older API does not know them at all."""
    scene = Scene()
    assert change(scene, LOGGER, "1", ("root", SET, "DEBUG")) == (
        ErrorCode.INVALID_CONFIG,
        "Logger root does not exist!",
    )
    assert replace(scene, LOGGER, "1")[0] == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("config", "value", "error_code"),
    [
        ("consumer.session.timeout.ms", "50000", ErrorCode.NONE),
        ("consumer.session.timeout.ms", "1", ErrorCode.INVALID_CONFIG),
        ("consumer.session.timeout.ms", "60001", ErrorCode.INVALID_CONFIG),
        ("consumer.heartbeat.interval.ms", "4999", ErrorCode.INVALID_CONFIG),
        ("consumer.heartbeat.interval.ms", "abc", ErrorCode.INVALID_CONFIG),
        ("streams.num.standby.replicas", "2", ErrorCode.NONE),
        ("streams.num.standby.replicas", "3", ErrorCode.INVALID_CONFIG),
        ("streams.num.warmup.replicas", "20", ErrorCode.NONE),
        ("streams.num.warmup.replicas", "21", ErrorCode.INVALID_CONFIG),
        ("streams.task.offset.interval.ms", "14999", ErrorCode.INVALID_CONFIG),
        ("streams.assignor.name", "sticky", ErrorCode.NONE),
        ("streams.assignor.name", "slippery", ErrorCode.INVALID_CONFIG),
        ("streams.rack.aware.assignment.tags", "zone, rack", ErrorCode.NONE),
        ("streams.rack.aware.assignment.tags", "zone, zone", ErrorCode.INVALID_CONFIG),
        ("errors.deadletterqueue.topic.name", "dlq.orders", ErrorCode.NONE),
        ("errors.deadletterqueue.topic.name", "__dlq", ErrorCode.INVALID_CONFIG),
        ("consumer.assignor.offload.enable", "false", ErrorCode.NONE),
        ("share.auto.offset.reset", "earliest", ErrorCode.NONE),
        ("share.auto.offset.reset", "by_duration:P1DT2H3M4.5S", ErrorCode.NONE),
        ("share.auto.offset.reset", "by_duration:P", ErrorCode.INVALID_CONFIG),
        ("share.auto.offset.reset", "sometimes", ErrorCode.INVALID_CONFIG),
        ("no.such", "1", ErrorCode.INVALID_CONFIG),
    ],
)
def test_group_takes_configs_within_the_brokers_bounds(config: str, value: str, error_code: ErrorCode) -> None:
    scene = Scene()
    assert change(scene, GROUP, "g", (config, SET, value))[0] == error_code
    assert scene.cluster.group_configs == ({} if error_code else {"g": {config: value}})
    assert change(scene, GROUP, "g", (config, DELETE, None)) == OK
    assert scene.cluster.group_configs == {}


@pytest.mark.parametrize(
    ("config", "value", "bounds"),
    [
        ("consumer.session.timeout.ms", "1", "in the range 45000 to 60000 inclusive."),
        ("share.delivery.count.limit", "11", "in the range 2 to 10 inclusive."),
        ("streams.num.standby.replicas", "3", "less than or equal to 2"),
        ("streams.task.offset.interval.ms", "1", "greater than or equal to 15000"),
    ],
)
def test_bounds_of_a_groups_config_are_told_in_numbers(config: str, value: str, bounds: str) -> None:
    """Those that hold on this broker, and not the names of its settings."""
    code, text = change(Scene(), GROUP, "g", (config, SET, value))
    assert (code, text) == (ErrorCode.INVALID_CONFIG, f"{config} must be {bounds}")


def test_only_what_a_group_says_is_checked() -> None:
    """The broker's own values may be at odds with each other, which concerns nobody who does not set them."""
    scene = Scene(settings={"group.share.heartbeat.interval.ms": "50000", "group.streams.session.timeout.ms": "1"})
    assert change(scene, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")) == OK


def test_session_of_a_group_must_outlast_its_heartbeats() -> None:
    scene = Scene(settings={"group.consumer.max.heartbeat.interval.ms": "50000"})
    code, text = change(scene, GROUP, "g", ("consumer.heartbeat.interval.ms", SET, "45000"))
    assert (code, text) == (
        ErrorCode.INVALID_CONFIG,
        "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
    )


@pytest.mark.parametrize(
    ("config", "value", "error_code"),
    [
        ("interval.ms", "100", ErrorCode.NONE),
        ("interval.ms", "99", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "abc", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=.*, client_software_name = Java", ErrorCode.NONE),
        ("match", "colour=red", ErrorCode.INVALID_CONFIG),
        ("metrics", "*", ErrorCode.NONE),
        ("no.such", "1", ErrorCode.INVALID_REQUEST),
    ],
)
def test_metrics_subscription_takes_three_configs(config: str, value: str, error_code: ErrorCode) -> None:
    scene = Scene()
    assert change(scene, METRICS, "s", (config, SET, value))[0] == error_code
    assert scene.cluster.client_metrics_configs == ({} if error_code else {"s": {config: value}})


#: By resource: which one it is, what guards it under which name, what its client is told.
FORBIDDEN = {
    "topic": (TOPIC, "a", AclResourceType.TOPIC, "a", (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic")),
    "no topic": (TOPIC, "no", AclResourceType.TOPIC, "no", (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic")),
    "broker": (
        BROKER,
        "1",
        AclResourceType.CLUSTER,
        "kafka-cluster",
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster"),
    ),
    "other": (
        BROKER,
        "2",
        AclResourceType.CLUSTER,
        "kafka-cluster",
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster"),
    ),
    "all": (BROKER, "", AclResourceType.CLUSTER, "kafka-cluster", (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster")),
    "metrics": (
        METRICS,
        "m",
        AclResourceType.CLUSTER,
        "kafka-cluster",
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster"),
    ),
    "group": (GROUP, "g", AclResourceType.GROUP, "g", (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group")),
}


@pytest.mark.parametrize(("kind", "name", "guard", "guarded", "told"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_who_may_not_alter_hears_that_before_what_is_wrong(
    kind: int, name: str, guard: AclResourceType, guarded: str, told: tuple[ErrorCode, str]
) -> None:
    """Both APIs ask once, with the value that doesn't fit unseen, and nothing is changed."""
    scene = Scene()
    topic = scene.create("a")
    scene.authorizer = authorizer = AllowsNothing()
    error_code, word = told
    refused = (error_code, f"{word} authorization failed.")
    assert change(scene, kind, name, ("retention.ms", SET, "nonsense")) == refused
    assert replace(scene, kind, name, ("retention.ms", "nonsense")) == refused
    assert authorizer.asked == [(AclOperation.ALTER_CONFIGS, guard, guarded)] * 2
    assert topic.configs == {}


def test_who_may_not_alter_hears_first_what_is_wrong_with_the_list_of_keys() -> None:
    """A key listed twice, and one without a value where it needs one."""
    scene = Scene()
    scene.authorizer = authorizer = AllowsNothing()
    twice = [("retention.ms", "1"), ("retention.ms", "2")]
    assert replace(scene, BROKER, "1", *twice)[0] == ErrorCode.INVALID_REQUEST
    assert change(scene, BROKER, "1", ("retention.ms", SET, None))[0] == ErrorCode.INVALID_REQUEST
    assert authorizer.asked == []


def test_loggers_belong_to_the_cluster() -> None:
    """AlterConfigs does not know them, whoever asks."""
    scene = Scene()
    scene.authorizer = AllowsNothing()
    assert change(scene, LOGGER, "1", ("root", SET, "INFO"))[0] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert replace(scene, LOGGER, "1", ("root", "INFO"))[0] == ErrorCode.INVALID_REQUEST


def test_when_producers_are_forgotten_follows_at_once() -> None:
    """producer.id.expiration.ms is for all logs there are, not only for new ones; its default comes back too."""
    scene = Scene()
    producers = scene.create("orders").partitions[0].producers
    for text, is_kept in (("1000", False), (None, True)):
        producers.add_batch(7, 0, NumberedBatch(0, 0, 0, 0, WALL_MS), is_transactional=False)
        operation = DELETE if text is None else SET
        assert change(scene, BROKER, "", ("producer.id.expiration.ms", operation, text)) == OK
        producers.remove_expired(WALL_MS + 1_000)
        assert bool(len(producers)) is is_kept
