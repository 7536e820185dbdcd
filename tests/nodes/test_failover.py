"""What requests are answered while nodes go and come. No sockets: the cluster is told, and time is moved by hand."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker.handlers import find_coordinator
from ottla.broker.network.call import Call
from ottla.cluster.election import Election
from ottla.cluster.failover import NodeState
from ottla.cluster.topic import NO_LEADER, Topic
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from ottla.protocol.messages.produce import ProduceRequest
from tests.broker.log_scene import LogScene, SentCall, fetch_request, only, produce_request
from tests.support.batches import batch

FAILOVER_MS = 100


class Nodes(LogScene):
    """A cluster whose nodes a test stops and starts."""

    def stop(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.services.failover.node_leaves(self.cluster.all_nodes[node_id])
        self.turn()

    def kill(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.services.failover.node_died(self.cluster.all_nodes[node_id])
        self.turn()

    def start(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.services.failover.node_returns(self.cluster.all_nodes[node_id])
        self.turn()

    def metadata(self, topic: Topic, node_id: int, version: int = 12) -> Any:
        request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic.name)])
        return self.ask(request, version, node_id=node_id)

    def partition(self, topic: Topic, node_id: int, version: int = 12) -> Any:
        """Partition 0, by this node's metadata."""
        return self.metadata(topic, node_id, version).topics[0].partitions[0]

    def produce(self, topic: Topic, node_id: int, *, acks: int = -1, version: int = 9) -> Any:
        return only(self.ask(produce_request(topic, batch(), acks=acks), version, node_id=node_id).responses)

    def fetch(self, topic: Topic, node_id: int, offset: int = 0, *, version: int = 9, **changes: Any) -> Any:
        return only(self.ask(fetch_request(topic, offset, **changes), version, node_id=node_id).responses)


@pytest.fixture
def scene() -> Nodes:
    return Nodes(nodes=3)


# ── What metadata say ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_node_that_leaves_is_out_of_the_metadata_at_once(scene: Nodes) -> None:
    """Its partition has the next leader, a higher epoch and a smaller ISR; its replica is offline."""
    topic = scene.create("orders", replicas=3)
    scene.stop(1)
    metadata = scene.metadata(topic, 2)
    assert [broker.node_id for broker in metadata.brokers] == [2, 3]
    assert metadata.controller_id == 2
    partition = metadata.topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 2, 1)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1, 2, 3], [2, 3], [1])


def test_node_that_died_is_named_until_it_is_missed(scene: Nodes) -> None:
    """Metadata show the old leader for ottla.failover.ms, and the new one from then on."""
    topic = scene.create("orders", replicas=3)
    scene.kill(1)
    scene.advance(FAILOVER_MS - 1)
    metadata = scene.metadata(topic, 2)
    assert [broker.node_id for broker in metadata.brokers] == [1, 2, 3]
    assert (metadata.topics[0].partitions[0].leader_id, metadata.topics[0].partitions[0].leader_epoch) == (1, 0)
    assert scene.services.failover.state_of(scene.cluster.all_nodes[1]) is NodeState.SILENT
    scene.advance(1)
    assert scene.partition(topic, 2).leader_id == 2
    assert scene.services.failover.state_of(scene.cluster.all_nodes[1]) is NodeState.DOWN
    assert scene.log.named("node.missed")


def test_node_that_is_back_is_in_sync_at_once_and_leads_nothing(scene: Nodes) -> None:
    topic = scene.create("orders", replicas=3)
    scene.kill(1)
    scene.advance(FAILOVER_MS)
    scene.start(1)
    metadata = scene.metadata(topic, 1)
    assert [broker.node_id for broker in metadata.brokers] == [1, 2, 3]
    partition = metadata.topics[0].partitions[0]
    assert (partition.leader_id, partition.leader_epoch, partition.isr_nodes) == (2, 1, [1, 2, 3])
    assert partition.offline_replicas == []


def test_node_that_is_back_before_it_was_missed_has_lost_its_partitions_too(scene: Nodes) -> None:
    """As in Kafka, where it registers anew. Nothing happens when the time would have been over."""
    topic = scene.create("orders", replicas=3)
    scene.kill(1)
    scene.start(1)
    for _ in range(2):
        partition = scene.partition(topic, 1)
        assert (partition.leader_id, partition.leader_epoch, partition.isr_nodes) == (2, 1, [1, 2, 3])
        scene.advance(FAILOVER_MS)


