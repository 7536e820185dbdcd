"""Requests that are long for their size: others are served meanwhile, and what they may cost has an end."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from ottla.broker.internal.log import InternalLog
from ottla.broker.network.holdings import Holdings
from ottla.coordinator.runtime.records import Record
from ottla.pacing import TEXT_BYTES_MAX, Pace
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import Message
from tests.pressure.stage import create_topic, ends, is_served
from tests.support.batches import batch, record
from tests.support.client import API, Client
from tests.support.running_broker import RunningBroker

MANY = 20_000


def suspend_everywhere(broker: RunningBroker) -> None:
    """From now on a task is suspended wherever it may be, however quick the machine."""
    suspend_now(broker.server.services.pace)


def suspend_now(pace: Pace) -> None:
    ticks = count()
    pace._now = lambda: float(next(ticks))


def halt(broker: RunningBroker) -> Callable[[], None]:
    """From now on a task is suspended at the first chance, and stays so until what this returns is called."""
    pace = broker.server.services.pace
    call_soon = pace._call_soon
    held: list[Callable[[], None]] = []

    def go_on() -> None:
        pace._call_soon = call_soon
        for task in held:
            task()

    def stop() -> None:
        pace._call_soon = held.append
        suspend_now(pace)

    broker.look(stop)
    return lambda: broker.look(go_on)


def metadata() -> Message:
    return MetadataRequest([MetadataRequest.MetadataRequestTopic(name=f"no-{number}") for number in range(MANY)], False)


def fetch() -> Message:
    partitions = [FetchRequest.FetchPartition(index) for index in range(MANY)]
    return FetchRequest(min_bytes=0, topics=[FetchRequest.FetchTopic("none", partitions=partitions)])


def list_offsets() -> Message:
    partitions = [ListOffsetsRequest.ListOffsetsPartition(index, timestamp=-1) for index in range(MANY)]
    return ListOffsetsRequest(-1, topics=[ListOffsetsRequest.ListOffsetsTopic("none", partitions)])


def produce() -> Message:
    partitions = [ProduceRequest.PartitionProduceData(index, b"") for index in range(MANY)]
    return ProduceRequest(None, -1, 1_000, [ProduceRequest.TopicProduceData("none", partition_data=partitions)])


def add_partitions() -> Message:
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("none", list(range(MANY)))]
    return AddPartitionsToTxnRequest(None, "tx", 7, 0, topics)


def commit_in_transaction() -> Message:
    partitions = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(index) for index in range(MANY)]
    topics = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("none", partitions=partitions)]
    return TxnOffsetCommitRequest("tx", "group", 7, 0, topics=topics)


def one_batch() -> Message:
    packed = compress(CompressionType.ZSTD, record(None, None) * 100_000)
    records = batch(payload=packed, attributes=4, count=100_000, last_offset_delta=99_999)
    data = ProduceRequest.PartitionProduceData(0, records)
    return ProduceRequest(None, -1, 1_000, [ProduceRequest.TopicProduceData("orders", partition_data=[data])])


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (metadata(), 8),
        (fetch(), 11),
        (list_offsets(), 5),
        (produce(), 8),
        (one_batch(), 8),
        (add_partitions(), 3),
        (commit_in_transaction(), 3),
    ],
    ids=["Metadata", "Fetch", "ListOffsets", "Produce", "one batch", "AddPartitionsToTxn", "TxnOffsetCommit"],
)
def test_others_are_served_in_between(request_: Message, version: int) -> None:
    """Bo asks after Ana and is answered before her."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        create_topic(bo, "orders")
        pace = broker.server.services.pace
        go_on = halt(broker)
        ana.send(request_, version)
        broker.wait_until("Ana's request is half done", lambda: not pace.is_settled)
        assert is_served(bo)
        assert broker.look(lambda: not pace.is_settled)
        assert not ana.connection.has_received
        go_on()
        ana.receive()


def test_who_hangs_up_before_it_is_done() -> None:
    """Nothing of ours fails, and nothing is left."""
    with RunningBroker() as broker, Client(broker.bootstrap) as bo:
        pace = broker.server.services.pace
        assert is_served(bo)
        broker.look(lambda: suspend_everywhere(broker))
        for way in (Client.close, lambda client: client.connection.reset(), lambda client: client.connection.end()):
            ana = Client(broker.bootstrap)
            ana.send(metadata(), 8)
            broker.wait_until("the request is half done", lambda: not pace.is_settled)
            way(ana)
            broker.wait_until("it is done", lambda: pace.is_settled)
            ana.close()
        assert is_served(bo)
        broker.wait_until("only Bo is connected", lambda: len(broker.connections) == 1)


