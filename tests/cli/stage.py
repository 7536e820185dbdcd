"""What the tests of `ottla topics` and `ottla groups` find in a broker: topics, records, groups. For one node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.protocol.consumer import write_assignment, write_subscription
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from tests.cli.terminal import until
from tests.support.batches import batch
from tests.support.client import Client

TRANSACTIONAL: Final = 0x10
#: In 2020.
LONG_AGO_MS: Final = 1_600_000_000_000


def create(client: Client, topic: str, partitions: int) -> None:
    """Make a topic."""
    request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(topic, partitions, 1)], 1000)
    assert client.ask(request, 5).topics[0].error_code == ErrorCode.NONE


def produce(client: Client, topic: str, partition: int, records: int) -> None:
    """Append so many records."""
    data = ProduceRequest.TopicProduceData(
        name=topic,
        partition_data=[ProduceRequest.PartitionProduceData(partition, batch([(None, b"v")] * records))],
    )
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])

    def produced() -> bool:  # a real Kafka needs a moment until a new topic has leaders
        answer = client.ask(request, 3)
        return bool(answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE)

    until(produced, f"{records} records are in {topic}-{partition}")


def find_coordinator(client: Client, group_id: str) -> FindCoordinatorResponse:
    """Where the group's coordinator is, once there is one."""
    found = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def is_found() -> bool:
        nonlocal found
        found = client.ask(FindCoordinatorRequest(group_id), 1)
        return bool(found.error_code == ErrorCode.NONE)

    until(is_found, f"{group_id} has a coordinator")
    return found


def begin_transaction(client: Client, transactional_id: str, topic: str) -> int:
    """Have a transaction with partition 0 of this topic open; returns the producer id."""
    given = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def is_given() -> bool:
        nonlocal given
        client.ask(FindCoordinatorRequest(transactional_id, 1), 1)
        given = client.ask(InitProducerIdRequest(transactional_id, 60_000), 4)
        return bool(given.error_code == ErrorCode.NONE)

    until(is_given, f"{transactional_id} has a producer id")
    added = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(topic, [0])
    who = transactional_id, given.producer_id, given.producer_epoch
    answer = client.ask(AddPartitionsToTxnRequest(None, *who, [added]), 3)
    assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == ErrorCode.NONE
    return given.producer_id


def join(client: Client, group_id: str, topic: str, partitions: list[int]) -> str:
    """Be the only member of a group and read these partitions; returns the member id."""
    find_coordinator(client, group_id)
    metadata = write_subscription(ConsumerProtocolSubscription([topic]), 1)
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", metadata)]
    request = JoinGroupRequest(group_id, 45_000, 60_000, "", None, "consumer", protocols)
    joined = JoinGroupResponse(error_code=ErrorCode.NOT_COORDINATOR)

    def has_joined() -> bool:  # a real Kafka's coordinator needs a moment until it is one
        nonlocal joined
        joined = client.ask(request, 3)
        return bool(joined.error_code == ErrorCode.NONE)

    until(has_joined, f"{group_id} is joined")
    read = ConsumerProtocolAssignment.TopicPartition(topic, partitions)
    assignment = write_assignment(ConsumerProtocolAssignment([read]), 1)
    assignments = [SyncGroupRequest.SyncGroupRequestAssignment(joined.member_id, assignment)]
    sync = SyncGroupRequest(group_id, joined.generation_id, joined.member_id, assignments=assignments)
    assert client.ask(sync, 3).error_code == ErrorCode.NONE
    return str(joined.member_id)


def commit(
    client: Client,
    group_id: str,
    topic: str,
    offsets: Mapping[int, int],
    *,
    member_id: str = "",
    generation_id: int = -1,
) -> None:
    """Commit offsets by partition; without a member, as consumers without a group do."""
    find_coordinator(client, group_id)
    committed = OffsetCommitRequest.OffsetCommitRequestTopic(
        name=topic,
        partitions=[
            OffsetCommitRequest.OffsetCommitRequestPartition(partition, committed_offset=offset)
            for partition, offset in offsets.items()
        ],
    )
    request = OffsetCommitRequest(group_id, generation_id, member_id, topics=[committed])

    def is_committed() -> bool:
        answer = client.ask(request, 7)
        return {partition.error_code for partition in answer.topics[0].partitions} == {ErrorCode.NONE}

    until(is_committed, f"{group_id} has committed")


def hang(client: Client, topic: str, partition: int, producer: tuple[int, int]) -> int:
    """Have a transaction open in a partition since long ago that nobody began; returns the offset where it starts.

    The broker has transaction.partition.verification.enable=false, as every Kafka had before 3.6.
    """
    producer_id, epoch = producer
    data = batch(
        [(None, b"v")], attributes=TRANSACTIONAL, producer_id=producer_id, producer_epoch=epoch, base_sequence=0,
        base_timestamp=LONG_AGO_MS,
    )  # fmt: skip
    written = ProduceRequest.PartitionProduceData(partition, data)
    topics = [ProduceRequest.TopicProduceData(topic, partition_data=[written])]
    answer = client.ask(ProduceRequest("hanging", -1, 1000, topics), 8).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NONE
    return int(answer.base_offset)