def test_partition_with_its_only_replica_down_has_no_leader(scene: Nodes) -> None:
    """LEADER_NOT_AVAILABLE; the epoch rises when it loses its leader and when it gets it back."""
    topic = scene.create("orders")
    scene.stop(1)
    partition = scene.partition(topic, 2)
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (
        ErrorCode.LEADER_NOT_AVAILABLE,
        NO_LEADER,
        1,
    )
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1], [], [1])
    answer = scene.produce(topic, 2, version=10)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (NO_LEADER, 1)
    scene.start(1)
    partition = scene.partition(topic, 2)
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 2)


def test_metadata_v0_leave_out_who_is_down(scene: Nodes) -> None:
    """Clients of that age want an address for every node that is named."""
    topic = scene.create("orders", replicas=3)
    assert scene.partition(topic, 2, version=0).error_code == 0
    scene.stop(1)
    partition = scene.partition(topic, 2, version=0)
    assert partition.error_code == ErrorCode.REPLICA_NOT_AVAILABLE
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (2, [2, 3], [2, 3])
    assert scene.partition(topic, 2, version=1).error_code == 0


def test_describe_topic_partitions_shows_who_is_eligible(scene: Nodes) -> None:
    """With min.insync.replicas=2, who left when only one was in sync is an eligible leader replica (KIP-966)."""
    topic = scene.create("orders", replicas=2, min_insync_replicas="2")
    request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest("orders")])

    def shown() -> tuple[Any, ...]:
        (partition,) = scene.ask(request, 0, node_id=3).topics[0].partitions
        return (
            partition.leader_id,
            partition.isr_nodes,
            partition.eligible_leader_replicas,
            partition.last_known_elr,
            partition.offline_replicas,
        )

    assert shown() == (1, [1, 2], [], [], [])
    scene.stop(2)
    assert shown() == (1, [1], [2], [], [2])
    scene.stop(1)
    assert shown() == (NO_LEADER, [], [1, 2], [1], [1, 2])
    scene.start(2)
    assert shown() == (2, [2], [1], [], [1])
    scene.start(1)
    assert shown() == (2, [1, 2], [], [], [])
    assert topic.partitions[0].leader_epoch == 2


@pytest.mark.parametrize("version", [0, 1, 2])
def test_describe_cluster_shows_fenced_nodes_to_who_wants_them(scene: Nodes, version: int) -> None:
    scene.stop(2)
    answer = scene.ask(DescribeClusterRequest(include_fenced_brokers=version == 2), version)
    fenced = [(2, True)] if version == 2 else []
    brokers = [(broker.broker_id, getattr(broker, "is_fenced", False)) for broker in answer.brokers]
    assert brokers == sorted([(1, False), (3, False), *fenced])


# ── Epochs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_old_epoch_is_fenced_and_the_next_one_unknown(scene: Nodes) -> None:
    """In Fetch, ListOffsets and OffsetForLeaderEpoch, at the new leader."""
    topic = scene.create("orders", replicas=3)
    scene.append(topic, batch())
    scene.stop(1)
    for epoch, error in ((0, ErrorCode.FENCED_LEADER_EPOCH), (1, 0), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        fetched = scene.fetch(topic, 2, version=12, current_leader_epoch=epoch)
        assert fetched.error_code == error
        listed = ListOffsetsRequest.ListOffsetsPartition(0, current_leader_epoch=epoch, timestamp=-1)
        answer = scene.ask(
            ListOffsetsRequest(-1, topics=[ListOffsetsRequest.ListOffsetsTopic("orders", [listed])]), 7, node_id=2
        )
        assert answer.topics[0].partitions[0].error_code == error
        wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, epoch, 0)
        topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic("orders", [wanted])]
        ended = scene.ask(OffsetForLeaderEpochRequest(-2, topics=topics), 4, node_id=2).topics[0].partitions[0]
        assert ended.error_code == error
        if not error:
            assert (ended.leader_epoch, ended.end_offset) == (0, 1), "where the first leader's time ended"


