"""The scan of produced records: it sees what a full reading sees, and calls wrong what Kafka calls wrong."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.record_scan import RecordScan, scan_records
from ottla.protocol.records import read_header
from tests.protocol.record_strategies import REFUSALS, alike_payloads, damaged, doubtful_batches, outcome
from tests.support.batches import TIMESTAMP, batch, record, varint

CODECS = list(CompressionType)
COMPRESSED = CODECS[1:]
CUT_SHORT = "cut short|end before"


def of(payload: bytes, count: int, codec: CompressionType = CompressionType.NONE, base: int = TIMESTAMP) -> bytes:
    """A batch around encoded records, compressed if so wanted."""
    packed = compress(codec, payload)
    return batch(payload=packed, count=count, last_offset_delta=count - 1, attributes=codec, base_timestamp=base)


def scan(data: bytes) -> RecordScan:
    return scan_records(data, read_header(data))


def read(data: bytes, *, check_sizes: bool = True) -> list[Record]:
    return list(read_records(data, read_header(data), check_sizes=check_sizes))


def summary(records: list[Record]) -> tuple[int, int]:
    return max(-1, *(record.timestamp for record in records)), sum(record.key is None for record in records)


def scanned(data: bytes) -> tuple[int, int]:
    seen = scan(data)
    return seen.max_timestamp, seen.null_keys


@pytest.mark.parametrize("codec", CODECS)
@given(alike_payloads())
def test_scan_sees_what_a_full_reading_sees(codec: CompressionType, encoded: tuple[bytes, int]) -> None:
    """Newest timestamp, null keys, a bound below the oldest: the same for runs of one shape and for the odd ones."""
    data = of(*encoded, codec)
    records = read(data)
    seen = scan(data)
    assert (seen.max_timestamp, seen.null_keys) == summary(records)
    assert seen.min_timestamp_bound <= min(record.timestamp for record in records)
    assert seen.is_consecutive or not codec


@given(alike_payloads(), st.data())
def test_scan_and_full_reading_agree_on_damaged_records(encoded: tuple[bytes, int], data: st.DataObject) -> None:
    """Whatever bytes change inside records, in runs or not: both see the same records, or both refuse them alike."""
    payload, count = encoded
    doubtful = of(data.draw(damaged(payload)), count)
    assert outcome(scanned, doubtful) == outcome(lambda batch: summary(read(batch)), doubtful)


@given(alike_payloads(), st.sampled_from(COMPRESSED), st.data())
def test_compressed_records_may_lie_about_their_length(
    encoded: tuple[bytes, int], codec: CompressionType, data: st.DataObject
) -> None:
    """As Kafka's partial reader does, the scan ignores the lengths of compressed records; their bytes must add up."""
    payload, count = encoded
    doubtful = of(data.draw(damaged(payload)), count, codec)
    assert outcome(scanned, doubtful) == outcome(lambda batch: summary(read(batch, check_sizes=False)), doubtful)


