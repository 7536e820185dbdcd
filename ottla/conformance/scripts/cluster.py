"""DescribeCluster, DescribeTopicPartitions, DescribeLogDirs, ElectLeaders."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.conformance.batches import batch
from ottla.conformance.partitions import fill, new_topic
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest


@script(versions=every("DescribeCluster"))
def describe_cluster(scene: Scene, version: int) -> None:
    """The brokers; with authorized operations; controllers, which a broker does not list; other endpoints."""
    ana = scene.actor()
    for endpoint_type in (1, 2, 3, 0):
        ana.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    ana.ask(DescribeClusterRequest(endpoint_type=1, include_cluster_authorized_operations=True))
    ana.ask(DescribeClusterRequest(endpoint_type=1, include_fenced_brokers=True))


@script(versions=every("DescribeTopicPartitions"))
def describe_topic_partitions(scene: Scene, version: int) -> None:
    """By name, in order of names; with a limit and from a cursor; unknown and bad names."""
    run = scene.name("run")
    names = [f"{run}-{letter}" for letter in "abc"]
    for name in names:
        scene.create_topic(name, partitions=2)
    ana = scene.actor()

    def ask(*topics: str, limit: int = 2_000, cursor: tuple[str, int] | None = None) -> None:
        request = DescribeTopicPartitionsRequest(
            topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in topics],
            response_partition_limit=limit,
        )
        if cursor is not None:
            request.cursor = DescribeTopicPartitionsRequest.Cursor(topic_name=cursor[0], partition_index=cursor[1])
        ana.ask(request)

    ask(names[2], names[0], names[1])
    ask(names[0], names[0])
    ask(*names, limit=3)
    ask(*names, limit=3, cursor=(names[1], 1))
    ask(*names, limit=2, cursor=(names[1], 0))
    ask(*names, limit=0)
    ask(*names, limit=-5)
    ask(*names, cursor=(names[1], -1))
    ask(names[0], cursor=(names[1], 0))
    ask(names[0], cursor=(names[0], 9))
    ask(names[0], f"{run}-absent", "bad name")
    ask(names[0], "")
    ask(names[0], "", cursor=("", 0))
    ask(names[0], "", cursor=(names[0], 0))


@script(versions=every("DescribeLogDirs"))
def describe_log_dirs(scene: Scene, version: int) -> None:
    """The size of partitions asked for; those that are not are left out."""
    topic, other = new_topic(scene, partitions=2), new_topic(scene, "other")
    fill(scene, topic, batch())
    fill(scene, topic, batch(), batch(), partition=1)
    ana = scene.actor()

    def ask(**topics: list[int]) -> None:
        ana.ask(
            DescribeLogDirsRequest(
                topics=[
                    DescribeLogDirsRequest.DescribableLogDirTopic(topic=name, partitions=partitions)
                    for name, partitions in topics.items()
                ]
            )
        )

    ask(**{topic.name: [0, 1, 2], other.name: [0]})
    ask(**{scene.name("absent"): [0]})
    ask()


@script(versions=every("ElectLeaders"))
def elect_leaders(scene: Scene, version: int) -> None:
    """Where every leader is the preferred one: not needed, unknown, no such election, no time, nothing asked."""
    topic = new_topic(scene, partitions=2)
    ana = scene.actor()

    def ask(election_type: int, topics: Mapping[str, list[int]], timeout_ms: int = 5_000) -> None:
        listed = [ElectLeadersRequest.TopicPartitions(name, partitions) for name, partitions in topics.items()]
        ana.ask(ElectLeadersRequest(election_type if version else 0, listed, timeout_ms))

    ask(0, {topic.name: [0, 1, 2]})
    ask(0, {topic.name: [1], scene.name("absent"): [0]})
    ask(0, {topic.name: [0, 0]})
    ask(0, {})
    ask(0, {}, timeout_ms=0)
    ask(0, {topic.name: [0]}, timeout_ms=0)
    if version:
        ask(1, {topic.name: [0], scene.name("absent"): [0]})
        ask(2, {topic.name: [0]})
        ask(-1, {topic.name: [0]})
        ask(2, {topic.name: [0]}, timeout_ms=0)