def test_records_carry_the_epoch_of_their_leader(scene: Nodes) -> None:
    topic = scene.create("orders", replicas=3)
    scene.produce(topic, 1)
    scene.stop(1)
    scene.produce(topic, 2)
    assert topic.partitions[0].offset_for_leader_epoch(0) == (0, 1)
    assert topic.partitions[0].offset_for_leader_epoch(1) == (1, 2)
    assert only(scene.ask(fetch_request(topic, 0), 9, node_id=2).responses).high_watermark == 2


@pytest.mark.parametrize("version", [9, 10, 13])
def test_produce_to_the_former_leader_is_told_the_new_one(version: int) -> None:
    """NOT_LEADER_OR_FOLLOWER; from v10 on with the leader and its address (KIP-951)."""
    scene = Nodes(nodes=3)
    topic = scene.create("orders", replicas=3)
    scene.stop(1)
    scene.start(1)
    answer = scene.ask(produce_request(topic, batch()), version, node_id=1)
    partition = only(answer.responses)
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version >= 10:
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 1)
        assert [(node.node_id, node.port) for node in answer.node_endpoints] == [(2, 9093)]


def test_fetch_that_waits_at_the_former_leader_is_told(scene: Nodes) -> None:
    """It does not wait until its time is over. v16 hears the new leader along with the error."""
    topic = scene.create("orders", replicas=3)
    old = scene.send(fetch_request(topic, 0, max_wait_ms=10_000), 9, node_id=1)
    new = scene.send(fetch_request(topic, 0, max_wait_ms=10_000, current_leader_epoch=0), 17, node_id=1)
    assert not old.is_answered
    assert not new.is_answered
    scene.stop(1)
    assert only(old.answer_given.responses).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition = only(new.answer_given.responses)
    assert partition.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 1)
    assert [node.node_id for node in new.answer_given.node_endpoints] == [2]


