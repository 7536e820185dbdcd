"""The bytes of a record batch from outside: its header, where batches begin and end, what a broker changes in them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.batch_error import BatchError
from ottla.protocol.crc32c import crc32c
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import read_records
from ottla.protocol.records import (
    BatchSpan,
    TimestampType,
    assign_timestamp,
    batch_spans,
    checksum_matches,
    increment_sequence,
    placed_head,
    read_header,
)
from tests.protocol.record_strategies import outcome
from tests.support.batches import TIMESTAMP, batch


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_crc32c_of_any_buffer_has_the_known_value(kind: type) -> None:
    """The check value of CRC-32C, and one of RFC 3720's examples: 32 bytes of zeros."""
    assert crc32c(kind(b"123456789")) == 0xE3069283
    assert crc32c(kind(bytes(32))) == 0x8A9136AA


def test_header_fields_are_where_kafka_has_them() -> None:
    """Every field comes out with the value it was put in, at any position, from any buffer."""
    data = batch(
        base_offset=2**40,
        leader_epoch=7,
        attributes=0x14,
        base_timestamp=TIMESTAMP,
        max_timestamp=TIMESTAMP + 9,
        producer_id=2**50,
        producer_epoch=3,
        base_sequence=11,
    )
    for header in (read_header(data), read_header(bytearray(b"xyz" + data), 3), read_header(memoryview(data))):
        assert header._asdict() == {
            "base_offset": 2**40,
            "batch_length": len(data) - 12,
            "partition_leader_epoch": 7,
            "magic": 2,
            "crc": crc32c(data[21:]),
            "attributes": 0x14,
            "last_offset_delta": 0,
            "base_timestamp": TIMESTAMP,
            "max_timestamp": TIMESTAMP + 9,
            "producer_id": 2**50,
            "producer_epoch": 3,
            "base_sequence": 11,
            "records_count": 1,
        }
        assert header.size_bytes == len(data)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (0x00, (0, TimestampType.CREATE_TIME, False, False, None)),
        (0x04, (4, TimestampType.CREATE_TIME, False, False, None)),
        (0x08, (0, TimestampType.LOG_APPEND_TIME, False, False, None)),
        (0x10, (0, TimestampType.CREATE_TIME, True, False, None)),
        (0x30, (0, TimestampType.CREATE_TIME, True, True, None)),
        (0x40, (0, TimestampType.CREATE_TIME, False, False, TIMESTAMP)),
        (-0x8000, (0, TimestampType.CREATE_TIME, False, False, None)),
    ],
)
def test_attributes_say_codec_clock_and_kind(attributes: int, expected: tuple[object, ...]) -> None:
    """Bits 0–2 are the codec, then timestamp type, transactional, control, delete horizon; others mean nothing."""
    header = read_header(batch(attributes=attributes))
    seen = (
        header.compression,
        header.timestamp_type,
        header.is_transactional,
        header.is_control,
        header.delete_horizon_ms,
    )
    assert seen == expected


def test_sequence_numbers_wrap_to_zero() -> None:
    """After 2147483647 comes 0; without a base_sequence there is no last one."""
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(5, 0) == 5
    ten = [(b"k", b"v")] * 10
    assert read_header(batch(ten, producer_id=1, base_sequence=2**31 - 5)).last_sequence == 4
    assert read_header(batch(ten)).last_sequence == -1


def test_header_cut_short_is_corrupt() -> None:
    """Fewer than 61 bytes are CORRUPT_MESSAGE."""
    with pytest.raises(BatchError, match="60 bytes are fewer than the 61") as caught:
        read_header(batch()[:60])
    assert caught.value.error is ErrorCode.CORRUPT_MESSAGE


