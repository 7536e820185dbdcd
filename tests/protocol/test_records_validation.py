"""What a producer may append, rule by rule, and what the log then keeps."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import read_records
from ottla.protocol.record_validation import AppendRules, PreparedBatch, only_batch, prepare_append
from ottla.protocol.records import TimestampType, checksum_matches, read_header
from tests.support.batches import KeyValue, batch, place, record

NOW_MS = 1_700_000_100_000
HOUR_MS = 3_600_000
GZIP, ZSTD = CompressionType.GZIP, CompressionType.ZSTD


def append(data: bytes, **rules: Any) -> PreparedBatch:
    header, only = only_batch(data, 9)
    prepared = prepare_append(only, header, AppendRules(**rules), now_ms=NOW_MS)
    place(prepared.data, 100, 3)
    return prepared


def refusal(data: bytes, **rules: Any) -> BatchError:
    with pytest.raises(BatchError) as caught:
        append(data, **rules)
    return caught.value


def kept(prepared: PreparedBatch) -> list[tuple[int, int, bytes | None]]:
    header = read_header(prepared.data)
    assert checksum_matches(prepared.data, header)
    return [(record.offset, record.timestamp, record.value) for record in read_records(prepared.data, header)]


def packed(codec: CompressionType, *records: bytes, **fields: Any) -> bytes:
    """A batch whose encoded records are compressed."""
    count = len(records)
    payload = compress(codec, b"".join(records))
    return batch(payload=payload, count=count, last_offset_delta=count - 1, attributes=codec, **fields)


def at(*ages_ms: int, **fields: Any) -> bytes:
    """A batch of records of these ages."""
    times = [NOW_MS - age_ms for age_ms in ages_ms]
    records: list[KeyValue] = [(b"k", b"v")] * len(times)
    return batch(records, timestamps=times, base_timestamp=times[0], **fields)


def test_good_batch_gets_its_place_and_nothing_else_changes() -> None:
    """base_offset and leader epoch are set; bytes, checksum and what the producer holds stay."""
    sent = at(50, 10, 30)
    prepared = append(sent)
    assert (prepared.max_timestamp, prepared.last_offset_delta) == (NOW_MS - 10, 2)
    assert kept(prepared) == [(100, NOW_MS - 50, b"v"), (101, NOW_MS - 10, b"v"), (102, NOW_MS - 30, b"v")]
    assert read_header(prepared.data).partition_leader_epoch == 3
    assert bytes(prepared.data)[16:] == sent[16:]
    assert read_header(sent).base_offset == 0


def test_wrong_max_timestamp_is_put_right() -> None:
    """The header's claim is not trusted: the newest record's timestamp goes in, with a new checksum."""
    for claimed in (-1, 0, NOW_MS * 2):
        prepared = append(at(50, 10, 30, max_timestamp=claimed))
        assert prepared.max_timestamp == read_header(prepared.data).max_timestamp == NOW_MS - 10
        assert len(kept(prepared)) == 3


def test_append_time_topic_stamps_the_batch() -> None:
    """All records read as of now, whatever age the producer gave them."""
    prepared = append(at(10**9, -(10**9)), message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert prepared.max_timestamp == NOW_MS
    assert kept(prepared) == [(100, NOW_MS, b"v"), (101, NOW_MS, b"v")]


def test_records_without_timestamp_are_exempt() -> None:
    """-1 means none, which no range refuses; the newest of none is -1."""
    sent = batch([(b"k", b"v")] * 2, base_timestamp=-1)
    assert append(sent, message_timestamp_before_max_ms=1_000).max_timestamp == -1


@pytest.mark.parametrize("codec", [None, GZIP])
@pytest.mark.parametrize(
    ("ages_ms", "refused"),
    [
        ((0, HOUR_MS * 24, -HOUR_MS), []),
        ((0, HOUR_MS * 24 + 1), [1]),
        ((-HOUR_MS - 1, 0, -HOUR_MS), [0]),
        ((HOUR_MS * 48, 0, -HOUR_MS * 2), [0, 2]),
        ((NOW_MS + 2**62,), [0]),
    ],
)
def test_timestamps_must_lie_in_the_topics_range(
    ages_ms: tuple[int, ...], refused: list[int], codec: CompressionType | None
) -> None:
    """The edges are inside. Every record outside is named, and the batch is refused with INVALID_TIMESTAMP."""
    sent = at(*ages_ms)
    rules = {"message_timestamp_before_max_ms": HOUR_MS * 24, "compression": codec}
    if not refused:
        assert len(kept(append(sent, **rules))) == len(ages_ms)
        return
    error = refusal(sent, **rules)
    assert error.error is ErrorCode.INVALID_TIMESTAMP
    assert [fault.batch_index for fault in error.faults] == refused
    assert "outside [1699913700000, 1700003700000]" in error.faults[0].message


@pytest.mark.parametrize("codec", [None, GZIP])
def test_compacted_topic_wants_keys(codec: CompressionType | None) -> None:
    """Every record without a key is named; an empty key is one."""
    sent = batch([(b"", b"v"), (None, b"v"), (b"k", None), (None, None)], base_timestamp=NOW_MS)
    assert len(kept(append(sent, compression=codec))) == 4
    error = refusal(sent, is_compacted=True, compression=codec)
    assert error.error is ErrorCode.INVALID_RECORD
    assert [fault.batch_index for fault in error.faults] == [1, 3]
    assert "without a key" in error.faults[0].message


def test_one_wrong_timestamp_decides_the_code() -> None:
    """A record without key is not asked for its time; a batch with both faults answers INVALID_TIMESTAMP."""
    late = NOW_MS + 2 * HOUR_MS
    sent = batch([(None, b"v"), (b"k", b"v")], timestamps=[late, late], base_timestamp=late)
    error = refusal(sent, is_compacted=True)
    assert error.error is ErrorCode.INVALID_TIMESTAMP
    assert ["key" in fault.message for fault in error.faults] == [True, False]


def test_producer_may_not_claim_append_time() -> None:
    """On a LogAppendTime topic the producer's timestamp type is refused; on a CreateTime topic it is undone."""
    claimed = at(50, attributes=0x08, max_timestamp=NOW_MS - 7)
    error = refusal(claimed, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert (error.error, len(error.faults)) == (ErrorCode.INVALID_TIMESTAMP, 1)
    prepared = append(claimed)
    assert prepared.max_timestamp == NOW_MS - 7
    assert read_header(prepared.data).timestamp_type is TimestampType.CREATE_TIME
    without_time = at(50, attributes=0x08, max_timestamp=-1)
    assert refusal(without_time).error is ErrorCode.INVALID_TIMESTAMP


#: What is wrong with a batch as a whole → Kafka's answer.
FAULTS: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "base_offset": ({"base_offset": 1}, ErrorCode.INVALID_RECORD),
    "checksum": ({"crc_added": 1}, ErrorCode.CORRUPT_MESSAGE),
    "unknown codec": ({"attributes": 0x20 | 5}, ErrorCode.UNKNOWN_SERVER_ERROR),
    "control": ({"attributes": 0x20}, ErrorCode.INVALID_RECORD),
    "no sequence": ({"producer_id": 5, "producer_epoch": 0}, ErrorCode.INVALID_RECORD),
    "too few records": ({"count": 3, "last_offset_delta": 2}, ErrorCode.INVALID_RECORD),
    "no records": ({"count": 0, "last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
    "count and delta": ({"count": 2}, ErrorCode.INVALID_RECORD),
    "delta wraps": ({"count": 2, "last_offset_delta": -(2**31)}, ErrorCode.INVALID_RECORD),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_batches_are_refused_as_a_whole(fault: str) -> None:
    """Structural faults name no record."""
    fields, expected = FAULTS[fault]
    error = refusal(batch(base_timestamp=NOW_MS, **fields))
    assert (error.error, error.faults) == (expected, ())


def test_size_is_checked_before_the_checksum() -> None:
    """max.message.bytes counts the whole batch, and is looked at first."""
    sent = batch(crc_added=1)
    assert refusal(sent, max_message_bytes=len(sent)).error is ErrorCode.CORRUPT_MESSAGE
    error = refusal(sent, max_message_bytes=len(sent) - 1)
    assert error.error is ErrorCode.MESSAGE_TOO_LARGE
    assert str(len(sent) - 1) in str(error)


@pytest.mark.parametrize("codec", [ZSTD, CompressionType.LZ4, CompressionType.NONE])
def test_topics_codec_replaces_the_producers(codec: CompressionType) -> None:
    """The records are the same; codec, offsets and time are the topic's, the producer's own fields stay."""
    sent = packed(
        GZIP,
        *[record(b"k", b"v" * size, offset_delta=index) for index, size in enumerate((1, 50, 500))],
        producer_id=77,
        producer_epoch=2,
        base_sequence=9,
        base_timestamp=NOW_MS - 9,
    )
    prepared = append(sent, compression=codec, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    header = read_header(prepared.data)
    assert (header.compression, header.producer_id, header.producer_epoch, header.base_sequence) == (codec, 77, 2, 9)
    assert (prepared.max_timestamp, prepared.last_offset_delta, header.partition_leader_epoch) == (NOW_MS, 2, 3)
    assert kept(prepared) == [(100, NOW_MS, b"v"), (101, NOW_MS, b"v" * 50), (102, NOW_MS, b"v" * 500)]


def test_same_codec_is_left_packed() -> None:
    """A topic of the producer's codec changes no byte of the payload."""
    sent = packed(GZIP, record(b"k", b"v"), base_timestamp=NOW_MS)
    assert bytes(append(sent, compression=GZIP).data)[61:] == sent[61:]


def test_batch_that_grows_too_large_is_refused() -> None:
    """What fits compressed need not fit as the topic wants it."""
    sent = packed(GZIP, record(b"k", bytes(1_000)), base_timestamp=NOW_MS)
    error = refusal(sent, compression=CompressionType.NONE, max_message_bytes=len(sent))
    assert error.error is ErrorCode.MESSAGE_TOO_LARGE


def test_batch_that_unpacks_to_too_much_is_refused() -> None:
    """Ours alone: Kafka has no such limit. The code makes a producer split its batch."""
    sent = packed(GZIP, record(b"k", bytes(100_000)), base_timestamp=NOW_MS)
    assert append(sent, decompressed_bytes_max=101_000).last_offset_delta == 0
    for codec in (None, ZSTD):
        error = refusal(sent, decompressed_bytes_max=99_000, compression=codec)
        assert error.error is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("target", [None, ZSTD])
def test_record_of_a_compressed_batch_may_be_so_large(target: CompressionType | None) -> None:
    """max.decompressed.message.bytes counts what is unpacked, key and value and all; plain batches go by their size."""
    value = bytes(200)
    exact = len(record(b"k", value)) - 2  # without the two bytes of its length
    assert append(packed(GZIP, record(b"k", value)), max_decompressed_message_bytes=exact, compression=target)
    error = refusal(packed(GZIP, record(b"k", value)), max_decompressed_message_bytes=exact - 1, compression=target)
    assert error.error is ErrorCode.INVALID_RECORD
    assert append(packed(CompressionType.NONE, record(b"k", value)), max_decompressed_message_bytes=1)


def test_batch_of_too_many_records_is_refused_unopened() -> None:
    """Alike records compress to nothing, but to look at each takes its time. Uncompressed ones have to be sent."""
    records = [record(b"k", b"v", offset_delta=index) for index in range(3)]
    assert append(packed(GZIP, *records), decompressed_records_max=3).last_offset_delta == 2
    for codec in (None, ZSTD):
        error = refusal(packed(GZIP, *records), decompressed_records_max=2, compression=codec)
        assert error.error is ErrorCode.MESSAGE_TOO_LARGE
    assert append(at(1, 2, 3), decompressed_records_max=2).last_offset_delta == 2
    claims_more = batch(payload=b"", count=1_000_001, last_offset_delta=1_000_000, attributes=GZIP)
    assert refusal(claims_more).error is ErrorCode.MESSAGE_TOO_LARGE


def test_offsets_within_a_compressed_batch_must_count_up() -> None:
    """Kafka fails without a code where it keeps the codec, and renumbers where it compresses anew."""
    sent = packed(GZIP, record(b"k", b"1"), record(b"k", b"2", offset_delta=5), base_timestamp=NOW_MS)
    assert refusal(sent).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert [offset for offset, *_ in kept(append(sent, compression=ZSTD))] == [100, 101]


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": 0x10},
        {"producer_id": 5, "producer_epoch": -1, "base_sequence": 0},
        {"producer_id": -2, "producer_epoch": 0},
        {"base_timestamp": -5},
    ],
    ids=["transaction without producer", "no producer epoch", "producer id -2", "negative timestamp"],
)
def test_what_kafkas_builder_refuses_can_not_be_compressed_anew(fields: dict[str, Any]) -> None:
    """Such a batch passes as it is, and fails without a code where the topic has another codec."""
    sent = batch(**{"base_timestamp": NOW_MS, **fields})
    assert append(sent).last_offset_delta == 0
    assert refusal(sent, compression=ZSTD).error is ErrorCode.UNKNOWN_SERVER_ERROR


GOOD = batch(base_timestamp=NOW_MS)


@pytest.mark.parametrize(
    ("records", "version", "error"),
    [
        (None, 9, ErrorCode.INVALID_RECORD),
        (b"", 9, ErrorCode.INVALID_RECORD),
        (GOOD[:-1], 9, ErrorCode.INVALID_RECORD),
        (GOOD * 2, 9, ErrorCode.INVALID_RECORD),
        (batch(magic=1), 9, ErrorCode.INVALID_RECORD),
        (batch(magic=0), 9, ErrorCode.INVALID_RECORD),
        (batch(magic=3), 9, ErrorCode.CORRUPT_MESSAGE),
        (struct.pack(">qi", 0, 13), 9, ErrorCode.CORRUPT_MESSAGE),
        (GOOD + struct.pack(">qi", 0, 13), 9, ErrorCode.CORRUPT_MESSAGE),
        (packed(ZSTD, record(b"k", b"v")), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ],
    ids=["null", "empty", "cut", "two", "magic 1", "magic 0", "magic 3", "size 13", "size 13 behind", "zstd in v6"],
)
def test_partition_must_bring_exactly_one_batch(records: bytes | None, version: int, error: ErrorCode) -> None:
    """Old formats, several batches, none: refused before anything is read."""
    with pytest.raises(BatchError) as caught:
        only_batch(records, version)
    assert caught.value.error is error


def test_bytes_behind_the_batch_are_left_out() -> None:
    """What forms no complete batch is dropped silently."""
    header, only = only_batch(memoryview(GOOD + GOOD[:-1]), 9)
    assert bytes(only) == GOOD
    assert header == read_header(GOOD)
    only_batch(packed(ZSTD, record(b"k", b"v")), 7)


def test_batch_shorter_than_its_header_is_corrupt() -> None:
    """Unless its base_offset is wrong, which Kafka looks at first."""
    for length in (14, 30, 48):
        short = struct.pack(">qiib", 0, length, 0, 2) + bytes(length - 5)
        assert refusal(short).error is ErrorCode.CORRUPT_MESSAGE
        moved = struct.pack(">q", 5) + short[8:]
        assert refusal(moved).error is ErrorCode.INVALID_RECORD
