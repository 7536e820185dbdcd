"""Messages of magic 0 and 1, as logs from before Kafka 0.11 hold them."""

from __future__ import annotations

import struct
import zlib
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.legacy_records import message_checksum_matches, read_message, read_messages
from ottla.protocol.record_reading import Record
from ottla.protocol.records import batch_spans
from tests.protocol.golden_batches import LEGACY, LEGACY_APPEND_TIME, RECORDS
from tests.protocol.record_strategies import REFUSALS, damaged, outcome, payloads

APPEND_TIME_MS: Final = 1_700_000_000_999


def message(
    value: bytes | None,
    *,
    key: bytes | None = None,
    offset: int = 0,
    magic: int = 1,
    attributes: int = 0,
    time: int = 5,
) -> bytes:
    """One message, with a right checksum."""
    sized = [struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data for data in (key, value)]
    checked = struct.pack(">bb", magic, attributes) + (struct.pack(">q", time) if magic else b"") + b"".join(sized)
    return struct.pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked


def read_all(data: bytes) -> list[Record]:
    return [record for span in batch_spans(data) for record in read_messages(data, span.position)]


@pytest.mark.parametrize(("magic", "codec"), LEGACY)
def test_kafkas_old_messages_are_read(magic: int, codec: CompressionType) -> None:
    """Plain and wrapped, relative and absolute offsets, even with the wrong lz4 header checksum of magic 0."""
    data = bytes.fromhex(LEGACY[magic, codec])
    assert {span.magic for span in batch_spans(data)} == {magic}
    assert all(message_checksum_matches(data, span.position) for span in batch_spans(data))
    assert read_all(data) == [
        Record(7 + record.offset, record.timestamp if magic else -1, record.key, record.value) for record in RECORDS
    ]


def test_wrapper_of_append_time_gives_its_timestamp_to_all() -> None:
    """The inner messages keep their own timestamps, and nobody sees them."""
    data = bytes.fromhex(LEGACY_APPEND_TIME)
    assert message_checksum_matches(data)
    assert [record.timestamp for record in read_all(data)] == [APPEND_TIME_MS] * 3


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY])
@pytest.mark.parametrize("magic", [0, 1])
@given(pairs=st.lists(st.tuples(payloads, payloads), min_size=1, max_size=4))
def test_messages_of_kafka_python_are_read(
    magic: int, codec: CompressionType, pairs: list[tuple[bytes | None, bytes | None]]
) -> None:
    """The client's old builder leaves the wrapper's offset 0, so the inner offsets count as they are."""
    builder = LegacyRecordBatchBuilder(magic, int(codec), 10**9)
    for index, (key, value) in enumerate(pairs):
        builder.append(index, 1_000 + index if magic else None, key, value)
    timestamps = [1_000 + index if magic else -1 for index in range(len(pairs))]
    assert read_all(bytes(builder.build())) == [
        Record(index, timestamps[index], key, value) for index, (key, value) in enumerate(pairs)
    ]


def test_header_of_a_message() -> None:
    """What a log needs to know, without a look into what is wrapped."""
    data = message(b"value", key=b"key", offset=9, attributes=0x08, time=77)
    seen = read_message(b"??" + data, 2)
    assert (seen.offset, seen.size_bytes, seen.magic, seen.timestamp) == (9, len(data), 1, 77)
    assert (seen.key, seen.value, seen.is_append_time) == (b"key", b"value", True)


def test_changed_byte_fails_the_checksum() -> None:
    """CRC-32 covers all from the magic on."""
    data = bytearray(message(b"value"))
    assert message_checksum_matches(data)
    data[-1] ^= 1
    assert not message_checksum_matches(data)


def test_wrapper_offset_is_the_last_messages() -> None:
    """With magic 1 the inner offsets are relative; a wrapper offset of 0 (old librdkafka) leaves them as they are."""
    inner = message(b"a", offset=0) + message(b"b", offset=2)
    for wrapper_offset, expected in ((12, [10, 12]), (2, [0, 2]), (0, [0, 2])):
        wrapper = message(compress(CompressionType.GZIP, inner), offset=wrapper_offset, attributes=1)
        assert [record.offset for record in read_all(wrapper)] == expected


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (message(None, attributes=1), ErrorCode.INVALID_RECORD),
        (message(compress(CompressionType.ZSTD, message(b"a")), attributes=4), ErrorCode.INVALID_RECORD),
        (message(compress(CompressionType.GZIP, b""), attributes=1), ErrorCode.INVALID_RECORD),
        (message(compress(CompressionType.GZIP, message(b"a")[:-1]), attributes=1), ErrorCode.INVALID_RECORD),
        (message(compress(CompressionType.GZIP, message(b"a", attributes=1)), attributes=1), ErrorCode.INVALID_RECORD),
        (
            message(compress(CompressionType.GZIP, message(b"a", offset=9)), offset=3, attributes=1),
            ErrorCode.INVALID_RECORD,
        ),
        (message(compress(CompressionType.GZIP, bytes(30)), attributes=1), ErrorCode.CORRUPT_MESSAGE),
        (message(b"no gzip", attributes=1), ErrorCode.UNKNOWN_SERVER_ERROR),
        (message(b"a", attributes=6), ErrorCode.UNKNOWN_SERVER_ERROR),
        (message(b"value")[:-9] + struct.pack(">i", 99) + b"value", ErrorCode.INVALID_RECORD),
    ],
    ids=[
        "null value",
        "zstd",
        "nothing inside",
        "half a message inside",
        "compressed twice",
        "offset below the last",
        "size 0 inside",
        "rubbish",
        "unknown codec",
        "value past the end",
    ],
)
def test_wrong_messages_are_refused(data: bytes, error: ErrorCode) -> None:
    """Kafka's answer where it has one."""
    with pytest.raises(BatchError) as caught:
        list(read_messages(data))
    assert caught.value.error is error


@given(st.sampled_from(sorted(LEGACY)), st.data())
def test_any_damage_ends_in_an_answer(which: tuple[int, CompressionType], data: st.DataObject) -> None:
    """Records or a `BatchError`, whatever was changed."""
    seen = outcome(read_all, data.draw(damaged(bytes.fromhex(LEGACY[which]))))
    assert isinstance(seen, list) or seen in REFUSALS | {ErrorCode.CORRUPT_MESSAGE}
