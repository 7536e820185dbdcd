"""What is built is what is read: by this code, by the clients' own codecs, and by bytes that others made."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import aiokafka.record.default_records as aiokafka_records
import kafka.record.default_records as kafka_python_records
import kio.records.readers
import kio.records.schema
import kio.records.writers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.compression import CompressionType
from ottla.protocol.record_building import build_batch, build_batch_of
from ottla.protocol.record_reading import Record, first_offset_at, offset_of_max_timestamp, read_records
from ottla.protocol.records import TimestampType, checksum_matches, read_header
from tests.protocol.golden_batches import KAFKA, LIBRDKAFKA, RECORDS
from tests.protocol.record_strategies import NOW_MS, payloads, record_lists
from tests.support import batches

CODECS = list(CompressionType)
PEERS = pytest.mark.parametrize("peer", [aiokafka_records, kafka_python_records], ids=["aiokafka", "kafka-python"])


def read(data: bytes) -> list[Record]:
    return list(read_records(data, read_header(data)))


@pytest.mark.parametrize("codec", CODECS)
@given(st.data())
def test_records_come_back_as_they_were(codec: CompressionType, data: st.DataObject) -> None:
    """Null and empty keys and values, headers with null values, gaps between offsets, any codec, any header field."""
    base_offset = data.draw(st.sampled_from([0, 7, 2**40]))
    records = data.draw(record_lists(base_offset=base_offset, with_gaps=True))
    batch = build_batch_of(
        records,
        base_offset=base_offset,
        partition_leader_epoch=4,
        producer_id=2**33,
        producer_epoch=2,
        base_sequence=2**31 - 1,
        is_transactional=True,
        compression=codec,
    )
    header = read_header(batch)
    assert header.size_bytes == len(batch)
    assert checksum_matches(batch, header)
    assert (header.base_offset, header.last_offset) == (base_offset, records[-1].offset)
    assert (header.base_timestamp, header.max_timestamp) == (
        records[0].timestamp,
        max(record.timestamp for record in records),
    )
    assert (header.compression, header.is_transactional, header.is_control) == (codec, True, False)
    assert (header.partition_leader_epoch, header.producer_id, header.producer_epoch) == (4, 2**33, 2)
    assert (header.base_sequence, header.records_count) == (2**31 - 1, len(records))
    assert list(read_records(batch, header)) == records


@given(st.lists(st.tuples(payloads, payloads), min_size=1, max_size=6), st.booleans())
def test_both_builders_and_a_hand_made_batch_agree(pairs: list[batches.KeyValue], is_control: bool) -> None:
    """The quick builder for pairs writes the bytes of the general one, and both those of the layout's description."""
    common: dict[str, Any] = {"base_offset": 3, "partition_leader_epoch": 1, "is_control": is_control}
    quick = build_batch(pairs, timestamp_ms=NOW_MS, **common)
    records = [Record(3 + index, NOW_MS, key, value) for index, (key, value) in enumerate(pairs)]
    assert quick == build_batch_of(records, **common)
    assert quick == batches.batch(
        pairs, base_timestamp=NOW_MS, base_offset=3, leader_epoch=1, attributes=0x20 if is_control else 0
    )


@pytest.mark.parametrize("codec", CODECS)
def test_quick_builder_compresses_too(codec: CompressionType) -> None:
    """A batch of pairs in any codec reads as those pairs at consecutive offsets."""
    pairs = [(b"key %d" % index, b"value" * index) for index in range(1_100)]
    batch = build_batch(pairs, timestamp_ms=NOW_MS, base_offset=50, compression=codec)
    assert read(batch) == [Record(50 + index, NOW_MS, key, value) for index, (key, value) in enumerate(pairs)]


def test_log_append_time_is_in_the_header_alone() -> None:
    """The records keep their deltas, but read as of the broker's time."""
    records = [Record(0, 1_000, b"a", b"1"), Record(1, 4_000, b"b", b"2")]
    batch = build_batch_of(records, base_offset=0, log_append_time_ms=9_000)
    header = read_header(batch)
    assert (header.timestamp_type, header.base_timestamp, header.max_timestamp) == (
        TimestampType.LOG_APPEND_TIME,
        1_000,
        9_000,
    )
    assert [record.timestamp for record in read(batch)] == [9_000, 9_000]


def test_batch_without_records_is_not_built() -> None:
    """Nobody appends nothing."""
    with pytest.raises(ValueError, match="at least one record"):
        build_batch([], timestamp_ms=NOW_MS)


def test_batch_emptied_by_compaction_reads_as_nothing() -> None:
    """Such a batch keeps its offsets and its producer, and no records."""
    assert read(batches.batch(payload=b"", count=0, last_offset_delta=9)) == []


