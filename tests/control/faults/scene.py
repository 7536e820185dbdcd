"""A broker and clients that speak in messages, for tests of faults: what is asked, in short words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.control.faults.engine import Faults
from ottla.control.faults.fault import Fault
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


def faults_of(broker: RunningBroker) -> Faults:
    """The engine, made in the broker's thread."""
    return broker.look(lambda: broker.controlled.faults)


def fault(broker: RunningBroker, **wish: Any) -> Fault:
    """Set a fault."""
    return broker.look(lambda: broker.controlled.faults.set(wish))


def hold(broker: RunningBroker, **wish: Any) -> Fault:
    """Hold requests."""
    return broker.look(lambda: broker.controlled.faults.hold(wish))


def create(client: Client, *names: str, partitions: int = 2) -> None:
    """Make topics."""
    topics = [CreateTopicsRequest.CreatableTopic(name, partitions, 1) for name in names]
    client.ask(CreateTopicsRequest(topics, timeout_ms=1000), 5)


def produce_request(*places: tuple[str, int], acks: int = -1) -> ProduceRequest:
    """One record to each of these partitions."""
    topics: dict[str, list[ProduceRequest.PartitionProduceData]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(ProduceRequest.PartitionProduceData(index, batch()))
    data = [ProduceRequest.TopicProduceData(name=name, partition_data=listed) for name, listed in topics.items()]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=data)


def produce(client: Client, *places: tuple[str, int], version: int = 7) -> Mapping[tuple[str, int], tuple[int, int]]:
    """(error, offset) of each partition."""
    answer = client.ask(produce_request(*places), version)
    return {
        (topic.name, told.index): (told.error_code, told.base_offset)
        for topic in answer.responses
        for told in topic.partition_responses
    }


def fetch_request(*places: tuple[str, int], max_wait_ms: int = 0, **session: Any) -> FetchRequest:
    """From the beginning of each of these partitions."""
    topics: dict[str, list[FetchRequest.FetchPartition]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(FetchRequest.FetchPartition(index, partition_max_bytes=1 << 20))
    listed = [FetchRequest.FetchTopic(name, partitions=partitions) for name, partitions in topics.items()]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, topics=listed, **session)


def fetched(answer: Any) -> Mapping[tuple[str, int], tuple[int, bool]]:
    """(error, whether there are records) of each partition in an answer."""
    return {
        (topic.topic, told.partition_index): (told.error_code, bool(told.records))
        for topic in answer.responses
        for told in topic.partitions
    }


def metadata_request(*names: str) -> MetadataRequest:
    """About these topics."""
    return MetadataRequest([MetadataRequest.MetadataRequestTopic(name=name) for name in names])


def find(client: Client, group_id: str = "g") -> int:
    """The node that is named as coordinator."""
    node_id: int = client.ask(FindCoordinatorRequest(group_id), 1).node_id
    return node_id


def heartbeat(group_id: str = "g", member_id: str = "bo") -> HeartbeatRequest:
    """Of somebody whom nobody knows."""
    return HeartbeatRequest(group_id, 1, member_id)


def commit_request(group_id: str, topic: str, offsets: Mapping[int, int]) -> OffsetCommitRequest:
    """From somebody who is no member."""
    partitions = [OffsetCommitRequest.OffsetCommitRequestPartition(index, at) for index, at in offsets.items()]
    return OffsetCommitRequest(
        group_id, topics=[OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=partitions)]
    )


def commit(client: Client, group_id: str, topic: str, offsets: Mapping[int, int]) -> Mapping[int, int]:
    """The error of each partition."""
    answer = client.ask(commit_request(group_id, topic, offsets), 7)
    return {told.partition_index: told.error_code for told in answer.topics[0].partitions}


def committed(client: Client, group_id: str, topic: str, index: int) -> int:
    """What is committed, or -1."""
    asked = OffsetFetchRequest(group_id, [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [index])])
    offset: int = client.ask(asked, 5).topics[0].partitions[0].committed_offset
    return offset
