"""What admin clients and tools ask first: features, the quorum, what has configs, directories, users, quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ottla.cluster.features import METADATA_VERSION, TRANSACTION_VERSION
from ottla.cluster.log_dirs import MEMORY
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_configs import AlterConfigsRequest
from ottla.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_quorum import DescribeQuorumRequest
from ottla.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest
from ottla.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from ottla.protocol.messages.update_features import UpdateFeaturesRequest
from ottla.protocol.primitives import Message
from ottla.security.authorizer import CLUSTER_NAME, AclOperation, AclResourceType
from tests.broker.scene import WALL_MS, AllowsNothing, Scene

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
UP, DOWN, UNSAFE_DOWN = 1, 2, 3
QUORUM = DescribeQuorumRequest(
    [DescribeQuorumRequest.TopicData("__cluster_metadata", [DescribeQuorumRequest.PartitionData(0)])]
)


def log_dirs(path: str, topics: Mapping[str, list[int]]) -> AlterReplicaLogDirsRequest:
    asked = AlterReplicaLogDirsRequest
    moved = [asked.AlterReplicaLogDirTopic(name, indexes) for name, indexes in topics.items()]
    return asked([asked.AlterReplicaLogDir(path, moved)])


def reassignments(topic: str) -> AlterPartitionReassignmentsRequest:
    asked = AlterPartitionReassignmentsRequest
    return asked(0, True, [asked.ReassignableTopic(topic, [asked.ReassignablePartition(0, [])])])


@pytest.mark.parametrize(
    ("request_", "operation"),
    [
        (ListConfigResourcesRequest([99]), AclOperation.DESCRIBE_CONFIGS),
        (DescribeQuorumRequest(), AclOperation.DESCRIBE),
        (reassignments("a"), AclOperation.ALTER),
        (ListPartitionReassignmentsRequest(0, None), AclOperation.DESCRIBE),
        (UpdateFeaturesRequest(0, [UpdateFeaturesRequest.FeatureUpdateKey("x", -1)]), AclOperation.ALTER),
        (DescribeUserScramCredentialsRequest(None), AclOperation.DESCRIBE),
        (
            DescribeClientQuotasRequest([DescribeClientQuotasRequest.ComponentData("")]),
            AclOperation.DESCRIBE_CONFIGS,
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else value.name,
)
def test_who_may_not_is_told_so_before_anything_is_looked_at(request_: Message, operation: AclOperation) -> None:
    """Whatever is wrong with the rest of it."""
    scene = Scene()
    scene.authorizer = authorizer = AllowsNothing()
    version = 0 if isinstance(request_, ListPartitionReassignmentsRequest | DescribeUserScramCredentialsRequest) else 1
    assert scene.ask(request_, version).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert authorizer.asked == [(operation, AclResourceType.CLUSTER, CLUSTER_NAME)]


def test_who_may_not_move_replicas_is_told_so_for_each_of_them() -> None:
    scene = Scene()
    scene.authorizer = AllowsNothing()
    (topic,) = scene.ask(log_dirs("/nowhere", {"a": [0, 7]}), 2).results
    assert {p.partition_index: p.error_code for p in topic.partitions} == dict.fromkeys(
        (0, 7), ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    )


def listed(scene: Scene, *types: int, version: int = 1) -> list[tuple[int, str]]:
    answer = scene.ask(ListConfigResourcesRequest(list(types)), version, node_id=min(scene.cluster.nodes))
    assert answer.error_code == 0
    return [
        (resource.resource_type if version else METRICS, resource.resource_name) for resource in answer.config_resources
    ]


def test_everything_that_has_configs_is_listed() -> None:
    """Nodes that are down are listed too; v0 knows metrics subscriptions only."""
    scene = Scene(nodes=2)
    scene.create("a")
    scene.cluster.group_configs["readers"] = {"share.session.timeout.ms": "45000"}
    scene.cluster.client_metrics_configs["all"] = {"interval.ms": "1000"}
    scene.services.failover.node_leaves(scene.cluster.all_nodes[1])
    nodes = [(kind, name) for kind in (LOGGER, BROKER) for name in ("1", "2")]
    everything = [(GROUP, "readers"), (METRICS, "all"), *nodes, (TOPIC, "a")]
    assert listed(scene) == everything
    assert listed(scene, TOPIC, BROKER, TOPIC) == [(BROKER, "1"), (BROKER, "2"), (TOPIC, "a")]
    assert listed(scene, version=0) == [(METRICS, "all")]


@pytest.mark.parametrize("types", [[0], [1], [-128], [TOPIC, 64]])
def test_type_that_there_is_not_lists_nothing(types: list[int]) -> None:
    scene = Scene()
    answer = scene.ask(ListConfigResourcesRequest(types), 1)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


def test_nodes_that_are_up_have_all_of_the_metadata() -> None:
    """The first that is up leads, and the offset grows with time. A directory keeps its id, and is nobody else's."""
    scene = Scene(nodes=3)
    scene.services.failover.node_leaves(scene.cluster.all_nodes[1])
    first = scene.ask(QUORUM, 2, node_id=2)
    scene.clock.move_to(scene.clock.now_ms() + 5000)
    answer = scene.ask(QUORUM, 2, node_id=3)
    (before,), (partition,) = first.topics[0].partitions, answer.topics[0].partitions
    assert (partition.error_code, partition.leader_id, partition.observers) == (0, 2, [])
    assert partition.high_watermark == before.high_watermark + 10
    end, now = partition.high_watermark, WALL_MS + 5000
    assert [
        (v.replica_id, v.log_end_offset, v.last_fetch_timestamp, v.last_caught_up_timestamp)
        for v in partition.current_voters
    ] == [(1, -1, -1, -1), (2, end, now, now), (3, end, now, now)]
    ids = [voter.replica_directory_id for voter in partition.current_voters]
    assert ids == [voter.replica_directory_id for voter in before.current_voters]
    assert len(set(ids)) == 3
    assert [(n.node_id, [(at.name, at.host, at.port) for at in n.listeners]) for n in answer.nodes] == [
        (node_id, [("PLAINTEXT", "127.0.0.1", 9091 + node_id)]) for node_id in (1, 2, 3)
    ]


