"""Kafka's own log cleaner and ours, given the same batches, leave the same batches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.records import BatchHeader, batch_spans, read_header
from ottla.testing import Broker
from tests.support.client import Client
from tests.support.kafka_process import kafka, missing_tools
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))

SETTINGS: Final = {"log.cleaner.backoff.ms": "100"}
#: Each batch is dated ten seconds after the one before, and so begins a segment.
CONFIGS: Final = {"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"}
STEP_MS: Final = 10_000


def records(text: str, timestamp_ms: int) -> list[Record]:
    """`a=1 b=` is a record and a tombstone; a word with `!` has a header."""
    made = []
    for number, pair in enumerate(text.split()):
        key, value = pair.rstrip("!").split("=")
        headers = (("h", b"1"), ("none", None)) if pair.endswith("!") else ()
        made.append(Record(number, timestamp_ms + number, key.encode(), value.encode() or None, headers))
    return made


def batches(begin_ms: int, producer_id: int) -> list[bytes]:
    """What is written: every codec, tombstones, a producer with numbers, batches that lose all or a part."""
    texts: list[tuple[str, dict[str, Any]]] = [
        ("a=1 b=1 c=1 d=1!", {}),
        *((f"a=2 {codec.name.lower()}=1! b=2", {"compression": codec}) for codec in CompressionType),
        ("p=1 q=1", {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}),
        ("p=2", {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 2}),
        ("c= d=2 e=1", {}),
        ("e= f= ", {"compression": CompressionType.GZIP}),
        ("p=3 e=2 a=3", {}),
        ("f=2", {}),
        ("z=1", {}),
    ]
    return [
        build_batch_of(records(text, begin_ms + number * STEP_MS), base_offset=0, **fields)
        for number, (text, fields) in enumerate(texts)
    ]


def write(client: Client, begin_ms: int) -> None:
    """Make the topic and produce to it."""
    configs = [CreateTopicsRequest.CreatableTopicConfig(name, value) for name, value in CONFIGS.items()]
    topic = CreateTopicsRequest.CreatableTopic("prices", 1, 1, configs=configs)
    assert client.ask(CreateTopicsRequest([topic], 10_000), 5).topics[0].error_code == ErrorCode.NONE
    producer_id = insist(lambda: client.ask(InitProducerIdRequest(None, 60_000), 1)).producer_id
    for data in batches(begin_ms, producer_id):
        partition = ProduceRequest.PartitionProduceData(0, data)
        topic_data = ProduceRequest.TopicProduceData("prices", partition_data=[partition])
        request = ProduceRequest(None, -1, 10_000, [topic_data])
        insist(lambda request=request: client.ask(request, 9).responses[0].partition_responses[0])  # type: ignore[misc]


def insist(ask: Callable[[], Any]) -> Any:
    """Ask until there is no error any more: a broker that has just started needs a moment."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (answer := ask()).error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline, answer
    return answer


def read(client: Client) -> list[tuple[BatchHeader, list[Record]]]:
    """All batches of the topic, without what differs by the moment: checksum, horizon, producer id."""
    found: list[tuple[BatchHeader, list[Record]]] = []
    offset = 0
    while True:
        partition = FetchRequest.FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)
        request = FetchRequest(max_bytes=1 << 20, topics=[FetchRequest.FetchTopic("prices", partitions=[partition])])
        data = client.ask(request, 12).responses[0].partitions[0].records
        spans = list(batch_spans(data or b""))
        if not spans:
            return found
        for position, size, _ in spans:
            batch = bytes(data[position : position + size])
            header = read_header(batch)
            offset = header.last_offset + 1
            kept = list(read_records(batch, header))
            if header.delete_horizon_ms is not None:
                header = header._replace(base_timestamp=-7)
            # Other versions of a codec pack the same bytes a little differently.
            found.append((header._replace(crc=0, batch_length=0, producer_id=min(header.producer_id, 0)), kept))


def test_kafkas_cleaner_leaves_the_same() -> None:
    """Headers and records, batch by batch; the horizon of tombstones is set in the same batches."""
    begin_ms = int(time.time() * 1000) - 600_000
    with (
        Broker(settings=SETTINGS) as broker,
        kafka(SETTINGS) as theirs,
        Client(broker.bootstrap_servers) as our_client,
        Client(theirs.bootstrap) as their_client,
    ):
        for client in (our_client, their_client):
            write(client, begin_ms)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (ours := read(our_client)) != (kafkas := read(their_client)):
            if time.monotonic() > deadline:
                assert ours == kafkas
            time.sleep(0.1)
        assert sum(len(kept) for _, kept in ours) < 20, "they were cleaned"
        assert any(header.records_count == 0 for header, _ in ours)
        assert any(header.delete_horizon_ms is not None for header, _ in ours)
