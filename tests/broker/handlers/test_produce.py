"""Produce: what is appended, who is told, and which of several errors wins."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.call import CloseConnection
from ottla.cluster.topic import Topic
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.produce import ProduceRequest
from tests.broker.log_scene import LogScene, error_codes, only, partitions_of, produce_request
from tests.support.batches import batch

VERSIONS = range(3, 14)
ALL, LEADER, NONE = -1, 1, 0


def transactional(producer_id: int = 7) -> bytes:
    return batch(attributes=0x10, producer_id=producer_id, producer_epoch=0, base_sequence=0)


class TestAppending:
    def test_partition_listed_twice_is_answered_with_its_error(self) -> None:
        """The good batch is appended all the same, as in Kafka, where errors win when the answer is put together."""
        scene = LogScene()
        topic = scene.create("orders")
        request = produce_request(topic, batch(), b"")
        request.topic_data[0].partition_data[1].index = 0
        assert only(scene.ask(request, 9).responses).error_code == ErrorCode.INVALID_RECORD
        assert topic.partitions[0].log_end_offset == 1


class TestAcks:
    @pytest.mark.parametrize(
        "bad",
        [batch(crc_added=1), None, transactional(), batch(magic=3)],
        ids=["checksum", "null", "transactional without id", "no batch"],
    )
    def test_an_error_without_acks_closes_the_connection(self, bad: bytes | None) -> None:
        """It is the only way to tell; the good partitions keep what they got, unless all are refused together."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        with pytest.raises(CloseConnection):
            scene.send(produce_request(topic, batch(), bad, acks=NONE), 9)

    def test_too_few_replicas_in_sync(self) -> None:
        """acks=all is refused before anything is appended, the others are not held up."""
        scene = LogScene(nodes=3)
        topic = scene.create("orders", replicas=3, min_insync_replicas="2")
        leader = topic.placements[0].leader_id
        topic.placements[0].isr = [leader]
        answer = only(scene.ask(produce_request(topic, batch()), 9, node_id=leader).responses)
        assert (answer.error_code, answer.base_offset, answer.log_start_offset, answer.error_message) == (
            ErrorCode.NOT_ENOUGH_REPLICAS, -1, 0, None,
        )  # fmt: skip
        for acks in (LEADER, NONE):
            scene.send(produce_request(topic, batch(), acks=acks), 9, node_id=leader)
        assert topic.partitions[0].log_end_offset == 2
        topic.placements[0].isr = [leader, leader % 3 + 1]
        assert only(scene.ask(produce_request(topic, batch()), 9, node_id=leader).responses).error_code == 0

    def test_no_more_replicas_are_asked_for_than_there_are(self) -> None:
        """min.insync.replicas=2 on a topic of one replica means one."""
        scene = LogScene()
        topic = scene.create("orders", min_insync_replicas="2")
        assert only(scene.ask(produce_request(topic, batch()), 9).responses).error_code == 0


GOOD = batch()