def moved(scene: Scene, path: str, topics: Mapping[str, list[int]], node_id: int = 1) -> dict[tuple[str, int], int]:
    answer = scene.ask(log_dirs(path, topics), 2, node_id=node_id)
    return {(t.topic_name, p.partition_index): p.error_code for t in answer.results for p in t.partitions}


def test_replicas_are_where_they_are() -> None:
    """On the nodes that have them."""
    scene = Scene(nodes=2)
    scene.create("a", 2)  # on 1, on 2
    assert moved(scene, MEMORY, {"a": [0, 1, 2]}) == {
        ("a", 0): 0,
        ("a", 1): ErrorCode.REPLICA_NOT_AVAILABLE,
        ("a", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert moved(scene, MEMORY, {"a": [1]}, node_id=2) == {("a", 1): 0}
    assert moved(scene, "/elsewhere", {"a": [0, 2]}) == {
        ("a", 0): ErrorCode.LOG_DIR_NOT_FOUND,
        ("a", 2): ErrorCode.LOG_DIR_NOT_FOUND,
    }
    long = "x" * 214
    assert moved(scene, "/elsewhere", {long: [0]}) == {(long, 0): ErrorCode.INVALID_TOPIC_EXCEPTION}


def update(scene: Scene, *updates: tuple[str, int, int], version: int = 2, is_trial: bool = False) -> Any:
    asked = UpdateFeaturesRequest
    keys = [asked.FeatureUpdateKey(name, level, upgrade_type=kind) for name, level, kind in updates]
    return scene.ask(asked(1000, keys, is_trial and version > 0), version)


def finalized(scene: Scene, version: int = 5) -> dict[str, tuple[int, int]]:
    answer = scene.ask(ApiVersionsRequest("test", "1"), version)
    return {f.name: (f.min_version_level, f.max_version_level) for f in answer.finalized_features}


def supported(scene: Scene, version: int) -> dict[str, tuple[int, int]]:
    answer = scene.ask(ApiVersionsRequest("test", "1"), version)
    return {f.name: (f.min_version, f.max_version) for f in answer.supported_features}


@pytest.fixture
def scene_with_feature() -> Scene:
    """`transaction.version` can have the levels 0 to 2, and has 1."""
    return Scene(settings={"ottla.transaction.version": "1"})


def test_level_of_a_feature_goes_up_and_down(scene_with_feature: Scene) -> None:
    """Clients see it at once; level 0 is not shown, and before v4 no feature that can be off is known."""
    scene = scene_with_feature
    base = {METADATA_VERSION: (33, 33)}
    assert finalized(scene) == {**base, TRANSACTION_VERSION: (1, 1)}
    assert update(scene, (TRANSACTION_VERSION, 2, UP), is_trial=True).error_code == 0
    assert finalized(scene) == {**base, TRANSACTION_VERSION: (1, 1)}
    shown_one, shown_two = {TRANSACTION_VERSION: (1, 1)}, {TRANSACTION_VERSION: (2, 2)}
    for level, kind, shown in ((2, UP, shown_two), (0, DOWN, {}), (1, UP, shown_one)):
        answer = update(scene, (TRANSACTION_VERSION, level, kind), (METADATA_VERSION, 33, UP), version=1)
        assert (answer.error_code, answer.error_message) == (0, None)
        assert [(r.feature, r.error_code) for r in answer.results] == [(TRANSACTION_VERSION, 0), (METADATA_VERSION, 0)]
        assert finalized(scene) == {**base, **shown}
    assert supported(scene, 3) == {METADATA_VERSION: (7, 33)}
    assert supported(scene, 4) == {METADATA_VERSION: (7, 33), TRANSACTION_VERSION: (0, 2)}


@pytest.mark.parametrize(
    ("name", "level", "kind", "reason"),
    [
        (TRANSACTION_VERSION, 0, UP, "Can't downgrade the version of this feature without setting"),
        (TRANSACTION_VERSION, 2, DOWN, "Can't downgrade to a newer version."),
        (TRANSACTION_VERSION, 3, UP, "Local controller 1 only supports versions 0-2"),
        (TRANSACTION_VERSION, 1, 0, "does not support the given upgrade type"),
        (TRANSACTION_VERSION, -1, UP, "cannot be less than 0"),
        ("other.version", 1, UP, "Local controller 1 does not support this feature."),
        ("other.version", 0, UP, "Feature other.version not found."),
        (METADATA_VERSION, 32, DOWN, "because it might delete metadata information"),
        (METADATA_VERSION, 7, UNSAFE_DOWN, "Unsafe metadata downgrade is not supported"),
    ],
)
def test_update_that_can_not_be_says_why_and_leaves_all_as_it_was(
    scene_with_feature: Scene, name: str, level: int, kind: int, reason: str
) -> None:
    """What else was asked for is not done either."""
    scene = scene_with_feature
    before = finalized(scene)
    updates = [(TRANSACTION_VERSION, 2, UP), (name, level, kind)]
    answer = update(scene, *(updates if name != TRANSACTION_VERSION else updates[1:]))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert reason in answer.error_message
    assert finalized(scene) == before


def cluster_configs(scene: Scene, *changes: tuple[str, str], replace: bool = False) -> dict[str, str]:
    """Those of all nodes, after these changes."""
    changed: Any
    if replace:
        all_of_it = [AlterConfigsRequest.AlterableConfig(*change) for change in changes]
        changed = scene.ask(AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(BROKER, "", all_of_it)]), 2)
    else:
        some = [IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value) for name, value in changes]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER, "", some)
        changed = scene.ask(IncrementalAlterConfigsRequest([resource]), 1)
    assert [response.error_code for response in changed.responses] == [0]
    shown = scene.ask(DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(BROKER, "")]), 4)
    return {config.name: config.value for config in shown.results[0].configs}