def test_header_key_that_is_not_utf_8_is_replaced() -> None:
    """As in Kafka, which never refuses a header for its key's bytes."""
    payload = batches.record(None, b"v", headers=[(b"\xdc!", b"x")])
    assert read(batches.batch(payload=payload, count=1, last_offset_delta=0))[0].headers == (("�!", b"x"),)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("made_by", [KAFKA, LIBRDKAFKA], ids=["Kafka", "librdkafka"])
def test_batches_of_others_are_read(made_by: dict[CompressionType, str], codec: CompressionType) -> None:
    """Bytes kept from Apache Kafka and librdkafka hold the three records they were made of."""
    batch = bytes.fromhex(made_by[codec])
    header = read_header(batch)
    assert header.compression == codec
    assert checksum_matches(batch, header)
    assert list(read_records(batch, header)) == RECORDS


def test_uncompressed_batch_is_byte_for_byte_kafkas() -> None:
    """The same records give the bytes that Kafka's MemoryRecordsBuilder gave."""
    assert build_batch_of(RECORDS, base_offset=0).hex() == KAFKA[CompressionType.NONE]


@PEERS
@pytest.mark.parametrize("codec", CODECS)
@given(st.data())
def test_clients_read_what_is_built(peer: Any, codec: CompressionType, data: st.DataObject) -> None:
    """aiokafka and kafka-python find the same records in a batch of any codec."""
    records = data.draw(record_lists(base_offset=5, with_gaps=True))
    built = build_batch_of(records, base_offset=5, compression=codec)
    theirs = peer.DefaultRecordBatch(built)
    assert theirs.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs] == records


@PEERS
@pytest.mark.parametrize("codec", CODECS)
@given(st.data())
def test_what_clients_build_is_read(peer: Any, codec: CompressionType, data: st.DataObject) -> None:
    """The clients' own batches hold the records they were given; uncompressed they are the same bytes."""
    # aiokafka takes -1 for a timestamp that is still to come.
    records = [record._replace(timestamp=abs(record.timestamp)) for record in data.draw(record_lists())]
    builder = peer.DefaultRecordBatchBuilder(2, int(codec), 0, -1, -1, -1, 10**9)
    for record in records:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    theirs = bytes(builder.build())
    header = read_header(theirs)
    assert checksum_matches(theirs, header)
    assert list(read_records(theirs, header)) == records
    if header.compression == CompressionType.NONE:
        epoch = header.partition_leader_epoch  # -1 or 0, as each client likes
        assert theirs == build_batch_of(records, base_offset=0, partition_leader_epoch=epoch)


@given(record_lists())
def test_kio_and_this_code_read_each_other(records: list[Record]) -> None:
    """kio has instants, not numbers, so the timestamps here are whole seconds; it knows no compression."""
    schema: Any = kio.records.schema
    records = [record._replace(timestamp=NOW_MS + 1_000 * index) for index, record in enumerate(records)]
    theirs: Any
    theirs, size_bytes = kio.records.readers.read_batch(build_batch_of(records, base_offset=0), 0)
    assert size_bytes == theirs.batch_length + 12
    assert [
        (r.offset, r.timestamp.timestamp() * 1_000, r.key, r.value, tuple((h.key.decode(), h.value) for h in r.headers))
        for r in theirs.records
    ] == records
    written = io.BytesIO()
    kio.records.writers.write_new_batch(
        written,
        schema.NewRecordBatch(
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            attributes=0,
            records=tuple(
                schema.Record(
                    attributes=0,
                    timestamp=datetime.fromtimestamp(record.timestamp / 1_000, tz=UTC),
                    offset=record.offset,
                    key=record.key,
                    value=record.value,
                    headers=tuple(schema.RecordHeader(key=key.encode(), value=value) for key, value in record.headers),
                )
                for record in records
            ),
        ),
    )
    assert read(written.getvalue()) == records


@pytest.mark.parametrize("codec", CODECS)
def test_offsets_are_found_by_timestamp_within_a_batch(codec: CompressionType) -> None:
    """ListOffsets wants the first record not older than a time, from an offset on, and the first of the newest ones."""
    times = [100, 300, 200, 300, 250]
    batch = build_batch_of(
        [Record(10 + index, time, b"k", b"v") for index, time in enumerate(times)], base_offset=10, compression=codec
    )
    header = read_header(batch)
    assert first_offset_at(batch, header, 50) == (10, 100)
    assert first_offset_at(batch, header, 101) == (11, 300)
    assert first_offset_at(batch, header, 101, start_offset=12) == (12, 200)
    assert first_offset_at(batch, header, 300, start_offset=12) == (13, 300)
    assert first_offset_at(batch, header, 301) is None
    assert offset_of_max_timestamp(batch, header) == 11