# ── Acknowledgements ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_too_few_in_sync_refuse_acks_of_all_and_hide_what_acks_of_one_writes(scene: Nodes) -> None:
    """NOT_ENOUGH_REPLICAS; a record that only the leader has is not shown before enough are in sync again."""
    topic = scene.create("orders", replicas=3, min_insync_replicas="2")
    scene.stop(2)
    assert scene.produce(topic, 1).error_code == 0
    scene.stop(3)
    assert scene.produce(topic, 1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    alone = scene.produce(topic, 1, acks=1)
    assert (alone.error_code, alone.base_offset) == (0, 1)
    assert scene.fetch(topic, 1).high_watermark == 1
    assert len(scene.fetch(topic, 1, offset=1).records) == 0
    scene.start(3)
    assert scene.fetch(topic, 1).high_watermark == 2
    assert scene.produce(topic, 1).error_code == 0


def test_acks_of_all_wait_for_a_silent_follower_until_it_is_missed(scene: Nodes) -> None:
    """Its acknowledgement may be on its way for all the leader knows; then the ISR goes on without it."""
    topic = scene.create("orders", replicas=3)
    scene.kill(3)
    call = scene.send(produce_request(topic, batch(), timeout_ms=1000), 9, node_id=1)
    assert scene.produce(topic, 1, acks=1).error_code == 0
    assert scene.fetch(topic, 1).high_watermark == 0
    scene.advance(FAILOVER_MS - 1)
    scene.turn()
    assert not call.is_answered
    scene.advance(1)
    scene.turn()
    assert only(call.answer_given.responses).error_code == 0
    assert scene.fetch(topic, 1).high_watermark == 2


def test_acks_of_all_time_out_when_too_few_are_left(scene: Nodes) -> None:
    """The high watermark can't move, as in Kafka, so there is nothing to say but that time is over."""
    topic = scene.create("orders", replicas=2, min_insync_replicas="2")
    scene.kill(2)
    call = scene.send(produce_request(topic, batch(), timeout_ms=1000), 9, node_id=1)
    scene.advance(FAILOVER_MS)
    scene.turn()
    assert not call.is_answered
    scene.advance(1000)
    assert only(call.answer_given.responses).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_changed_min_insync_replicas_counts_at_once(scene: Nodes) -> None:
    topic = scene.create("orders", replicas=2, min_insync_replicas="2")
    scene.stop(2)
    scene.produce(topic, 1, acks=1)
    assert scene.fetch(topic, 1).high_watermark == 0
    topic.change_configs({})
    assert scene.fetch(topic, 1).high_watermark == 1


def test_settings_of_the_new_leaders_node_hold(scene: Nodes) -> None:
    """A node may have been given its own, such as the largest batch it takes."""
    topic = scene.create("orders", replicas=3)
    alter = IncrementalAlterConfigsRequest.AlterableConfig("message.max.bytes", 0, "50")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(4, "2", [alter])
    assert scene.ask(IncrementalAlterConfigsRequest([resource]), 1, node_id=2).responses[0].error_code == 0
    assert scene.produce(topic, 1).error_code == 0
    scene.stop(1)
    assert scene.produce(topic, 2).error_code == ErrorCode.MESSAGE_TOO_LARGE


# ── New partitions ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_new_partitions_are_led_by_who_is_up(scene: Nodes) -> None:
    """Nodes that are down hold replicas only where the others are too few, and are not in sync."""
    scene.stop(1)
    single = scene.create("single", partitions=4)
    assert {placement.leader_id for placement in single.placements} == {2, 3}
    triple = scene.create("triple", partitions=2, replicas=3)
    assert [placement.replicas[-1] for placement in triple.placements] == [1, 1]
    assert all(sorted(placement.isr) == [2, 3] for placement in triple.placements)
    scene.start(1)
    assert all(sorted(placement.isr) == [1, 2, 3] for placement in triple.placements)


def test_partitions_assigned_to_nodes_that_are_down_are_refused(scene: Nodes) -> None:
    """Unless one of them is up."""
    topic = scene.create("orders", replicas=1)
    scene.stop(1)
    for replicas, error in (([1], ErrorCode.INVALID_REPLICA_ASSIGNMENT), ([1, 3], 0)):
        name = f"assigned-{len(replicas)}"
        assigned = CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)
        wanted = CreateTopicsRequest.CreatableTopic(name, -1, -1, [assigned])
        made = scene.ask(CreateTopicsRequest([wanted], 1000), 7, node_id=2).topics[0]
        assert made.error_code == error
    assert scene.cluster.topics["assigned-2"].placements[0].leader_id == 3
    grown = CreatePartitionsRequest.CreatePartitionsTopic(
        topic.name, 2, [CreatePartitionsRequest.CreatePartitionsAssignment([1])]
    )
    answer = scene.ask(CreatePartitionsRequest([grown], 1000), 3, node_id=2)
    assert answer.results[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


# ── ElectLeaders ──────────────────────────────────────────────────────────────────────────────────────────────────────


def elect_request(topics: dict[str, list[int]] | None, election_type: int = 0, timeout_ms: int = 1000) -> Any:
    listed = None
    if topics is not None:
        listed = [ElectLeadersRequest.TopicPartitions(name, indexes) for name, indexes in topics.items()]
    return ElectLeadersRequest(election_type, listed, timeout_ms)


def elected(answer: Any) -> dict[str, list[tuple[int, int]]]:
    return {
        topic.topic: [(partition.partition_id, partition.error_code) for partition in topic.partition_result]
        for topic in answer.replica_election_results
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_preferred_leaders_are_brought_back(scene: Nodes, version: int) -> None:
    """Each once: the second time there is no need."""
    topic = scene.create("orders", partitions=3, replicas=3)
    scene.stop(1)
    scene.start(1)
    assert [placement.leader_id for placement in topic.placements] == [2, 2, 3]
    answer = scene.ask(elect_request({"orders": [0, 1, 7], "nix": [0]}), version)
    unknown, needless = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.ELECTION_NOT_NEEDED
    assert elected(answer) == {"orders": [(0, 0), (1, needless), (7, unknown)], "nix": [(0, unknown)]}
    (elected_one, refused, _) = answer.replica_election_results[0].partition_result
    assert (elected_one.error_message, bool(refused.error_message)) == (None, True)
    assert [placement.leader_id for placement in topic.placements] == [1, 2, 3]
    assert topic.partitions[0].leader_epoch == 2
    assert elected(scene.ask(elect_request({"orders": [0]}), version)) == {"orders": [(0, needless)]}


def test_all_partitions_are_meant_by_null_and_none_by_an_empty_list(scene: Nodes) -> None:
    """For all, those that need no election are left out."""
    topic = scene.create("orders", partitions=3, replicas=3)
    scene.create("still", partitions=1, replicas=1)
    scene.stop(1)
    scene.start(1)
    assert elected(scene.ask(elect_request({}, timeout_ms=0), 2)) == {}
    assert topic.placements[0].leader_id == 2
    assert elected(scene.ask(elect_request(None), 2)) == {"orders": [(0, 0)], "still": []}
    assert topic.placements[0].leader_id == 1


def test_leader_that_is_down_can_not_be_elected(scene: Nodes) -> None:
    scene.create("orders", replicas=2)
    scene.stop(1)
    answer = scene.ask(elect_request({"orders": [0]}), 2, node_id=2)
    assert elected(answer) == {"orders": [(0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)]}
    answer = scene.ask(elect_request({"orders": [0]}, election_type=1), 2, node_id=2)
    assert elected(answer) == {"orders": [(0, ErrorCode.ELECTION_NOT_NEEDED)]}


def test_unclean_election_brings_a_partition_back_and_no_record_is_lost(scene: Nodes) -> None:
    """Kafka would cut the log to what that replica has. Here there is one log."""
    topic = scene.create("orders", replicas=2)
    scene.stop(2)
    scene.produce(topic, 1)
    scene.stop(1)
    request = elect_request({"orders": [0]}, election_type=1)
    assert elected(scene.ask(request, 2, node_id=3)) == {"orders": [(0, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)]}
    scene.start(2)
    assert scene.partition(topic, 3).leader_id == NO_LEADER
    assert elected(scene.ask(request, 2, node_id=3)) == {"orders": [(0, 0)]}
    partition = scene.partition(topic, 3)
    assert (partition.leader_id, partition.isr_nodes) == (2, [2])
    assert scene.fetch(topic, 2).high_watermark == 1


def test_topic_may_prefer_an_unclean_leader_to_none(scene: Nodes) -> None:
    topic = scene.create("orders", replicas=2, unclean_leader_election_enable="true")
    scene.stop(2)
    scene.stop(1)
    scene.start(2)
    assert scene.partition(topic, 2).leader_id == 2


@pytest.mark.parametrize("version", [0, 1, 2])
def test_election_that_makes_no_sense_is_refused_as_a_whole(scene: Nodes, version: int) -> None:
    """By its time, and by its type, which v0 does not have."""
    scene.create("orders")
    answer = scene.ask(elect_request({"orders": [0]}, timeout_ms=0), version)
    assert elected(answer) == {"orders": [(0, ErrorCode.REQUEST_TIMED_OUT)]}
    if version > 0:
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        answer = scene.ask(elect_request({"orders": [0]}, election_type=2), version)
        assert (answer.error_code, elected(answer)) == (
            ErrorCode.INVALID_REQUEST,
            {"orders": [(0, ErrorCode.INVALID_REQUEST)]},
        )


def test_leaders_go_back_by_themselves_in_time(scene: Nodes) -> None:
    """Within leader.imbalance.check.interval.seconds, unless auto.leader.rebalance.enable says no."""
    topic = scene.create("orders", replicas=3)
    scene.stop(1)
    scene.start(1)
    scene.advance(299_999)
    assert topic.placements[0].leader_id == 2
    scene.advance(1)
    assert topic.placements[0].leader_id == 1
    assert scene.timer.size == 0, "nothing is left to be done"

    patient = Nodes(nodes=3, settings={"auto.leader.rebalance.enable": "false"})
    topic = patient.create("orders", replicas=3)
    patient.stop(1)
    patient.start(1)
    patient.advance(10_000_000)
    assert topic.placements[0].leader_id == 2


def test_leaders_are_looked_at_again_while_the_first_choice_is_down(scene: Nodes) -> None:
    topic = scene.create("orders", replicas=3)
    scene.stop(1)
    scene.advance(1_000_000)
    scene.start(1)
    scene.advance(300_000)
    assert topic.placements[0].leader_id == 1


# ── Coordinators ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_coordinator_is_who_leads_the_groups_partition(scene: Nodes) -> None:
    """Another one when that moves; while nobody leads it, COORDINATOR_NOT_AVAILABLE."""
    asked: list[int] = []
    for _ in range(3):
        found = scene.ask(FindCoordinatorRequest("billing"), 3, node_id=min(scene.cluster.nodes))
        assert found.error_code == 0
        asked.append(found.node_id)
        last = scene.nodes[found.node_id]
        scene.stop(found.node_id)
    assert sorted(asked) == [1, 2, 3]
    request = FindCoordinatorRequest(coordinator_keys=["billing"])
    (found,) = find_coordinator.handle(request, cast(Call, SentCall(last, request, 4, "ana"))).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


def test_unclean_is_not_what_a_preferred_election_is(scene: Nodes) -> None:
    """A preferred replica that was not in sync does not lead for being the first."""
    topic = scene.create("orders", replicas=2)
    scene.stop(1)
    scene.stop(2)
    scene.start(1)
    assert not scene.services.failover.elect(topic, 0, Election.PREFERRED)
    assert topic.placements[0].leader_id == NO_LEADER


# ── Whatever happens ──────────────────────────────────────────────────────────────────────────────────────────────────

STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["stop", "kill", "start"]), st.integers(1, 3)),
        st.tuples(st.just("advance"), st.sampled_from([1, FAILOVER_MS, 300_000])),
        st.tuples(st.just("produce"), st.sampled_from([1, -1])),
        st.tuples(st.just("elect"), st.sampled_from([0, 1])),
    ),
    max_size=40,
)


