"""AlterPartitionReassignments and ListPartitionReassignments, on three nodes that go and come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from ottla.broker.handlers import alter_partition_reassignments
from ottla.broker.internal.coordinators import group_partition
from ottla.broker.network.call import Call
from ottla.cluster.topic import Topic
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from tests.broker.scene import FakeCall, Scene

Asked = tuple[str, Sequence[tuple[int, list[int] | None]]]


@pytest.fixture
def scene() -> Scene:
    return Scene(nodes=3)


def reassign(
    scene: Scene, *topics: Asked, version: int = 1, timeout_ms: int = 1000, may_grow: bool = True
) -> list[int]:
    """The error codes, partition by partition."""
    answer = ask(scene, *topics, version=version, timeout_ms=timeout_ms, may_grow=may_grow)
    return [partition.error_code for topic in answer.responses for partition in topic.partitions]


def ask(scene: Scene, *topics: Asked, version: int = 1, timeout_ms: int = 1000, may_grow: bool = True) -> Any:
    asked = AlterPartitionReassignmentsRequest
    return scene.ask(
        asked(
            timeout_ms,
            may_grow,
            [
                asked.ReassignableTopic(name, [asked.ReassignablePartition(*partition) for partition in partitions])
                for name, partitions in topics
            ],
        ),
        version,
        node_id=min(scene.cluster.nodes),
    )


def ongoing(scene: Scene, topics: dict[str, list[int]] | None = None) -> list[tuple[Any, ...]]:
    """(topic, partition, replicas, adding, removing) of all that is on its way."""
    asked = ListPartitionReassignmentsRequest
    some = None if topics is None else [asked.ListPartitionReassignmentsTopics(*topic) for topic in topics.items()]
    answer = scene.ask(asked(1000, some), 0, node_id=min(scene.cluster.nodes))
    assert (answer.error_code, answer.error_message) == (0, None)
    return [
        (topic.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in answer.topics
        for p in topic.partitions
    ]


def shown(scene: Scene, topic: Topic, index: int = 0) -> tuple[list[int], int, int, list[int]]:
    """(replicas, leader, its epoch, ISR), by metadata."""
    request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic.name)])
    partition = scene.ask(request, 12, node_id=min(scene.cluster.nodes)).topics[0].partitions[index]
    return partition.replica_nodes, partition.leader_id, partition.leader_epoch, partition.isr_nodes


def stop(scene: Scene, node_id: int) -> None:
    scene.services.failover.node_leaves(scene.cluster.all_nodes[node_id])


def start(scene: Scene, node_id: int) -> None:
    scene.services.failover.node_returns(scene.cluster.all_nodes[node_id])


@pytest.mark.parametrize("version", [0, 1])
def test_reassignment_is_done_with_the_answer(scene: Scene, version: int) -> None:
    """Leader and ISR follow; the epoch rises with replicas that go, and not with those that come."""
    topic = scene.create("a", replicas=2)  # on 1 and 2
    assert reassign(scene, ("a", [(0, [1, 2, 3])]), version=version) == [0]
    assert shown(scene, topic) == ([1, 2, 3], 1, 0, [1, 2, 3])
    assert reassign(scene, ("a", [(0, [3, 2])]), version=version) == [0]
    assert shown(scene, topic) == ([3, 2], 3, 1, [2, 3])
    assert reassign(scene, ("a", [(0, [3])]), version=version) == [0]
    assert shown(scene, topic) == ([3], 3, 2, [3])
    assert ongoing(scene) == []


def test_new_first_replica_leads_when_the_preferred_ones_are_elected(scene: Scene) -> None:
    topic = scene.create("a", replicas=2)
    reassign(scene, ("a", [(0, [2, 1])]))
    assert shown(scene, topic) == ([2, 1], 1, 0, [1, 2])
    scene.services.failover.balance()
    assert shown(scene, topic) == ([2, 1], 2, 1, [1, 2])


def test_node_that_is_down_is_waited_for(scene: Scene) -> None:
    """Until it is up the partition keeps its replicas, is shown as on its way, and can be taken back."""
    topic = scene.create("a", 2, replicas=1)  # on 1, on 2
    stop(scene, 3)
    assert reassign(scene, ("a", [(0, [3]), (1, [3, 1])])) == [0, 0]
    assert ongoing(scene) == [("a", 0, [3, 1], [3], [1]), ("a", 1, [3, 1, 2], [1, 3], [2])]
    assert shown(scene, topic) == ([3, 1], 1, 0, [1])
    assert ongoing(scene, {"a": [1, 7, -1], "absent": [0]}) == [("a", 1, [3, 1, 2], [1, 3], [2])]
    assert reassign(scene, ("a", [(0, None)])) == [0]
    assert shown(scene, topic) == ([1], 1, 1, [1])
    start(scene, 3)
    assert ongoing(scene) == []
    assert shown(scene, topic, 1) == ([3, 1], 3, 1, [1, 3])
    assert reassign(scene, ("a", [(0, None), (1, None)])) == [ErrorCode.NO_REASSIGNMENT_IN_PROGRESS] * 2


def test_partitions_that_are_added_meanwhile_have_as_many_replicas_as_there_shall_be(scene: Scene) -> None:
    topic = scene.create("a", replicas=1)
    stop(scene, 3)
    reassign(scene, ("a", [(0, [3])]))
    request = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic("a", 2, None)], 1000)
    assert scene.ask(request, 3).results[0].error_code == 0
    assert len(topic.placements[1].replicas) == 1


def test_way_back_that_would_lose_records_is_refused_unless_unclean_leaders_are_allowed(scene: Scene) -> None:
    """Only the replica that is being added is in sync: what was first in sync has gone."""
    careful, careless = scene.create("a"), scene.create("b", unclean_leader_election_enable="true")
    for topic in (careful, careless):
        placement = topic.placements[0]
        placement.replicas, placement.adding, placement.removing = [2, 3, 1], [2, 3], [1]
        placement.isr, placement.leader_id = [2], 2
    answer = ask(scene, ("a", [(0, None)]), ("b", [(0, None)]))
    refused, done = (topic.partitions[0] for topic in answer.responses)
    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "unclean leader election" in refused.error_message
    assert done.error_code == 0
    assert careless.placements[0].replicas == [1]
    assert careless.placements[0].leader_id == 1


@pytest.mark.parametrize(
    ("asked", "error_code", "message"),
    [
        (("a", [(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "an empty replica list"),
        (("a", [(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the broker 1 more than once"),
        (("a", [(0, [4])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker 4, but no such broker is registered"),
        (("a", [(0, [-1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker -1"),
        (("a", [(0, [2**31 - 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker"),
        (("a", [(1, [1])]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition a:1."),
        (("a", [(-1, None)]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition a:-1."),
        (("absent", [(0, [1])]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named absent."),
    ],
)
def test_what_can_not_be_is_refused_with_the_reason(
    scene: Scene, asked: Asked, error_code: ErrorCode, message: str
) -> None:
    """And nothing of it is done; the rest of the request is."""
    topic, other = scene.create("a"), scene.create("b")
    answer = ask(scene, asked, ("b", [(0, [3])]))
    assert answer.error_code == 0
    refused, done = (topic.partitions[0] for topic in answer.responses)
    assert refused.error_code == error_code
    assert message in refused.error_message
    assert (done.error_code, done.error_message) == (0, None)
    assert topic.placements[0].replicas == [1]
    assert other.placements[0].replicas == [3]


def test_number_of_replicas_stays_if_that_is_asked_for(scene: Scene) -> None:
    """While a reassignment goes on it is that of its end."""
    scene.create("a", replicas=2)
    stop(scene, 3)
    assert reassign(scene, ("a", [(0, [1])]), may_grow=False) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    assert reassign(scene, ("a", [(0, [1, 3])]), may_grow=False) == [0]
    assert reassign(scene, ("a", [(0, [1, 2, 3])]), may_grow=False) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    assert reassign(scene, ("a", [(0, [2, 3])]), may_grow=False) == [0]


def test_no_time_refuses_all_of_it_and_nothing_asked_for_needs_none(scene: Scene) -> None:
    topic = scene.create("a")
    answer = ask(scene, ("a", [(0, [2]), (9, [2])]), timeout_ms=0)
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert [p.error_code for p in answer.responses[0].partitions] == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert topic.placements[0].replicas == [1]
    assert ask(scene, timeout_ms=-1).error_code == 0


def test_partition_that_is_listed_twice_goes_where_it_is_listed_last(scene: Scene) -> None:
    topic = scene.create("a", 3)
    answer = reassign(scene, ("a", [(0, [2]), (0, [9]), (0, [3])]), ("a", [(1, [1])]))
    assert answer == [0, ErrorCode.INVALID_REPLICA_ASSIGNMENT, 0, 0]
    assert [placement.replicas for placement in topic.placements] == [[3], [1], [3]]


def test_no_more_than_ten_thousand_partitions_change_by_one_request(scene: Scene) -> None:
    scene.create("a")
    codes = reassign(scene, ("a", [(0, [2])] * 10_001))
    assert codes == [0] * 10_000 + [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_readers_of_events_hear_where_partitions_are(scene: Scene) -> None:
    """What stays as it is is not told of."""
    scene.create("a", 2, replicas=1)
    told: list[tuple[str, dict[str, Any]]] = []
    scene.events.read(
        lambda event: told.append((event.kind.name, dict(event.details))),
        [Kind.PARTITION_REASSIGNED, Kind.REPLICAS_MOVED],
    )
    stop(scene, 3)
    reassign(scene, ("a", [(0, [2]), (1, [2])]))
    reassign(scene, ("a", [(1, [3, 2])]))
    assert [(name, details.get("replicas")) for name, details in told] == [
        ("partition.reassigned", [2]),
        ("replicas.moved", None),
        ("partition.reassigned", [3, 2]),
        ("replicas.moved", None),
    ]
    assert told[0][1] | {"topic": "a", "partition": 0, "former_replicas": [1]} == told[0][1]
    assert told[2][1] | {"adding_replicas": [3]} == told[2][1]
    assert scene.log.named("replicas.moved") == [{"partitions": 1}] * 2


def test_group_goes_with_its_partition(scene: Scene) -> None:
    """The node that leads the partition of __consumer_offsets from now on coordinates it."""
    request = FindCoordinatorRequest("readers", 0, ["readers"])
    before = scene.ask(request, 4).coordinators[0].node_id
    index = group_partition(scene.cluster, "readers")
    other = next(node_id for node_id in (1, 2, 3) if node_id != before)
    assert reassign(scene, ("__consumer_offsets", [(index, [other])])) == [0]
    assert scene.ask(request, 4).coordinators[0].node_id == other


def test_long_name_of_no_topic_is_told_once_for_all_its_partitions(scene: Scene) -> None:
    """All partitions have the same text, not each its own: thousands of long ones would fill the memory."""
    name = "x" * 30_000
    asked = AlterPartitionReassignmentsRequest
    partitions = [asked.ReassignablePartition(index, [1]) for index in range(1000)]
    request = asked(1000, True, [asked.ReassignableTopic(name, partitions)])
    call = FakeCall(scene.nodes[1], 1, "PLAINTEXT", "ana", scene.authorizer)
    answer = alter_partition_reassignments.handle(request, cast(Call, call))
    texts = [partition.error_message for partition in answer.responses[0].partitions]
    assert len(texts) == 1000
    assert len({id(text) for text in texts}) == 1