def test_level_of_a_feature_is_no_config_of_the_cluster() -> None:
    """Clients that change those, one or all of them, neither see nor change it."""
    scene = Scene()
    assert update(scene, (TRANSACTION_VERSION, 1, DOWN)).error_code == 0
    insync = {"min.insync.replicas": "1"}
    one = {"log.segment.bytes": "2000000"}
    assert cluster_configs(scene, *one.items()) == insync | one
    assert cluster_configs(scene, *insync.items(), replace=True) == insync
    assert finalized(scene)[TRANSACTION_VERSION] == (1, 1)


def test_nobody_has_a_password() -> None:
    scene = Scene()
    asked = DescribeUserScramCredentialsRequest
    assert scene.ask(asked([]), 0).results == []
    answer = scene.ask(asked([asked.UserName(name) for name in ("ana", "bo", "ana")]), 0)
    assert [(r.user, r.error_code, r.credential_infos) for r in answer.results] == [
        ("ana", ErrorCode.DUPLICATE_RESOURCE, []),
        ("bo", ErrorCode.RESOURCE_NOT_FOUND, []),
    ]


def test_filter_of_quotas_that_is_refused_finds_null_and_another_nothing() -> None:
    """Which are refused is held against Kafka."""
    scene = Scene()
    part = DescribeClientQuotasRequest.ComponentData
    assert scene.ask(DescribeClientQuotasRequest([part("user", 0, "ana")]), 1).entries == []
    refused = scene.ask(DescribeClientQuotasRequest([part("user", 0, None)]), 1)
    assert (refused.error_code, refused.entries) == (ErrorCode.INVALID_REQUEST, None)