@given(STEPS, st.integers(1, 3), st.integers(1, 3))
def test_nothing_acknowledged_is_ever_hidden_again(
    steps: list[tuple[str, int]], replicas: int, min_insync_replicas: int
) -> None:
    """Whatever nodes do: epochs and high watermarks never fall, what acks=all were told of can be read, and in the end,
    with all nodes up and no time to wait for, everything is led, in sync and to be seen.
    """
    scene = Nodes(nodes=4)
    topic = scene.create("orders", partitions=3, replicas=replicas, min_insync_replicas=str(min_insync_replicas))
    logs = topic.partitions
    for step, argument in steps:
        before = [(log.leader_epoch, log.high_watermark) for log in logs]
        _take(scene, topic, step, argument)
        for log, placement, (epoch, high_watermark) in zip(logs, topic.placements, before, strict=True):
            assert log.leader_epoch >= epoch
            assert high_watermark <= log.high_watermark <= log.log_end_offset
            assert placement.leader_id == NO_LEADER or placement.leader_id in placement.isr
            assert set(placement.isr) <= scene.cluster.nodes.keys()
    for node_id in (1, 2, 3):
        _take(scene, topic, "start", node_id)
    scene.advance(10_000_000)
    assert scene.timer.size == 0
    for log, placement in zip(logs, topic.placements, strict=True):
        assert log.high_watermark == log.log_end_offset
        assert sorted(placement.isr) == sorted(placement.replicas)
        assert placement.has_preferred_leader


def _take(scene: Nodes, topic: Topic, step: str, argument: int) -> None:
    """Take a step, if it can be taken."""
    if step == "advance":
        scene.advance(argument)
        scene.turn()
    elif step == "elect":
        scene.ask(elect_request(None, argument), 2, node_id=4)
    elif step == "produce":
        for index, placement in enumerate(topic.placements):
            if placement.leader_id == NO_LEADER or placement.leader_id in scene.cluster.silent_node_ids:
                continue
            data = [ProduceRequest.PartitionProduceData(index, batch())]
            request = ProduceRequest(
                None, argument, 50, [ProduceRequest.TopicProduceData("orders", partition_data=data)]
            )
            call = scene.send(request, 9, node_id=placement.leader_id)
            if call.is_answered and argument == -1 and not (answer := only(call.answer_given.responses)).error_code:
                assert topic.partitions[index].high_watermark > answer.base_offset
    else:
        state = scene.services.failover.state_of(scene.cluster.all_nodes[argument])
        if (state is NodeState.UP) == (step != "start"):
            getattr(scene, step)(argument)