def test_long_run_is_seen_to_its_end() -> None:
    """A thousand records of one shape: the newest and the keyless one far in are seen, and a wrong length there too."""
    records = [record(b"key", b"value", offset_delta=index, timestamp_delta=index // 9) for index in range(1_000)]
    records[700] = record(None, b"longer value", offset_delta=700, timestamp_delta=4_000)
    assert scanned(of(b"".join(records), 1_000)) == (TIMESTAMP + 4_000, 1)
    for wrong in (records[900][:-1] + b"\1", varint(len(records[900])) + records[900][1:]):
        with pytest.raises(BatchError) as caught:
            scan(of(b"".join([*records[:900], wrong, *records[901:]]), 1_000))
        assert caught.value.error is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("headers", [(), ((b"name", b"text"),)], ids=["no headers", "headers"])
@pytest.mark.parametrize(("timestamp_delta", "first_offset"), [(3, 0), (300, 0), (3, 100), (300, 100), (30_000, 0)])
@pytest.mark.parametrize("key", [None, b"key", b"k" * 70])
def test_every_byte_of_a_record_in_a_run_is_looked_at(
    key: bytes | None, timestamp_delta: int, first_offset: int, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    """Of 14 records of one shape one has a byte changed: it is found right or wrong as by a full reading."""
    records = [
        record(key, b"v" * 5, offset_delta=first_offset + index, timestamp_delta=timestamp_delta, headers=headers)
        for index in range(14)
    ]
    for at in range(len(records[5])):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            changed = records[5][:at] + bytes((value,)) + records[5][at + 1 :]
            doubtful = of(b"".join([*records[:5], changed, *records[6:]]), 14)
            assert outcome(scanned, doubtful) == outcome(lambda batch: summary(read(batch)), doubtful), (at, value)


GOOD = record(b"key", b"value")
BODY = GOOD[1:]
#: What is wrong → (encoded records, their count, Kafka's answer uncompressed, compressed). None: Kafka accepts it.
FAULTS: dict[str, tuple[bytes, int, ErrorCode | None, ErrorCode | None]] = {
    "a record is missing": (GOOD, 2, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    "a record is left over": (GOOD * 2, 1, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    "a byte is left over": (GOOD + b"\0", 1, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    "there are no bytes": (b"", 1, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    "length too small": (varint(len(BODY) - 1) + BODY, 1, ErrorCode.INVALID_RECORD, None),
    "length too large": (varint(len(BODY) + 1) + BODY, 1, ErrorCode.INVALID_RECORD, None),
    "length negative": (varint(-1) + BODY, 1, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    "length without end": (
        b"\x80\x80\x80\x80\x80" + BODY,
        1,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_RECORD,
    ),
    "timestamp delta without end": (
        varint(16) + b"\0" + b"\x80" * 10 + b"\0\1\1\0",
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "offset delta without end": (
        varint(11) + b"\0\0" + b"\x80" * 5 + b"\0\1\1\0",
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "key length of 10 bytes": (
        varint(15) + b"\0\0\0" + b"\x81" * 9 + b"\0" + b"\1\0",
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "key beyond the end": (
        varint(6) + b"\0\0\0" + varint(1_000) + b"\1\0",
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "value of 2 GiB": (
        varint(9) + b"\0\0\0\1" + varint(2**31 - 1),
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "key length -5 means null": (varint(6) + b"\0\0\0" + varint(-5) + b"\1\0", 1, None, None),
    "header count negative": (
        varint(6) + b"\0\0\0\1\1" + varint(-1),
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "header count huge": (
        varint(10) + b"\0\0\0\1\1" + varint(2**31 - 1),
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "header key null": (
        varint(8) + b"\0\0\0\1\1" + varint(1) + b"\1\1",
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "header value beyond the end": (
        varint(8) + b"\0\0\0\1\1" + varint(1) + b"\0" + varint(50),
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "the last header value reaches to the length but past the bytes": (
        varint(58) + b"\0\0\0\1\1" + varint(1) + b"\0" + varint(50),
        1,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
    ),
    "attributes set": (GOOD[:1] + b"\xff" + GOOD[2:], 1, None, None),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_records_get_kafkas_answer(fault: str, codec: CompressionType) -> None:
    """Each fault, in each codec, has the answer that Kafka's reader for that case has."""
    payload, count, plain_error, compressed_error = FAULTS[fault]
    data = of(payload, count, codec)
    expected = compressed_error if codec else plain_error
    if expected is None:
        assert scan(data).max_timestamp == TIMESTAMP
    else:
        with pytest.raises(BatchError) as caught:
            scan(data)
        assert caught.value.error is expected


@pytest.mark.parametrize("count", [0, -1, -(2**31)])
def test_no_records_claimed_is_invalid(count: int) -> None:
    """A produced batch has at least one record."""
    with pytest.raises(BatchError, match=f"can't have {count} records") as caught:
        scan(batch(count=count))
    assert caught.value.error is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
def test_two_billion_records_claimed_cost_nothing(codec: CompressionType) -> None:
    """A lying count is found out at the end of the bytes, without memory for what it claims."""
    data = of(record(None, None) * 10, 2**31 - 1, codec)
    tracemalloc.start()
    try:
        for attempt in (scan, read):
            with pytest.raises(BatchError, match=CUT_SHORT):
                attempt(data)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2_000_000


@pytest.mark.parametrize("codec", COMPRESSED)
def test_offsets_out_of_order_are_noticed_when_compressed(codec: CompressionType) -> None:
    """Compressed batches must count up from 0."""
    for deltas, expected in (((0, 1, 2), True), ((0, 2, 1), False), ((1, 2, 3), False)):
        payload = b"".join(record(None, b"v", offset_delta=delta) for delta in deltas)
        assert scan(of(payload, 3, codec)).is_consecutive is expected


@example(base=2**63 - 1, delta=1)
@example(base=-(2**63), delta=-1)
@example(base=0, delta=-(2**63))
@given(base=st.integers(-(2**63), 2**63 - 1), delta=st.integers(-(2**63), 2**63 - 1))
def test_timestamps_wrap_as_kafkas_do(base: int, delta: int) -> None:
    """base_timestamp + delta is a 64-bit sum: past the largest number comes the smallest."""
    data = of(record(b"k", b"v", timestamp_delta=delta), 1, base=base)
    wrapped = int.from_bytes((base + delta & 2**64 - 1).to_bytes(8, "big"), "big", signed=True)
    assert read(data)[0].timestamp == wrapped
    assert scan(data).max_timestamp == max(-1, wrapped)


def test_log_append_time_of_a_producer_counts_for_all_records() -> None:
    """Where the producer set the timestamp type, the batch's max_timestamp is every record's."""
    data = batch(timestamps=[TIMESTAMP + 5], attributes=0x08, max_timestamp=77)
    assert scan(data)[:2] == (77, 77)


@given(doubtful_batches())
def test_any_damage_ends_in_an_answer(data: bytes) -> None:
    """Header, payload or compressed bytes wrong: a summary or a `BatchError` comes out, and never anything else."""
    seen, records = outcome(scan, data), outcome(read, data)
    assert isinstance(seen, RecordScan) or seen in REFUSALS
    assert isinstance(records, list) or records in REFUSALS
