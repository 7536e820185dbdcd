"""Producing to a partition: what is taken, what is refused, and with which answer.

The rows are measured on Kafka 4.3.1; the error code, the log's start in the answer and the faulty records are all part
of what a client sees.
"""

from __future__ import annotations

import gzip
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.partition import Partition
from ottla.log.partition_answers import MAX_TIMESTAMP
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_validation import only_batch
from ottla.protocol.records import checksum_matches, read_header
from tests.log.partitions import (
    HOUR_MS,
    NOW_MS,
    base_offsets,
    batch_of,
    fill,
    new_partition,
    numbered,
    offsets_of,
    produce,
    read_all,
    sized_batch,
)
from tests.support.batches import batch, record, stored

GZIP, SNAPPY, LZ4, ZSTD, UNASSIGNED = 1, 2, 3, 4, 5
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20
#: The log's start as answered where Kafka refuses a batch before it looks at the log, and after.
UNKNOWN, KNOWN = -1, 2


@pytest.fixture
def partition() -> Partition:
    """A partition that starts at offset 2 and ends at 3."""
    partition = new_partition()
    fill(partition, batch_of(3))
    partition.delete_records(2)
    return partition


good = batch()

REFUSED: dict[str, tuple[bytes | None, ErrorCode, int]] = {
    "null": (None, ErrorCode.INVALID_RECORD, UNKNOWN),
    "empty": (b"", ErrorCode.INVALID_RECORD, UNKNOWN),
    "short": (good[:5], ErrorCode.INVALID_RECORD, UNKNOWN),
    "cut off": (good[:-1], ErrorCode.INVALID_RECORD, UNKNOWN),
    "two batches": (good + good, ErrorCode.INVALID_RECORD, UNKNOWN),
    "magic 1": (batch(magic=1), ErrorCode.INVALID_RECORD, UNKNOWN),
    "magic 3": (batch(magic=3), ErrorCode.CORRUPT_MESSAGE, UNKNOWN),
    "batch length below any message's": (batch(length_added=-60), ErrorCode.CORRUPT_MESSAGE, UNKNOWN),
    "base offset 5": (batch(base_offset=5), ErrorCode.INVALID_RECORD, KNOWN),
    "base offset 5, and a bad checksum": (batch(base_offset=5, crc_added=1), ErrorCode.INVALID_RECORD, KNOWN),
    "bad checksum": (batch(crc_added=1), ErrorCode.CORRUPT_MESSAGE, UNKNOWN),
    "1.1 MB": (sized_batch(1_100_000), ErrorCode.MESSAGE_TOO_LARGE, UNKNOWN),
    "codec 5": (batch(attributes=UNASSIGNED), ErrorCode.UNKNOWN_SERVER_ERROR, KNOWN),
    "codec 5, and no records": (batch(attributes=UNASSIGNED, count=0), ErrorCode.UNKNOWN_SERVER_ERROR, KNOWN),
    "more records than offsets": (batch(count=2), ErrorCode.INVALID_RECORD, KNOWN),
    "more offsets than records": (batch(last_offset_delta=4), ErrorCode.INVALID_RECORD, KNOWN),
    "no records": (batch(count=0, last_offset_delta=-1), ErrorCode.INVALID_RECORD, KNOWN),
    "a control batch": (batch(attributes=CONTROL), ErrorCode.INVALID_RECORD, KNOWN),
    "producer id without sequence": (numbered(-1), ErrorCode.INVALID_RECORD, KNOWN),
    "a record shorter than it says": (
        batch(payload=record(b"k", b"v", length_added=1), count=1),
        ErrorCode.INVALID_RECORD,
        KNOWN,
    ),
    "bytes after the last record": (batch(payload=record(b"k", b"v") + b"x", count=1), ErrorCode.INVALID_RECORD, KNOWN),
    "gzip that isn't": (batch(attributes=GZIP), ErrorCode.UNKNOWN_SERVER_ERROR, KNOWN),
    "zstd that isn't": (batch(attributes=ZSTD), ErrorCode.UNKNOWN_SERVER_ERROR, KNOWN),
    "compressed, offsets with a gap": (
        batch(
            payload=stored(GZIP, record(b"k", b"v") + record(b"k", b"v", offset_delta=2)),
            attributes=GZIP,
            count=2,
            last_offset_delta=1,
        ),
        ErrorCode.UNKNOWN_SERVER_ERROR,
        KNOWN,
    ),
    "a transaction nobody announced": (
        numbered(0, attributes=TRANSACTIONAL),
        ErrorCode.INVALID_TXN_STATE,
        KNOWN,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_batch_is_refused_with_kafkas_code(partition: Partition, name: str) -> None:
    """Each fault has its code, and a refused batch leaves nothing behind."""
    records, error, log_start_offset = REFUSED[name]
    before = read_all(partition)

    answer = produce(partition, records)

    assert (answer.error, answer.log_start_offset) == (error, log_start_offset)
    assert (answer.base_offset, answer.last_offset, answer.log_append_time_ms) == (-1, -1, -1)
    assert (answer.record_errors, answer.error_message) == ((), None)
    assert read_all(partition) == before
    assert partition.log_end_offset == 3
    assert list(partition.producers) == []


def test_what_follows_the_batch_without_being_one_is_dropped(partition: Partition) -> None:
    """One good batch and five bytes that begin nothing: the batch is taken, the bytes are not kept."""
    answer = produce(partition, good + b"\0\0\0\0\0")
    assert (answer.error, answer.base_offset, answer.log_start_offset) == (ErrorCode.NONE, 3, 2)
    assert len(partition.read(3, 1000).records) == len(good)


@pytest.mark.parametrize(("api_version", "error"), [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)])
def test_zstd_needs_produce_v7(partition: Partition, api_version: int, error: ErrorCode) -> None:
    """Older clients could not read it back."""
    packed = batch(payload=stored(ZSTD, record(b"k", b"v")), attributes=ZSTD, count=1)
    assert produce(partition, packed, api_version=api_version).error == error


def test_offsets_follow_each_other_and_are_written_into_the_batches() -> None:
    """The broker sets base offset and leader epoch; all else stays as sent, and so does the checksum."""
    partition = new_partition(leader_epoch=4)
    sent = [batch_of(2), batch_of(3), batch()]
    answers = [produce(partition, data) for data in sent]
    assert [(answer.base_offset, answer.last_offset) for answer in answers] == [(0, 1), (2, 4), (5, 5)]
    assert offsets_of(read_all(partition)) == [0, 1, 2, 3, 4, 5]

    kept = bytes(partition.read(2, 1).records)
    header = read_header(kept)
    assert (header.base_offset, header.partition_leader_epoch) == (2, 4)
    assert kept[16:] == sent[1][16:]
    assert checksum_matches(kept, header)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_compressed_batch_is_kept_as_it_came(codec: int) -> None:
    """compression.type=producer: the bytes behind offset and epoch are the producer's."""
    partition = new_partition()
    packed = batch(payload=stored(codec, record(b"k", b"value")), attributes=codec, count=1)
    fill(partition, packed)
    assert bytes(partition.read(0, 1000).records)[16:] == packed[16:]
    assert [(kept.key, kept.value) for kept in read_all(partition)] == [(b"k", b"value")]


class TestTimestamps:
    """Whose clock dates the records, and how far off it may be."""

    def test_too_far_ahead(self) -> None:
        """Two hours ahead, where one is allowed: refused, and each such record is named."""
        partition = new_partition()
        ahead = batch([(b"k", b"v")] * 3, timestamps=[NOW_MS + 2 * HOUR_MS, NOW_MS, NOW_MS + 3 * HOUR_MS])
        answer = produce(partition, ahead)
        assert (answer.error, answer.log_start_offset) == (ErrorCode.INVALID_TIMESTAMP, 0)
        assert [fault.batch_index for fault in answer.record_errors] == [0, 2]
        assert str(NOW_MS + 2 * HOUR_MS) in answer.record_errors[0].message
        assert answer.error_message
        assert partition.log_end_offset == 0

    @pytest.mark.parametrize("timestamp", [-1, 0, 1, NOW_MS, NOW_MS + HOUR_MS])
    def test_in_range(self, timestamp: int) -> None:
        """No timestamp at all is fine, and so is any past one."""
        answer = produce(new_partition(), batch(base_timestamp=timestamp))
        assert (answer.error, answer.log_append_time_ms) == (ErrorCode.NONE, -1)

    def test_limits_of_the_topic(self) -> None:
        """message.timestamp.before.max.ms and after.max.ms; -1 is exempt; limits may change at any time."""
        partition = new_partition({"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "10"})
        for timestamp, error in (
            (NOW_MS - 1000, ErrorCode.NONE),
            (NOW_MS - 1001, ErrorCode.INVALID_TIMESTAMP),
            (NOW_MS + 10, ErrorCode.NONE),
            (NOW_MS + 11, ErrorCode.INVALID_TIMESTAMP),
            (-1, ErrorCode.NONE),
        ):
            assert produce(partition, batch(base_timestamp=timestamp)).error == error, timestamp
        partition.config = new_partition().config
        assert produce(partition, batch(base_timestamp=NOW_MS + 11)).error == ErrorCode.NONE

    def test_log_append_time(self) -> None:
        """The broker's clock counts: one time for the batch, written into it under a new checksum, and answered."""
        partition = new_partition({"message.timestamp.type": "LogAppendTime"})
        answer = produce(partition, batch([(b"a", b"1"), (b"b", b"2")], base_timestamp=100), wall_ms=NOW_MS + 5)
        assert (answer.error, answer.log_append_time_ms) == (ErrorCode.NONE, NOW_MS + 5)
        kept = bytes(partition.read(0, 1000).records)
        header = read_header(kept)
        assert (header.attributes, header.max_timestamp, header.base_timestamp) == (LOG_APPEND_TIME, NOW_MS + 5, 100)
        assert checksum_matches(kept, header)
        assert [found.timestamp for found in read_all(partition)] == [NOW_MS + 5] * 2

    @pytest.mark.parametrize(
        ("kind", "max_timestamp", "error"),
        [
            ("LogAppendTime", NOW_MS, ErrorCode.INVALID_TIMESTAMP),
            ("CreateTime", NOW_MS, ErrorCode.NONE),
            ("CreateTime", -1, ErrorCode.INVALID_TIMESTAMP),
        ],
    )
    def test_the_type_is_not_the_producers_to_set(self, kind: str, max_timestamp: int, error: ErrorCode) -> None:
        """Kafka lets it pass where the records' own times count, and then takes the mark off."""
        partition = new_partition({"message.timestamp.type": kind})
        answer = produce(partition, batch(attributes=LOG_APPEND_TIME, max_timestamp=max_timestamp))
        assert answer.error == error
        assert [fault.batch_index for fault in answer.record_errors] == ([0] if error else [])
        if not error:
            assert read_header(partition.read(0, 1000).records).attributes == 0

    def test_a_lie_about_the_newest_record_is_corrected(self) -> None:
        """Lookups by time rely on max_timestamp, so it is worked out and written with a new checksum."""
        partition = new_partition()
        fill(partition, batch([(b"k", b"v")] * 2, timestamps=[NOW_MS - 5, NOW_MS - 3], max_timestamp=NOW_MS + 99))
        kept = bytes(partition.read(0, 1000).records)
        header = read_header(kept)
        assert header.max_timestamp == NOW_MS - 3
        assert checksum_matches(kept, header)


class TestTopicRules:
    """What the topic's configs demand."""

    def test_a_compacted_topic_takes_no_record_without_a_key(self) -> None:
        """Records 0 and 2 of 3 have none: both are named, nothing is taken."""
        partition = new_partition({"cleanup.policy": "compact"})
        answer = produce(partition, batch([(None, b"v"), (b"k", b"v"), (None, None)]))
        assert (answer.error, answer.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)
        assert [fault.batch_index for fault in answer.record_errors] == [0, 2]
        assert answer.error_message
        fill(partition, batch([(b"k", None)]))

    def test_a_bad_time_outweighs_a_missing_key(self) -> None:
        """With both in one batch both are named and the code is INVALID_TIMESTAMP."""
        partition = new_partition({"cleanup.policy": "compact,delete"})
        times = [NOW_MS, NOW_MS + 2 * HOUR_MS]
        answer = produce(partition, batch([(None, b"v"), (b"k", b"v")], timestamps=times))
        assert answer.error == ErrorCode.INVALID_TIMESTAMP
        assert [fault.batch_index for fault in answer.record_errors] == [0, 1]

    def test_max_message_bytes_counts_the_whole_batch(self) -> None:
        """To the byte, prefix included; and a changed limit holds from the next batch on."""
        partition = new_partition({"max.message.bytes": "500"})
        assert produce(partition, sized_batch(500)).error == ErrorCode.NONE
        assert produce(partition, sized_batch(501)).error == ErrorCode.MESSAGE_TOO_LARGE
        partition.config = new_partition({"max.message.bytes": "501"}).config
        assert produce(partition, sized_batch(501)).error == ErrorCode.NONE

    def test_no_batch_is_larger_than_a_segment(self) -> None:
        """RECORD_LIST_TOO_LARGE, to the byte, and without the log's start."""
        partition = new_partition({"internal.segment.bytes": "400"})
        assert produce(partition, sized_batch(400)).error == ErrorCode.NONE
        answer = produce(partition, sized_batch(401))
        assert (answer.error, answer.log_start_offset) == (ErrorCode.RECORD_LIST_TOO_LARGE, -1)

    @pytest.mark.parametrize(("codec", "number"), [("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)])
    def test_the_topics_codec_is_applied(self, codec: str, number: int) -> None:
        """An uncompressed batch of a numbered producer comes out compressed, with all it said."""
        partition = new_partition({"compression.type": codec})
        fill(partition, numbered(0, 3))
        kept = bytes(partition.read(0, 1000).records)
        header = read_header(kept)
        assert header.attributes == number
        assert (header.producer_id, header.producer_epoch, header.base_sequence, header.records_count) == (7, 0, 0, 3)
        assert checksum_matches(kept, header)
        assert [(found.offset, found.key, found.timestamp) for found in read_all(partition)] == [
            (offset, b"k", NOW_MS) for offset in range(3)
        ]

    def test_uncompressed_means_unpacked(self) -> None:
        """And the records are numbered anew, so offsets with a gap are fine here."""
        partition = new_partition({"compression.type": "uncompressed"})
        payload = gzip.compress(record(b"a", b"1") + record(b"b", b"2", offset_delta=5))
        fill(partition, batch(payload=payload, attributes=GZIP, count=2, last_offset_delta=1))
        assert read_header(partition.read(0, 1000).records).attributes == 0
        assert [(found.offset, found.key) for found in read_all(partition)] == [(0, b"a"), (1, b"b")]

    def test_a_batch_may_become_too_large_by_unpacking(self) -> None:
        """max.message.bytes holds for what is kept, too."""
        partition = new_partition({"compression.type": "uncompressed", "max.message.bytes": "1000"})
        packed = batch(payload=gzip.compress(record(b"k", b"v" * 2000)), attributes=GZIP, count=1)
        assert len(packed) < 1000
        assert produce(partition, packed).error == ErrorCode.MESSAGE_TOO_LARGE

    def test_a_bomb_is_not_unpacked(self) -> None:
        """300 MB of zeros in 300 KB are refused with an answer."""
        partition = new_partition()
        bomb = batch(payload=gzip.compress(bytes(300_000_000), 1), attributes=GZIP, count=1)
        assert len(bomb) < partition.config.rules.max_message_bytes * 2
        partition.config.rules.max_message_bytes = len(bomb)
        assert produce(partition, bomb).error == ErrorCode.MESSAGE_TOO_LARGE


def test_no_internal_batch_is_larger_than_a_segment_either() -> None:
    """An empty segment can't be closed to make room for it. The log goes on. Kafka: UnifiedLog.append."""
    partition = new_partition({"internal.segment.bytes": "400"})
    assert partition.append_internal(sized_batch(401), NOW_MS).error == ErrorCode.RECORD_LIST_TOO_LARGE
    assert partition.append_internal(sized_batch(400), NOW_MS).error == ErrorCode.NONE
    assert partition.log_end_offset == 1


def test_nor_is_a_marker() -> None:
    """It takes 78 bytes, and a segment may be smaller."""
    partition = new_partition({"internal.segment.bytes": "77"})
    marker = TransactionMarker(is_commit=True, coordinator_epoch=0)
    assert partition.append_marker(marker, 7, 0, 1, NOW_MS).error == ErrorCode.RECORD_LIST_TOO_LARGE
    assert partition.log_end_offset == 0


def test_internal_batches_are_taken_as_they_are() -> None:
    """The broker's own batches get their place and nothing else; only their size is held against the topic."""
    partition = new_partition({"cleanup.policy": "compact", "max.message.bytes": "1000"}, leader_epoch=2)
    fill(partition, batch_of(2))
    own = batch([(None, b"no key, and an old time")], base_timestamp=1, base_offset=77)

    answer = partition.append_internal(own, NOW_MS)

    assert (answer.error, answer.base_offset, answer.last_offset) == (ErrorCode.NONE, 2, 2)
    kept = bytes(partition.read(2, 1000).records)
    assert struct.unpack_from(">qii", kept) == (2, len(kept) - 12, 2)
    assert kept[16:] == own[16:]
    assert partition.append_internal(sized_batch(1001), NOW_MS).error == ErrorCode.MESSAGE_TOO_LARGE


def test_a_partition_that_is_gone_takes_nothing(partition: Partition) -> None:
    """Whoever still holds it gets an answer that sends clients to look for the topic anew."""
    partition.delete()
    for answer in (produce(partition, good), partition.append_internal(good, NOW_MS)):
        assert (answer.error, answer.log_start_offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert partition.read(2, 1000).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert partition.offset_for_timestamp(-1, None).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert partition.delete_records(2) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


@given(st.data())
def test_garbled_batches_are_answered_and_leave_the_log_readable(data: st.DataObject) -> None:
    """Whatever bytes are changed, every answer is a value, and what was taken comes out as one whole batch.

    Kafka looks at no record's length in a compressed batch that keeps its codec, so a lie there is found by who reads
    it.
    """
    codec = data.draw(st.sampled_from([0, GZIP, SNAPPY, LZ4, ZSTD]))
    payload = b"".join(record(b"key", b"value" * 10, offset_delta=index) for index in range(4))
    fields: dict[str, Any] = {"count": 4, "last_offset_delta": 3, "attributes": codec}
    raw = bytearray(payload if codec == 0 else stored(codec, payload))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    compression = data.draw(st.sampled_from(["producer", "uncompressed", "lz4"]))
    partition = new_partition({"compression.type": compression})

    answer = produce(partition, batch(payload=bytes(raw), **fields))

    assert answer.error in (
        ErrorCode.NONE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
    )
    assert partition.log_end_offset == (0 if answer.error else 4)
    assert base_offsets(partition.read(0, 1 << 20)) == ([] if answer.error else [0])
    for timestamp in (NOW_MS, MAX_TIMESTAMP):
        found = partition.offset_for_timestamp(timestamp, None)
        assert found.error in (ErrorCode.NONE, ErrorCode.INVALID_RECORD)
        assert found.offset < partition.log_end_offset


def test_the_row_of_good_bytes_is_good() -> None:
    """The table above would prove nothing if its model were refused, too."""
    header, only = only_batch(good, 11)
    assert header.records_count == 1
    assert bytes(only) == good
