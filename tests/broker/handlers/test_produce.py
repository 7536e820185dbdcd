"""Produce: what is appended, who is told, and which of several errors wins."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.call import CloseConnection
from ottla.cluster.topic import Topic
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import ZERO_UUID
from tests.broker.log_scene import LogScene, absent_topic, error_codes, only, partitions_of, produce_request
from tests.log.partitions import numbered
from tests.support.batches import batch

VERSIONS = range(3, 14)
ALL, LEADER, NONE = -1, 1, 0
THREE = ((b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
HOUR_MS = 3_600_000


def transactional(producer_id: int = 7) -> bytes:
    return batch(attributes=0x10, producer_id=producer_id, producer_epoch=0, base_sequence=0)


class TestAppending:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_batches_follow_each_other(self, version: int) -> None:
        """Each is answered with the offset of its first record, by the name or the id it was sent under."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        first = scene.ask(produce_request(topic, batch(THREE)), version)
        second = scene.ask(produce_request(topic, batch(), batch()), version)
        assert (only(first.responses).error_code, only(first.responses).base_offset) == (0, 0)
        assert [p.base_offset for p in partitions_of(second.responses)] == [3, 0]
        (answered,) = second.responses
        assert (answered.name, answered.topic_id) == (("orders", ZERO_UUID), ("", topic.topic_id))[version >= 13]
        for partition in partitions_of(second.responses):
            assert (partition.log_append_time_ms, partition.log_start_offset) == (-1, 0 if version >= 5 else -1)
            assert (partition.record_errors, partition.error_message) == ([], None)
        assert [partition.log_end_offset for partition in topic.partitions] == [4, 1]

    def test_the_brokers_time(self) -> None:
        """On a topic with LogAppendTime the answer says what the records got."""
        scene = LogScene()
        topic = scene.create("orders", message_timestamp_type="LogAppendTime")
        assert only(scene.ask(produce_request(topic, batch()), 9).responses).log_append_time_ms == scene.clock.wall_ms()

    def test_partitions_are_independent(self) -> None:
        """A batch that is refused keeps no other one from being appended."""
        scene = LogScene()
        topic = scene.create("orders", partitions=3)
        answer = scene.ask(produce_request(topic, batch(), batch(crc_added=1), batch()), 9)
        assert error_codes(answer.responses) == [0, ErrorCode.CORRUPT_MESSAGE, 0]
        assert [partition.log_end_offset for partition in topic.partitions] == [1, 0, 1]

    @pytest.mark.parametrize("version", [12, 13])
    def test_partition_listed_twice_gets_the_last_batch(self, version: int) -> None:
        """And one answer, be it listed under the same topic or under the topic once more."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        request = produce_request(topic, batch(THREE), batch())
        request.topic_data[0].partition_data[1].index = 0
        request.topic_data += produce_request(topic, None, batch()).topic_data
        del request.topic_data[1].partition_data[0]
        answer = scene.ask(request, version)
        (answered,) = answer.responses
        assert [(p.index, p.error_code) for p in answered.partition_responses] == [(0, 0), (1, 0)]
        assert [partition.log_end_offset for partition in topic.partitions] == [1, 1]

    def test_partition_listed_twice_is_answered_with_its_error(self) -> None:
        """The good batch is appended all the same, as in Kafka, where errors win when the answer is put together."""
        scene = LogScene()
        topic = scene.create("orders")
        request = produce_request(topic, batch(), b"")
        request.topic_data[0].partition_data[1].index = 0
        assert only(scene.ask(request, 9).responses).error_code == ErrorCode.INVALID_RECORD
        assert topic.partitions[0].log_end_offset == 1

    def test_repeated_batch_is_answered_as_the_first_time(self) -> None:
        """An idempotent producer sends again what it had no answer to."""
        scene = LogScene()
        topic = scene.create("orders")
        for first_sequence, base_offset in ((0, 0), (1, 1), (0, 0), (2, 2)):
            answer = only(scene.ask(produce_request(topic, numbered(first_sequence)), 9).responses)
            assert (answer.error_code, answer.base_offset) == (0, base_offset)
        assert topic.partitions[0].log_end_offset == 3

    def test_nothing_to_append_is_answered_with_nothing(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        assert scene.ask(ProduceRequest(acks=ALL, topic_data=[]), 9).responses == []
        assert scene.ask(produce_request(topic), 9).responses == []


class TestAcks:
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize(("acks", "error"), [(ALL, 0), (LEADER, 0), (2, 21), (-2, 21)])
    def test_others_than_three_are_refused(self, acks: int, error: int, version: int) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        answer = only(scene.ask(produce_request(topic, batch(), acks=acks), version).responses)
        assert (answer.error_code, answer.base_offset) == (error, -1 if error else 0)
        assert topic.partitions[0].log_end_offset == (0 if error else 1)
        assert answer.log_start_offset == (-1 if error or version < 5 else 0)

    @pytest.mark.parametrize("version", VERSIONS)
    def test_no_answer_without_acks(self, version: int) -> None:
        """The batch is appended, and the request is over."""
        scene = LogScene()
        topic = scene.create("orders")
        call = scene.send(produce_request(topic, batch(), acks=NONE), version)
        assert call.is_answered
        assert call.answer_given is None
        assert topic.partitions[0].log_end_offset == 1

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


class TestUnknown:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_topics_and_partitions(self, version: int) -> None:
        """By name there is one code for both; an id that nobody knows has its own, an unknown partition has not."""
        scene = LogScene()
        topic = scene.create("orders")
        request = produce_request(absent_topic(topic), batch())
        request.topic_data += produce_request(topic, batch(), batch()).topic_data
        request.topic_data[1].partition_data[0].index = -1
        answer = scene.ask(request, version)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (
            error_codes(answer.responses) == [ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else unknown] + [unknown] * 2
        )
        assert [p.log_start_offset for p in partitions_of(answer.responses)] == [-1] * 3

    def test_no_topic_is_created_on_the_way(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        scene.ask(produce_request(absent_topic(topic), batch()), 9)
        assert list(scene.cluster.topics) == ["orders"]


GOOD = batch()
#: What is measured on Kafka, with the code and whether the answer has a text.
BAD_RECORDS: dict[str, tuple[bytes | None, ErrorCode, bool]] = {
    "null": (None, ErrorCode.INVALID_RECORD, False),
    "empty": (b"", ErrorCode.INVALID_RECORD, False),
    "short": (GOOD[:5], ErrorCode.INVALID_RECORD, False),
    "cut off": (GOOD[:-1], ErrorCode.INVALID_RECORD, False),
    "two batches": (GOOD + GOOD, ErrorCode.INVALID_RECORD, False),
    "magic 1": (batch(magic=1), ErrorCode.INVALID_RECORD, False),
    "magic 3": (batch(magic=3), ErrorCode.CORRUPT_MESSAGE, True),
    "base offset 5": (batch(base_offset=5), ErrorCode.INVALID_RECORD, False),
    "count 0": (batch(count=0), ErrorCode.INVALID_RECORD, False),
    "count mismatch": (batch(count=2), ErrorCode.INVALID_RECORD, False),
    "delta mismatch": (batch(last_offset_delta=1), ErrorCode.INVALID_RECORD, False),
    "control": (batch(attributes=0x20), ErrorCode.INVALID_RECORD, False),
    "producer without sequence": (numbered(-1), ErrorCode.INVALID_RECORD, False),
    "checksum": (batch(crc_added=1), ErrorCode.CORRUPT_MESSAGE, False),
    "codec 5": (batch(attributes=5), ErrorCode.UNKNOWN_SERVER_ERROR, False),
    "undecodable": (batch(payload=b"no gzip", attributes=1), ErrorCode.UNKNOWN_SERVER_ERROR, False),
    "tomorrow": (batch(base_timestamp=1_700_000_000_000 + 2 * HOUR_MS), ErrorCode.INVALID_TIMESTAMP, True),
    "too large": (batch(((b"k", bytes(1_100_000)),)), ErrorCode.MESSAGE_TOO_LARGE, False),
    "sequence gap": (numbered(3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, False),
    "old epoch": (numbered(2, epoch=-1), ErrorCode.INVALID_PRODUCER_EPOCH, False),
}
#: Refused before the log is looked at, so that the answer has no start of it.
WITHOUT_LOG_START = {
    "null", "empty", "short", "cut off", "two batches", "magic 1", "magic 3", "checksum", "too large",
}  # fmt: skip


class TestRecords:
    @pytest.mark.parametrize("version", [3, 7, 8, 9, 13])
    @pytest.mark.parametrize("case", BAD_RECORDS)
    def test_bad_ones_are_refused(self, case: str, version: int) -> None:
        """Nothing is appended, and the answer is Kafka's down to what it leaves out."""
        records, error, has_text = BAD_RECORDS[case]
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, numbered(0), numbered(1))
        topic.partitions[0].delete_records(1)
        answer = only(scene.ask(produce_request(topic, records), version).responses)
        without_start = case in WITHOUT_LOG_START or (case == "codec 5" and version < 7) or version < 5
        assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (error, -1, -1)
        assert answer.log_start_offset == (-1 if without_start else 1)
        assert (answer.error_message is not None) == (has_text and version >= 8)
        assert topic.partitions[0].log_end_offset == 2

    @pytest.mark.parametrize("version", VERSIONS)
    def test_zstd_needs_v7(self, version: int) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        answer = only(scene.ask(produce_request(topic, batch(attributes=4)), version).responses)
        # These bytes are no zstd, which is only found out where zstd is allowed.
        unsupported = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert answer.error_code == (unsupported if version < 7 else ErrorCode.UNKNOWN_SERVER_ERROR)

    def test_garbage_after_the_batch_is_dropped(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        assert only(scene.ask(produce_request(topic, GOOD + b"stray"), 9).responses).error_code == 0
        assert topic.partitions[0].read(0, 1 << 20).records[21:] == GOOD[21:]

    def test_records_at_fault_are_named(self) -> None:
        """By their number within the batch, with a text each and one for the whole."""
        scene = LogScene()
        topic = scene.create("orders", cleanup_policy="compact")
        keyless = batch(((None, b"1"), (b"k", b"2"), (None, b"3")))
        answer = only(scene.ask(produce_request(topic, keyless), 9).responses)
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [fault.batch_index for fault in answer.record_errors] == [0, 2]
        assert all(fault.batch_index_error_message for fault in answer.record_errors)
        assert answer.error_message

    def test_bytes_that_are_no_batch_refuse_the_whole_request(self) -> None:
        """Kafka first looks for transactional batches, and there it stumbles; behind a first batch it doesn't."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        for bad in (batch(magic=3), batch(length_added=-60)):
            answer = scene.ask(produce_request(topic, GOOD, bad), 9)
            assert error_codes(answer.responses) == [ErrorCode.CORRUPT_MESSAGE] * 2
            assert all(partition.error_message for partition in partitions_of(answer.responses))
            answer = scene.ask(produce_request(topic, GOOD, GOOD + bad), 9)
            assert error_codes(answer.responses) == [0, ErrorCode.CORRUPT_MESSAGE]
        assert topic.partitions[0].log_end_offset == 2


class TestTransactions:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_batch_needs_a_transactional_id(self, version: int) -> None:
        """Without, the request as a whole is not allowed: not even its plain batches, nor unknown partitions."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        answer = scene.ask(produce_request(topic, GOOD, transactional(), GOOD), version)
        assert error_codes(answer.responses) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 3
        assert all(partition.error_message is None for partition in partitions_of(answer.responses))
        assert topic.partitions[0].log_end_offset == 0

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
