"""Record batches that lie or explode, produced to a running broker: Kafka's error, and the connection goes on.

Each rule is tested in tests/protocol/test_records_validation.py and tests/broker/handlers/test_produce.py; here it is
whether a broker that meets them all stays as it was.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.produce import ProduceRequest
from tests.cli.terminal import serving
from tests.pressure.random_requests import damaged
from tests.pressure.stage import create_topic, is_served, memory_mib, memory_mib_max
from tests.support.batches import batch, record, stored
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

MIB: Final = 1024 * 1024
#: Under max.message.bytes as it is sent.
BOMB_BYTES: Final = 300 * MIB
#: What glibc's malloc may keep for later of what it was given back: twice the largest block it takes for a common one,
#: of 32 MiB. A batch may unpack to 48 MiB, and twenty of them come, so one that were not given back would show.
KEPT_MIB_MAX: Final = 64

LIES: Final[dict[str, tuple[bytes, ErrorCode]]] = {
    "checksum": (batch(crc_added=1), ErrorCode.CORRUPT_MESSAGE),
    "old magic": (batch(magic=1), ErrorCode.INVALID_RECORD),
    "magic of the future": (batch(magic=3), ErrorCode.CORRUPT_MESSAGE),
    "length beyond the field": (batch(length_added=1), ErrorCode.INVALID_RECORD),
    "length of a header": (batch(length_added=-20), ErrorCode.CORRUPT_MESSAGE),
    "count too large": (batch(count=2, last_offset_delta=1), ErrorCode.INVALID_RECORD),
    "count of two billion": (batch(count=2**31 - 1, last_offset_delta=2**31 - 2), ErrorCode.INVALID_RECORD),
    "negative count": (batch(count=-1, last_offset_delta=-2), ErrorCode.INVALID_RECORD),
    "negative last offset": (batch(last_offset_delta=-1), ErrorCode.INVALID_RECORD),
    "record longer than the batch": (batch(payload=record(b"k", b"v", length_added=100)), ErrorCode.INVALID_RECORD),
    "no records": (b"", ErrorCode.INVALID_RECORD),
    "unknown codec": (batch(attributes=7), ErrorCode.UNKNOWN_SERVER_ERROR),
}


def produce(client: Client, records: bytes) -> int:
    """Send a batch; returns what its partition is answered with."""
    data = ProduceRequest.PartitionProduceData(0, records)
    topic = ProduceRequest.TopicProduceData("orders", partition_data=[data])
    answer = client.ask(ProduceRequest(None, -1, 10_000, [topic]), 9)
    error_code: int = answer.responses[0].partition_responses[0].error_code
    return error_code


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_with_kafkas_error(lie: str) -> None:
    """The next batch on the same connection is taken, and has the offset that was free."""
    records, error = LIES[lie]
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        create_topic(ana, "orders")
        assert produce(ana, records) == error
        assert produce(ana, batch()) == ErrorCode.NONE
        assert broker.look(lambda: broker.server.cluster.topics["orders"].partitions[0].log_end_offset) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_batches_of_every_codec(seed: int) -> None:
    """Whatever is hit, it is an error or a batch; nothing of ours fails. The seed is in the name of the test."""
    draw = Random(seed)
    payload = b"".join(record(b"key", b"value" * 10, offset_delta=index) for index in range(20))
    whole = [
        batch(payload=stored(codec, payload) if codec else payload, count=20, last_offset_delta=19, attributes=codec)
        for codec in CompressionType
    ]
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        create_topic(ana, "orders")
        for sent in whole:
            assert produce(ana, sent) == ErrorCode.NONE
        errors = {produce(ana, damaged(draw, draw.choice(whole))) for _ in range(1_000)}
        assert {ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD} <= errors
        assert not broker.failures


def of_zeros(codec: CompressionType) -> bytes:
    """300 MiB that are nearly nothing on the wire; snappy and lz4 are not so dense, and stop below the size limit."""
    if codec is CompressionType.GZIP:
        return gzip.compress(bytes(BOMB_BYTES), mtime=0)
    size = {CompressionType.SNAPPY: 20 * MIB, CompressionType.LZ4: 200 * MIB}.get(codec, BOMB_BYTES)
    return compress(codec, bytes(size))


def of_alike_records(codec: CompressionType) -> bytes:
    """Six million records; each would be looked at."""
    pair = record(None, None) + record(b"", None, offset_delta=1)
    return compress(codec, pair * (40 * MIB // len(pair)))


@pytest.mark.parametrize("explosive", [of_zeros, of_alike_records], ids=lambda make: make.__name__)
def test_bombs_cost_bounded_memory_which_returns(explosive: Callable[[CompressionType], bytes]) -> None:
    """Of every codec, again and again, with others served in between."""
    dense = {codec: explosive(codec) for codec in (CompressionType.GZIP, CompressionType.ZSTD)}
    if explosive is of_zeros:
        dense |= {codec: explosive(codec) for codec in (CompressionType.SNAPPY, CompressionType.LZ4)}
    with serving() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        create_topic(ana, "orders")
        assert produce(ana, batch()) == ErrorCode.NONE
        before_mib = memory_mib(broker.process.pid)
        for _ in range(3):
            for codec, payload in dense.items():
                bomb = batch(payload=payload, attributes=codec, count=13_000_000, last_offset_delta=12_999_999)
                small = batch(payload=payload, attributes=codec, count=1)
                assert len(bomb) < 1_048_588, codec
                assert produce(ana, bomb) == ErrorCode.MESSAGE_TOO_LARGE
                assert produce(ana, small) in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD)
                assert is_served(bo)
        assert memory_mib_max(broker.process.pid) - before_mib < 300
        assert memory_mib(broker.process.pid) - before_mib < KEPT_MIB_MAX
