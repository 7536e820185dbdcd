"""Stories F1 to F3: a consumer that does by hand what clients do inside.

It knows one address of a cluster: one of two nodes, or what `OTTLA_BOOTSTRAP` names. Whom to ask, from where to read,
and what to do when it asked the wrong node, it learns from the answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.testing.broker import Broker
from tests.clients.conftest import unique_name
from tests.support.backstage import Backstage
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.fetched import records_in

LATEST, EARLIEST = -1, -2
NODES = 2


class LowLevelConsumer:
    """Reads one partition, starting from any node's address."""

    def __init__(self, seed: str, topic: str, index: int) -> None:
        self._seed = seed
        self._topic = topic
        self._index = index
        self._clients: dict[str, Client] = {}

    def client(self, address: str) -> Client:
        if address not in self._clients:
            self._clients[address] = Client(address)
        return self._clients[address]

    def find_leader(self) -> str:
        """The address of the node that leads the partition, by the metadata of the seed node."""
        request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=self._topic)])
        metadata = self.client(self._seed).ask(request, 12)
        addresses = {node.node_id: f"{node.host}:{node.port}" for node in metadata.brokers}
        partitions = {partition.partition_index: partition for partition in metadata.topics[0].partitions}
        return addresses[partitions[self._index].leader_id]

    def has_leader(self) -> bool:
        """Whether its partition, a new one, is served yet."""
        request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=self._topic)])
        (topic,) = self.client(self._seed).ask(request, 12).topics
        if any(part.error_code for part in (topic, *topic.partitions)):
            return False
        return bool(self.list_offset(self.find_leader(), EARLIEST).error_code == 0)

    def list_offset(self, address: str, timestamp: int, version: int = 7) -> Any:
        asked = ListOffsetsRequest.ListOffsetsPartition(self._index, timestamp=timestamp)
        request = ListOffsetsRequest(-1, topics=[ListOffsetsRequest.ListOffsetsTopic(self._topic, [asked])])
        return self.client(address).ask(request, version).topics[0].partitions[0]

    def fetch(self, address: str, offset: int, version: int = 12, *, bytes_max: int = 1000) -> tuple[Any, Any]:
        """(whole answer, the partition in it)"""
        asked = FetchRequest.FetchPartition(self._index, fetch_offset=offset, partition_max_bytes=bytes_max)
        topic = FetchRequest.FetchTopic(self._topic, partitions=[asked])
        if version >= 13:
            request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=self._topic)])
            topic.topic_id = self.client(self._seed).ask(request, 12).topics[0].topic_id
        answer = self.client(address).ask(
            FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=bytes_max, topics=[topic]), version
        )
        return answer, answer.responses[0].partitions[0]

    def read(self, address: str, offset: int, count: int) -> list[tuple[int, bytes | None]]:
        """`count` messages as (offset, value), each fetch going on behind the last one."""
        messages: list[tuple[int, bytes | None]] = []
        while len(messages) < count:
            _, partition = self.fetch(address, offset)
            assert partition.error_code == 0
            records = records_in(partition.records)
            messages += [(record.offset, record.value) for record in records if record.offset >= offset]
            offset = messages[-1][0] + 1 if messages else offset
        return messages[:count]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    """Of the nodes."""
    given = os.environ.get("OTTLA_BOOTSTRAP")
    if given:
        yield given.split(",")
        return
    with Broker(nodes=NODES) as running:
        yield running.bootstrap_servers.split(",")


@pytest.fixture(params=[0, -1], ids=["first seed", "last seed"])
def consumer(addresses: list[str], request: pytest.FixtureRequest) -> Iterator[LowLevelConsumer]:
    """Of a new topic's partition 1, into which ten messages were written, in batches of three or less."""
    topic = unique_name("topic")
    made = LowLevelConsumer(addresses[request.param], topic, 1)
    new = CreateTopicsRequest.CreatableTopic(topic, num_partitions=2, replication_factor=1)
    assert made.client(addresses[0]).ask(CreateTopicsRequest([new], 10_000), 7).topics[0].error_code == 0
    with Backstage(addresses[0]) as backstage:
        backstage.until(made.has_leader, f"{topic} is led")
    leader = made.find_leader()
    values = [b"%d" % number for number in range(10)]
    for start in range(0, 10, 3):
        write(made.client(leader), topic, values[start : start + 3])
    yield made
    made.close()


def write(client: Client, topic: str, values: list[bytes]) -> None:
    data = batch([(None, value) for value in values])
    partition = ProduceRequest.PartitionProduceData(1, data)
    request = ProduceRequest(None, -1, 1000, [ProduceRequest.TopicProduceData(topic, partition_data=[partition])])
    assert client.ask(request, 9).responses[0].partition_responses[0].error_code == 0


def test_story_f1_from_any_seed_to_the_last_message(consumer: LowLevelConsumer) -> None:
    """Metadata names the leader, ListOffsets the start, each fetch goes on behind the last: no gap, no repeat."""
    leader = consumer.find_leader()
    start = consumer.list_offset(leader, EARLIEST).offset
    assert consumer.read(leader, start, 10) == [(number, b"%d" % number) for number in range(10)]
    assert consumer.read(leader, 4, 3) == [(4, b"4"), (5, b"5"), (6, b"6")]


def test_story_f2_beyond_the_end_and_back(consumer: LowLevelConsumer) -> None:
    """The end is 10: a fetch from 20 gets OFFSET_OUT_OF_RANGE and no records; from the latest offset it goes on."""
    leader = consumer.find_leader()
    _, beyond = consumer.fetch(leader, 20)
    assert (beyond.error_code, bytes(beyond.records)) == (ErrorCode.OFFSET_OUT_OF_RANGE, b"")
    latest = consumer.list_offset(leader, LATEST)
    assert (latest.error_code, latest.offset) == (0, 10)
    _, at_end = consumer.fetch(leader, 10)
    assert (at_end.error_code, bytes(at_end.records), at_end.high_watermark) == (0, b"", 10)
    write(consumer.client(leader), consumer._topic, [b"ten"])
    assert consumer.read(leader, 10, 1) == [(10, b"ten")]


@pytest.mark.own_broker(nodes=NODES)
def test_story_f3_the_wrong_node(addresses: list[str], consumer: LowLevelConsumer) -> None:
    """NOT_LEADER_OR_FOLLOWER, in every version; Fetch v16 names the node to ask, and there the records are."""
    leader = consumer.find_leader()
    (other,) = set(addresses) - {leader}
    for version in range(1, 12):
        answer = consumer.list_offset(other, EARLIEST, version)
        assert (answer.error_code, answer.offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    for version in range(4, 19):
        answer, partition = consumer.fetch(other, 0, version)
        assert (partition.error_code, bytes(partition.records)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")
        if version >= 16:
            (node,) = answer.node_endpoints
            assert partition.current_leader.leader_id == node.node_id
            assert consumer.read(f"{node.host}:{node.port}", 0, 10)[-1] == (9, b"9")
        else:
            assert answer.node_endpoints == []