@pytest.mark.parametrize(("topics", "partitions"), [(4, 30_000), (40_000, 1), (8_000, 12)])
def test_more_elements_than_a_request_may_have(topics: int, partitions: int) -> None:
    """However they are spread over its arrays, be those long or short."""
    name = struct.pack(">h", 1) + b"x"
    nested = name + struct.pack(">i", partitions) + struct.pack(">iiq", 0, -1, -1) * partitions
    body = struct.pack(">ib", -1, 0) + struct.pack(">i", topics) + nested * topics
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        ana.send_body(API["ListOffsets"], 5, body)
        assert ends(ana.connection)
        assert "elements" in broker.refusals[0]
        assert is_served(bo)


def test_more_tagged_fields_than_a_request_may_have() -> None:
    """Each topic has one that nobody knows."""
    topic = bytes(16) + b"\0" + b"\1\x7f\0"
    body = b"\xff\xff\3" + topic * 0xFFFE + b"\1\0\0"
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        ana.send_body(API["Metadata"], 12, body)
        assert ends(ana.connection)
        assert "elements" in broker.refusals[0]
        assert is_served(bo)


def metadata_of(name: str) -> Message:
    return MetadataRequest([MetadataRequest.MetadataRequestTopic(name=name)] * MANY_NAMES, False)


def delete_topics(name: str) -> Message:
    return DeleteTopicsRequest(topic_names=[name] * MANY_NAMES, timeout_ms=1_000)


def create_topics(value: str) -> Message:
    config = CreateTopicsRequest.CreatableTopicConfig("retention.ms", value)
    topic = CreateTopicsRequest.CreatableTopic("x", 1, 1, configs=[config])
    return CreateTopicsRequest([topic] * MANY_NAMES, 1_000)


#: Of 30,000 letters. With a letter that is not in Latin-1 each takes two bytes a letter.
MANY_NAMES = TEXT_BYTES_MAX // 50_000


@pytest.mark.parametrize(
    ("request_of", "version"),
    [(metadata_of, 8), (metadata_of, 9), (delete_topics, 3), (create_topics, 4)],
    ids=["texts of elements", "flexible", "texts alone", "texts of short arrays"],
)
@pytest.mark.parametrize(("letter", "is_too_much"), [("x", False), ("\N{EURO SIGN}", True)])
def test_texts_that_take_more_memory_than_they_may(
    request_of: Callable[[str], Message], version: int, letter: str, is_too_much: bool
) -> None:
    """They are some bytes longer, and take twice as much."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        ana.send(request_of("x" * 29_999 + letter), version)
        if is_too_much:
            assert ends(ana.connection)
            assert "its texts take more than" in broker.refusals[0]
        else:
            assert ana.connection.receive_frame()
        assert is_served(bo)


@pytest.mark.parametrize("groups", [1, 10_000])
def test_an_answer_of_more_bytes_than_it_may_have(groups: int) -> None:
    """Some offsets with 64 KB of metadata, asked for again and again."""
    partitions = [
        OffsetCommitRequest.OffsetCommitRequestPartition(index, 1, committed_metadata="x" * 4_000)
        for index in range(16)
    ]
    commit = OffsetCommitRequest(
        "g", topics=[OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=partitions)]
    )
    fetch_all = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup("g", topics=None)] * groups)
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        create_topic(bo, "orders", partitions=16)
        bo.ask(FindCoordinatorRequest("g", 0), 2)
        bo.ask(commit, 7)
        if groups == 1:
            assert len(ana.ask(fetch_all, 8).groups[0].topics[0].partitions) == 16
        else:
            ana.send(fetch_all, 8)
            assert ends(ana.connection)
            assert "bytes" in broker.refusals[0]
        assert is_served(bo)


def test_batches_of_one_request_share_what_may_be_unpacked() -> None:
    """A million records in all, be they in one batch or in many; what is within is taken."""
    packed = compress(CompressionType.ZSTD, b"".join(record(None, None, offset_delta=n) for n in range(400_000)))
    records = batch(payload=packed, attributes=4, count=400_000, last_offset_delta=399_999)
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        create_topic(ana, "orders", partitions=4)
        partitions = [ProduceRequest.PartitionProduceData(index, records) for index in range(4)]
        topic = ProduceRequest.TopicProduceData("orders", partition_data=partitions)
        for _ in range(2):
            answer = ana.ask(ProduceRequest(None, -1, 1_000, [topic]), 8).responses[0].partition_responses
            refused = ErrorCode.MESSAGE_TOO_LARGE
            assert [partition.error_code for partition in answer] == [0, 0, refused, refused]


def test_frames_half_sent_by_many() -> None:
    """The one with most of them is closed, and says why; the others go on."""
    with RunningBroker() as broker, Client(broker.bootstrap) as bo:
        receiving = Holdings("a request it has not sent whole", 5_000_000)
        broker.server.sockets.listeners[0].receiving = receiving
        clients = [Client(broker.bootstrap) for _ in range(3)]
        for client, size in zip(clients, (3_000_000, 1_000_000, 1_000_000), strict=True):
            client.connection.send(struct.pack(">i", size) + bytes(size - 1))
        broker.wait_until("somebody had to go", lambda: len(broker.connections) == 3 or None)
        assert ends(clients[0].connection)
        assert "has not sent whole" in broker.refusals[0]
        assert is_served(bo)
        for client in clients:
            client.close()
        broker.wait_until("nothing is held", lambda: receiving.bytes_held == 0)


def test_answers_that_many_do_not_read() -> None:
    """The one who has most of them is closed."""
    topics = [MetadataRequest.MetadataRequestTopic(name=f"no-{number:0200}") for number in range(MANY)]
    request = MetadataRequest(topics, False)
    with RunningBroker() as broker, Client(broker.bootstrap) as bo:
        unread = Holdings("answers it does not read", 6_000_000)
        broker.server.sockets.listeners[0].unread = unread
        clients = [Client(broker.bootstrap) for _ in range(2)]
        for client in clients:
            client.send(request, 8)
        broker.wait_until("somebody had to go", lambda: broker.refusals)
        assert "does not read" in broker.refusals[0]
        assert is_served(bo)
        for client in clients:
            client.close()
        broker.wait_until("nothing is held", lambda: unread.bytes_held == 0)


WIDE = 100


def create_wide(name: str) -> Message:
    return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, WIDE, 1)], 30_000)


def test_a_topic_that_is_being_made() -> None:
    """Nobody sees half of it, nobody gets its name or one like it, and in the end it is whole."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        cluster = broker.server.cluster
        go_on = halt(broker)
        ana.send(create_wide("wide.one"), 7)
        broker.wait_until("it is half made", lambda: cluster.is_taken("wide.one"))
        assert not broker.look(lambda: cluster.topics)
        for name, error in (
            ("wide.one", ErrorCode.TOPIC_ALREADY_EXISTS),
            ("wide_one", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ):
            assert bo.ask(create_wide(name), 7).topics[0].error_code == error
        assert not ana.connection.has_received
        go_on()
        assert ana.receive().message.topics[0].error_code == ErrorCode.NONE
        assert len(broker.look(lambda: cluster.topics["wide.one"].partitions)) == WIDE


def test_a_topic_that_is_being_deleted(tmp_path: Path) -> None:
    """It is gone for everybody at once, and its name is free when its logs have left the disk."""
    with (
        RunningBroker(data_dir=tmp_path) as broker,
        Client(broker.bootstrap) as ana,
        Client(broker.bootstrap) as bo,
    ):
        cluster = broker.server.cluster
        create_topic(bo, "wide", partitions=WIDE)
        go_on = halt(broker)
        ana.send(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=30_000), 3)
        broker.wait_until("it is half deleted", lambda: not cluster.topics)
        assert bo.ask(create_wide("wide"), 7).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert not ana.connection.has_received
        go_on()
        assert ana.receive().message.responses[0].error_code == ErrorCode.NONE
        assert bo.ask(create_wide("wide"), 7).topics[0].error_code == ErrorCode.NONE


