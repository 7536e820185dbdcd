"""What admin clients and tools ask first: ListConfigResources, DescribeQuorum, AlterPartitionReassignments and
ListPartitionReassignments, AlterReplicaLogDirs, UpdateFeatures, DescribeUserScramCredentials, DescribeClientQuotas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ottla.conformance.scene import Actor, Scene
from ottla.conformance.script import Exempt, every, script
from ottla.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.describe_quorum import DescribeQuorumRequest
from ottla.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest
from ottla.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.update_features import UpdateFeaturesRequest

_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32
_METADATA: Final = "__cluster_metadata"
_METADATA_VERSION: Final = "metadata.version"
_TRANSACTION_VERSION: Final = "transaction.version"
_UP, _DOWN, _UNSAFE_DOWN = 1, 2, 3


@script(versions=every("ListConfigResources"), needs=("node.id",))
def list_config_resources(scene: Scene, version: int) -> None:
    """Nodes and their loggers; subscriptions and groups that something is set for; types that there are not.

    Topics are not listed here, for other scripts have some too.
    """
    subscription, group = scene.name("subscription"), scene.name("group")
    ana = scene.actor()

    def list_them(*types: int) -> None:
        ana.ask(ListConfigResourcesRequest(list(types)))

    def set_config(kind: int, name: str, key: str, value: str | None) -> None:
        config = IncrementalAlterConfigsRequest.AlterableConfig(key, 0 if value is not None else 1, value)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, [config])
        answer = scene.stagehand.ask(IncrementalAlterConfigsRequest([resource]), 1)
        assert answer.responses[0].error_code == 0
        scene.until_settled()

    list_them(*[] if version == 0 else [_METRICS])
    set_config(_METRICS, subscription, "interval.ms", "100")
    set_config(_GROUP, group, "consumer.session.timeout.ms", "45000")
    list_them(*[] if version == 0 else [_METRICS])
    if version:
        for types in ([_BROKER], [_LOGGER], [_GROUP], [_GROUP, _BROKER, _METRICS, _LOGGER, _BROKER]):
            list_them(*types)
        for types in ([1], [0], [-1], [64], [_BROKER, 3]):
            list_them(*types)
    set_config(_METRICS, subscription, "interval.ms", None)
    set_config(_GROUP, group, "consumer.session.timeout.ms", None)
    list_them(*[] if version == 0 else [_METRICS, _GROUP])


@script(
    versions=every("DescribeQuorum"),
    exempt=[
        Exempt("nodes", "they are shown with the address that the client uses; there are no controllers"),
    ],
    needs=("node.id",),
)
def describe_quorum(scene: Scene, version: int) -> None:
    """The one partition of metadata; others, and that one beside others."""
    ana = scene.actor()

    def ask(*topics: tuple[str, list[int]]) -> None:
        ana.ask(
            DescribeQuorumRequest(
                [
                    DescribeQuorumRequest.TopicData(name, [DescribeQuorumRequest.PartitionData(i) for i in indexes])
                    for name, indexes in topics
                ]
            )
        )

    ask((_METADATA, [0]))
    ask((_METADATA, [1]))
    ask((_METADATA, [0, 1]))
    ask((_METADATA, [0, 0]))
    ask((_METADATA, [0]), (_METADATA, [0]))
    ask((_METADATA, [0]), ("a", [0]))
    ask(("a", [0]), ("b", []))
    ask((_METADATA, []))
    ask()


def _reassign(
    actor: Actor,
    *topics: tuple[str, Sequence[tuple[int, list[int] | None]]],
    timeout_ms: int = 5_000,
    may_grow: bool = True,
) -> None:
    asked = AlterPartitionReassignmentsRequest
    actor.ask(
        asked(
            timeout_ms,
            may_grow,
            [
                asked.ReassignableTopic(
                    name, [asked.ReassignablePartition(index, replicas) for index, replicas in partitions]
                )
                for name, partitions in topics
            ],
        )
    )


@script(versions=every("AlterPartitionReassignments"), needs=("node.id",))
def alter_partition_reassignments(scene: Scene, version: int) -> None:
    """On one broker: where it is, nowhere, twice, elsewhere; unknown topics and partitions; nothing to take back."""
    topic = scene.topic(partitions=2)
    ana = scene.actor()
    for replicas in ([1], None, [], [2], [1, 2], [2, 2], [1, 1], [-1], [2, 2, -3], [1, 1, 2]):
        _reassign(ana, (topic, [(0, replicas)]))
    _reassign(ana, (topic, [(2, [1]), (-1, [1]), (1, [1])]), (scene.name("absent"), [(0, [1])]), ("", [(0, None)]))
    _reassign(ana, (topic, [(0, [1]), (0, [2]), (0, [1])]), (topic, [(1, [1])]))
    _reassign(ana, (topic, []))
    _reassign(ana)
    for timeout_ms in (0, -1):
        _reassign(ana, (topic, [(0, [1]), (1, [7])]), timeout_ms=timeout_ms)
        _reassign(ana, timeout_ms=timeout_ms)
    if version:
        for replicas in ([1], [1, 2], [], [1, 1], None):
            _reassign(ana, (topic, [(0, replicas)]), may_grow=False)
    ana.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)]), 8)


@script(versions=every("ListPartitionReassignments"))
def list_partition_reassignments(scene: Scene, version: int) -> None:
    """Where nothing is on its way: all, none, some, unknown ones; the timeout does not matter."""
    topic = scene.topic(partitions=2)
    ana = scene.actor()
    asked = ListPartitionReassignmentsRequest
    some = asked.ListPartitionReassignmentsTopics
    for timeout_ms in (5_000, 0, -1):
        for topics in (None, [], [some(topic, [0, 1, 7, -1])], [some(scene.name("absent"), [0]), some("", [0])]):
            ana.ask(asked(timeout_ms, topics))


@script(versions=every("AlterReplicaLogDirs"))
def alter_replica_log_dirs(scene: Scene, version: int) -> None:
    """To where they are, and to directories that there are not; unknown partitions; names that are too long."""
    topic, other = scene.topic(partitions=2), scene.topic("other")
    ana = scene.actor()
    here: str = scene.stagehand.ask(DescribeLogDirsRequest([]), 4).results[0].log_dir
    scene.labels.names[here] = "<here>"
    asked = AlterReplicaLogDirsRequest

    def move(*directories: tuple[str, Mapping[str, list[int]]]) -> None:
        ana.ask(
            asked(
                [
                    asked.AlterReplicaLogDir(
                        path, [asked.AlterReplicaLogDirTopic(name, indexes) for name, indexes in topics.items()]
                    )
                    for path, topics in directories
                ]
            )
        )

    move((here, {topic: [0, 1], other: [0]}))
    for path in ("/nowhere", "", "relative", f"{here}/"):
        move((path, {topic: [0]}))
    for name, index in ((topic, 9), (topic, -1), (scene.name("absent"), 0), ("a b", 0), ("", 0)):
        move((here, {name: [index]}))
        move(("/nowhere", {name: [index]}))
    for length in (213, 214, 250, 300):
        move((here, {"x" * length: [0]}))
    move((here, {"x" * 213: [10]}))
    move(("/nowhere", {topic: [0]}), (here, {topic: [0, 1]}))
    move((here, {topic: [0]}), ("/nowhere", {topic: [0, 1]}))
    move((here, {topic: [0, 0]}), (here, {topic: [1]}))
    move((here, {topic: []}))
    move((here, {}))
    move()


@script(versions=every("UpdateFeatures"))
def update_features(scene: Scene, version: int) -> None:
    """metadata.version at its level and at others, in all ways; features nobody knows; several, one of them wrong."""
    ana = scene.actor()
    asked = UpdateFeaturesRequest

    def update(*updates: tuple[str, int, int], is_trial: bool = False, timeout_ms: int = 5_000) -> None:
        ana.ask(
            asked(
                timeout_ms,
                [
                    asked.FeatureUpdateKey(
                        name,
                        level,
                        allow_downgrade=version == 0 and upgrade_type != _UP,
                        upgrade_type=upgrade_type if version else _UP,
                    )
                    for name, level, upgrade_type in updates
                ],
                is_trial and version > 0,
            )
        )

    update()
    for is_trial in (False, True):
        for upgrade_type in (_UP, _DOWN, _UNSAFE_DOWN, 0, 4, -1):
            for level in (33, 32, 7, 6, 34, 0, -1):
                update((_METADATA_VERSION, level, upgrade_type), is_trial=is_trial)
    for level in (-1, 0, 1, 2, 3):
        for upgrade_type in (_UP, _DOWN, _UNSAFE_DOWN, 0):
            if version:
                update((_TRANSACTION_VERSION, level, upgrade_type), is_trial=True)
    if version:
        ben = scene.actor("ben")
        newest = UpdateFeaturesRequest(5_000, [asked.FeatureUpdateKey(_TRANSACTION_VERSION, 2, False, _UP)])
        scene.amends.append((newest, 1))
        for level, upgrade_type in ((1, _UP), (1, _DOWN), (0, _UNSAFE_DOWN), (0, _DOWN), (2, _DOWN), (2, _UP)):
            update((_TRANSACTION_VERSION, level, upgrade_type))
            scene.until_settled()
            shown = ben.client.ask(ApiVersionsRequest("test", "1"), 4).finalized_features
            finalized = [feature.max_version_level for feature in shown if feature.name == _TRANSACTION_VERSION]
            scene.record("transaction.version", None, finalized)
        update((_TRANSACTION_VERSION, 1, _DOWN), (_METADATA_VERSION, 32, _DOWN))
        update((_TRANSACTION_VERSION, 2, _UP), (_METADATA_VERSION, 33, _UP))
    for name in ("unheard.of", "", "é" * 100):
        for level in (-1, 0, 1):
            for upgrade_type in (_UP, _DOWN, 0):
                update((name, level, upgrade_type))
    update((_METADATA_VERSION, 33, _UP), ("unheard.of", 1, _UP))
    update(("unheard.of", 1, _UP), (_METADATA_VERSION, 33, _UP))
    update((_METADATA_VERSION, 33, _UP), (_METADATA_VERSION, 33, _UP))
    update((_METADATA_VERSION, 33, _UP), (_METADATA_VERSION, 32, _DOWN))
    update((_METADATA_VERSION, 32, _DOWN), (_METADATA_VERSION, 33, _UP))
    for timeout_ms in (0, -1):
        update((_METADATA_VERSION, 33, _UP), timeout_ms=timeout_ms)


@script(versions=every("DescribeUserScramCredentials"))
def describe_user_scram_credentials(scene: Scene, version: int) -> None:
    """All of none; users that are not there, and some who are named twice."""
    ana = scene.actor()
    asked = DescribeUserScramCredentialsRequest
    for names in (None, [], ["a"], ["a", "b"], ["a", "b", "a", "a"], [""], ["", ""], ["é" * 100]):
        ana.ask(asked(None if names is None else [asked.UserName(name) for name in names]))


@script(versions=every("DescribeClientQuotas"))
def describe_client_quotas(scene: Scene, version: int) -> None:
    """All filters of one component, those of two that go together and that do not, and what is no filter."""
    ana = scene.actor()
    asked = DescribeClientQuotasRequest
    part = asked.ComponentData
    for strict in (False, True):
        ana.ask(asked([], strict))
    for entity_type in ("user", "client-id", "ip", "", "group"):
        for match_type in (0, 1, 2, 3, -1):
            for match in ("a", "", None):
                ana.ask(asked([part(entity_type, match_type, match)], False))
    for one in ("user", "client-id", "ip"):
        for other in ("user", "client-id", "ip"):
            ana.ask(asked([part(one, 1, None), part(other, 2, None)], False))
    ana.ask(asked([part("user", 0, "a"), part("client-id", 0, "b"), part("ip", 0, "10.0.0.1")], True))
    ana.ask(asked([part("ip", 0, "no address")], False))
