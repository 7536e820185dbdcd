"""A client that asks for much and reads little."""

from __future__ import annotations

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from tests.support.batches import batch
from tests.support.client import Client


def fill_with_unread_answers(client: Client, bytes_count: int) -> None:
    """Have the broker send so much that it waits for the client, who reads only how it begins."""
    topic = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("big", 1, 1)], 1000)
    assert client.ask(topic, 5).topics[0].error_code == ErrorCode.NONE
    records = batch([(None, bytes(1_000_000))])
    data = ProduceRequest.TopicProduceData(name="big", partition_data=[ProduceRequest.PartitionProduceData(0, records)])
    for _ in range(bytes_count // len(records)):
        produced = client.ask(ProduceRequest(None, -1, 1000, [data]), 3)
        assert produced.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    partition = FetchRequest.FetchPartition(0, fetch_offset=0, partition_max_bytes=bytes_count)
    fetch = FetchRequest(max_bytes=bytes_count, topics=[FetchRequest.FetchTopic("big", partitions=[partition])])
    client.send(fetch, 4)
    client.connection.until_answered()