def test_a_topic_that_is_deleted_while_it_grows() -> None:
    """It does not come back, whoever wanted more of it is told, and its name is free."""
    more = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic("wide", WIDE, None)], 30_000)
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        create_topic(bo, "wide")
        go_on = halt(broker)
        ana.send(more, 1)
        broker.wait_until("it is growing", lambda: broker.server.cluster._growing)
        assert bo.ask(more, 1).results[0].error_code == ErrorCode.INVALID_PARTITIONS
        assert bo.ask(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=30_000), 3).responses[0].error_code == 0
        assert not ana.connection.has_received
        go_on()
        assert ana.receive().message.results[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        create_topic(bo, "wide")


@pytest.mark.parametrize(("partitions", "error"), [(5_000, ErrorCode.NONE), (MANY, ErrorCode.UNKNOWN_SERVER_ERROR)])
def test_a_commit_larger_than_the_group_log_takes(
    partitions: int, error: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before anything is made of it; what fits is written."""
    asked: list[int] = []
    append = InternalLog.append

    def counted(log: InternalLog, partition: int, records: Sequence[Record]) -> ErrorCode:
        asked.append(len(records))
        return append(log, partition, records)

    monkeypatch.setattr(InternalLog, "append", counted)
    listed = [OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)] * partitions
    topic = OffsetCommitRequest.OffsetCommitRequestTopic("a-topic-of-some-length", partitions=listed)
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        create_topic(ana, "a-topic-of-some-length")
        assert ana.ask(FindCoordinatorRequest("group", 0), 2).error_code == ErrorCode.NONE
        answer = ana.ask(OffsetCommitRequest("group", topics=[topic]), 7).topics[0].partitions
        assert {one.error_code for one in answer} == {error}
        assert len(answer) == partitions
        assert asked == ([partitions] if error is ErrorCode.NONE else [])