class TestRecords:
    def test_garbage_after_the_batch_is_dropped(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        assert only(scene.ask(produce_request(topic, GOOD + b"stray"), 9).responses).error_code == 0
        assert topic.partitions[0].read(0, 1 << 20).records[21:] == GOOD[21:]


class TestTransactions:
    def test_batch_is_found_even_if_another_follows(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        answer = only(scene.ask(produce_request(topic, transactional() + GOOD), 9).responses)
        assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def test_plain_batch_may_come_with_an_id(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        assert only(scene.ask(produce_request(topic, GOOD, transactional_id="t"), 9).responses).error_code == 0

    def test_two_producers_in_one_request(self) -> None:
        scene = LogScene()
        topic = scene.create("orders", partitions=3)
        two = produce_request(topic, transactional(7), transactional(8), GOOD, transactional_id="t")
        assert error_codes(scene.ask(two, 9).responses) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 3
        assert topic.partitions[2].log_end_offset == 0

    async def test_nobody_coordinates_the_transaction(self) -> None:
        """Then nobody can say whether the batch belongs there; it may be sent again. Plain batches go on."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        answer = scene.ask(produce_request(topic, transactional(), GOOD, transactional_id="t"), 9)
        plain, refused = partitions_of(answer.responses)
        assert (plain.index, plain.error_code) == (1, 0)
        assert (refused.index, refused.error_code) == (0, ErrorCode.NOT_ENOUGH_REPLICAS)
        assert "COORDINATOR_NOT_AVAILABLE" in refused.error_message

    async def test_verification_can_be_turned_off(self) -> None:
        """Before v12 any transactional batch is taken then."""
        scene = LogScene(settings={"transaction.partition.verification.enable": "false"})
        topic = scene.create("orders")
        answer = scene.ask(produce_request(topic, transactional(), transactional_id="t"), 11)
        assert error_codes(answer.responses) == [0]


class TestInternalTopics:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_clients_may_not_write_them(self, version: int) -> None:
        """Unless they call themselves as Kafka's own tools do."""
        scene = LogScene()
        topic = scene.create(GROUP_TOPIC)
        answer = only(scene.ask(produce_request(topic, batch()), version).responses)
        assert (answer.error_code, answer.log_start_offset) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
        allowed = scene.ask(produce_request(topic, batch()), version, client_id="__admin_client")
        assert only(allowed.responses).error_code == 0


class TestLeaders:
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("replicas", [1, 2])
    def test_another_node_leads(self, version: int, replicas: int) -> None:
        """From v10 on the answer says which, and where it is; it makes no difference whether this one has a replica."""
        scene = LogScene(nodes=2)
        topic = scene.create("orders", replicas=replicas)
        leader_id = topic.placements[0].leader_id
        other_id = 3 - leader_id
        answer = scene.ask(produce_request(topic, batch()), version, node_id=other_id)
        partition = only(answer.responses)
        assert (partition.error_code, partition.log_start_offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        told = (partition.current_leader.leader_id, partition.current_leader.leader_epoch)
        nodes = [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints]
        if version >= 10:
            assert (told, nodes) == ((leader_id, 0), [(leader_id, "127.0.0.1", 9091 + leader_id, None)])
        else:
            assert (told, nodes) == ((-1, -1), [])

    def test_leader_without_a_node(self) -> None:
        """A leader that is down is named all the same, and there is no address to give."""
        scene = LogScene(nodes=2)
        topic = scene.create("orders")
        scene.lead(topic, 0, 2, leader_epoch=4)
        del scene.cluster.nodes[2]
        answer = scene.ask(produce_request(topic, batch()), 13)
        assert only(answer.responses).current_leader.leader_id == 2
        assert only(answer.responses).current_leader.leader_epoch == 4
        assert answer.node_endpoints == []

    def test_hint_is_given_for_nothing_else(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        answer = scene.ask(produce_request(topic, batch(crc_added=1)), 13)
        assert only(answer.responses).current_leader.leader_id == -1
        assert answer.node_endpoints == []


def unknown(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    request.topic_data[0].partition_data[0].index = 7


def bad_records(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    request.topic_data[0].partition_data[0].records = GOOD + GOOD


def bad_acks(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    request.acks = 5


def internal(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    topic.is_internal = True


def led_elsewhere(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    topic.placements[0].leader_id = 2


def too_few_replicas(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    topic.placements[0].isr = []


def bad_checksum(scene: LogScene, topic: Topic, request: ProduceRequest) -> None:
    request.topic_data[0].partition_data[0].records = batch(crc_added=1)


#: What can be wrong, and its code, in the order in which Kafka notices. Each is put together with all that follow it.
ORDER: list[tuple[Any, ErrorCode]] = [
    (unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (bad_records, ErrorCode.INVALID_RECORD),
    (bad_acks, ErrorCode.INVALID_REQUIRED_ACKS),
    (internal, ErrorCode.INVALID_TOPIC_EXCEPTION),
    (led_elsewhere, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (too_few_replicas, ErrorCode.NOT_ENOUGH_REPLICAS),
    (bad_checksum, ErrorCode.CORRUPT_MESSAGE),
]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[wrong.__name__ for wrong, _ in ORDER])
def test_first_error_wins(first: int) -> None:
    """Everything from this one on is wrong at once."""
    scene = LogScene(nodes=2)
    topic = scene.create("orders", replicas=2)
    topic.placements[0].leader_id = 1
    request = produce_request(topic, batch())
    for wrong, _ in reversed(ORDER[first:]):
        wrong(scene, topic, request)
    assert only(scene.ask(request, 9).responses).error_code == ORDER[first][1]
    assert topic.partitions[0].log_end_offset == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_as_a_whole(version: int) -> None:
    """Every partition of the request has the code, once, and no offset."""
    scene = LogScene()
    topic = scene.create("orders", partitions=2)
    request = produce_request(topic, batch(), batch(), batch())
    request.topic_data[0].partition_data[2].index = 1
    answer = scene.refuse(request, version, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [(p.index, p.error_code, p.base_offset) for p in partitions_of(answer.responses)] == [
        (0, -1, -1),
        (1, -1, -1),
    ]


def test_refused_as_a_whole_without_acks() -> None:
    """There is no answer that could say so."""
    scene = LogScene()
    request = produce_request(scene.create("orders"), batch(), acks=NONE)
    with pytest.raises(CloseConnection):
        scene.refuse(request, 9, ErrorCode.UNKNOWN_SERVER_ERROR)