def test_batches_are_found_one_after_the_other() -> None:
    """Three batches of different size are three spans; half a batch after them is no span and no error."""
    first, second, third = batch(), batch([(b"k", b"v" * 500)] * 3), batch(magic=1)
    data = first + second + third
    ends = [len(first), len(first) + len(second), len(data)]
    expected = [
        BatchSpan(0, len(first), 2),
        BatchSpan(ends[0], len(second), 2),
        BatchSpan(ends[1], len(third), 1),
    ]
    assert list(batch_spans(data)) == expected
    assert list(batch_spans(data + first[:-1])) == expected
    assert list(batch_spans(data, ends[0])) == expected[1:]
    assert list(batch_spans(data, 0, ends[1] - 1)) == expected[:1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack(">qi", 0, 13), "batch_length 13"),
        (struct.pack(">qi", 0, -1) + bytes(50), "batch_length -1"),
        (struct.pack(">qi", 0, -(2**31)), "batch_length -2147483648"),
        (struct.pack(">qiib", 0, 100, -1, 3), "magic 3"),
        (struct.pack(">qiib", 0, 100, -1, -1) + bytes(100), "magic -1"),
    ],
)
def test_impossible_size_or_magic_is_corrupt_even_in_half_a_batch(data: bytes, message: str) -> None:
    """A length below the smallest message's is refused once its 12 bytes are there, a magic above 2 with 17."""
    with pytest.raises(BatchError, match=message) as caught:
        list(batch_spans(data))
    assert caught.value.error is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("data", [b"", bytes(11), batch()[:16], struct.pack(">qiib", 0, 2**31 - 1, -1, 2) + bytes(500)])
def test_what_is_no_complete_batch_is_left_out(data: bytes) -> None:
    """Too few bytes to say anything, or a length that lies beyond the end: no batch, no error, no memory."""
    assert list(batch_spans(data)) == []


@given(st.binary(max_size=200), st.integers(-5, 250))
def test_spans_of_any_bytes_stay_within_them(data: bytes, end: int) -> None:
    """Whatever the bytes say, spans lie inside the buffer, one after the other, or the bytes are corrupt."""
    limit = min(end, len(data)) if end >= 0 else len(data)
    spans = outcome(lambda any_bytes: list(batch_spans(any_bytes, 0, limit)), data)
    if isinstance(spans, ErrorCode):
        assert spans is ErrorCode.CORRUPT_MESSAGE
    else:
        ends = [span.position + span.size_bytes for span in spans]
        assert [span.position for span in spans] == [0, *ends][: len(spans)]
        assert max(ends, default=0) <= limit


def test_place_in_the_log_is_set_without_touching_the_checksum() -> None:
    """base_offset and leader epoch lie outside the checksum; all else stays."""
    data = bytearray(batch([(b"a", b"1"), (b"b", b"2")]))
    before = read_header(data)
    data[:16] = placed_head(len(data), 1234, 5)
    after = read_header(data)
    assert after == before._replace(base_offset=1234, partition_leader_epoch=5)
    assert checksum_matches(data, after)
    assert [record.offset for record in read_records(data, after)] == [1234, 1235]


def test_broker_time_replaces_every_timestamp_and_renews_the_checksum() -> None:
    """With LogAppendTime all records read as of the batch's max_timestamp, whatever deltas they have."""
    data = bytearray(batch([(b"a", b"1"), (b"b", b"2")], timestamps=[TIMESTAMP, TIMESTAMP + 50], attributes=0x10))
    assign_timestamp(data, read_header(data), TimestampType.LOG_APPEND_TIME, TIMESTAMP + 999)
    header = read_header(data)
    assert (header.attributes, header.max_timestamp) == (0x18, TIMESTAMP + 999)
    assert checksum_matches(data, header)
    assert {record.timestamp for record in read_records(data, header)} == {TIMESTAMP + 999}


def test_same_timestamp_leaves_the_batch_untouched() -> None:
    """Nothing to change means nothing is written: unknown bits survive, and so would a wrong checksum."""
    data = bytearray(batch(attributes=0x0100, crc_added=1))
    before = bytes(data)
    assign_timestamp(data, read_header(data), TimestampType.CREATE_TIME, TIMESTAMP)
    assert data == before
    assign_timestamp(data, read_header(data), TimestampType.CREATE_TIME, TIMESTAMP + 1)
    assert read_header(data).attributes == 0


@given(st.data())
def test_any_changed_byte_under_the_checksum_is_noticed(data: st.DataObject) -> None:
    """From byte 21 on every byte counts."""
    good = batch([(b"key", b"value" * 20)] * 3)
    at = data.draw(st.integers(21, len(good) - 1))
    bad = bytearray(good)
    bad[at] ^= data.draw(st.integers(1, 255))
    assert checksum_matches(good, read_header(good))
    assert not checksum_matches(bad, read_header(bad))
