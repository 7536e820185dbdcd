"""AlterConfigs and IncrementalAlterConfigs: what may be said of which resource, and what comes of it."""

from __future__ import annotations

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
