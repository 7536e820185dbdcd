"""Compaction: what stays of a log, at which offsets, and for how long. Kafka's tests of it: LogCleanerTest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.log.compaction.cleanable import look_at, portions
from ottla.log.compaction.compaction import KEY_OVERHEAD_BYTES
from ottla.log.compaction.log_cleaner import KEYS_BYTES_MAX, CleaningAbortedError, clean
from ottla.log.partition import Partition
from ottla.log.producer_state import ProducerSettings
from ottla.log.storage.contract import LogStorage
from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from ottla.log.storage.segment import RELATIVE_OFFSET_MAX, Segment
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record
from ottla.protocol.records import BatchHeader, checksum_matches, read_header
from tests.log.partitions import GIB, HOUR_MS, NOW_MS, fill, new_partition, offsets_of, produce, read_all
from tests.log.storage.disks import new_log, reopened
from tests.support.batches import KeyValue, batch

DAY_MS = 24 * HOUR_MS
COMMIT = TransactionMarker(is_commit=True, coordinator_epoch=0)
ABORT = TransactionMarker(is_commit=False, coordinator_epoch=0)


class Storages:
    """Where the logs of a test are: in memory, or each in a directory of its own."""

    def __init__(self) -> None:
        self.directory: Path | None = None
        self.logs: list[Partition] = []

    def new(self) -> LogStorage:
        if self.directory is None:
            return MemoryStorage(LogBytes(GIB), NOW_MS)
        return new_log(Path(mkdtemp(dir=self.directory)) / "topic-0")

    def close(self) -> None:
        """Let go of the files."""
        while self.logs:
            self.logs.pop().close()


STORAGES = Storages()


@pytest.fixture(autouse=True, params=["memory", "disk"])
def storages(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Every test is told twice, and none may leave a file open."""
    STORAGES.directory = tmp_path if request.param == "disk" else None
    yield
    STORAGES.close()
    assert open_files(tmp_path) == []


def open_files(directory: Path) -> list[str]:
    """The files below a directory that this process has open, also those that were removed; where one can know."""
    own = Path("/proc/self/fd")
    links = [os.readlink(fd) for fd in own.iterdir() if fd.is_symlink()] if own.exists() else []
    return [link for link in links if link.startswith(str(directory))]


def restarted(log: Partition) -> Partition:
    """The log as the next broker opens it."""
    storage = log._storage
    log.close()
    return compacted(reopened(storage) if isinstance(storage, DiskStorage) else storage)


def compacted(storage: LogStorage | None = None, **configs: str) -> Partition:
    """A log with cleanup.policy=compact, empty unless `storage` has one. Configs as keywords, underscores for dots."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    log = new_partition(
        {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", **named},
        storage=storage or STORAGES.new(),
        settings=ProducerSettings(transaction_partition_verification_enable=False),
    )
    STORAGES.logs.append(log)
    return log


def pairs(text: str) -> list[KeyValue]:
    """`a=1 b=` is a record and a tombstone."""
    return [(key.encode(), value.encode() or None) for key, value in (pair.split("=") for pair in text.split())]


def write(log: Partition, *texts: str, timestamp: int = NOW_MS) -> None:
    """A batch for each text."""
    fill(log, *(batch(pairs(text), base_timestamp=timestamp) for text in texts))


def roll(log: Partition) -> None:
    """Close the active segment, so that it may be cleaned."""
    log._roll(NOW_MS)


def compact(log: Partition, wall_ms: int = NOW_MS, keys_bytes_max: int = KEYS_BYTES_MAX) -> None:
    """Clean what may be cleaned."""
    work = clean(look_at(log, wall_ms), wall_ms, keys_bytes_max)
    while True:
        try:
            next(work)
        except StopIteration as end:
            log.cleaned_offset = end.value
            return


def headers(log: Partition) -> list[BatchHeader]:
    found = []
    for segment in log.segments:
        for data in segment.batches():
            header = read_header(data)
            assert checksum_matches(data, header)
            found.append(header)
    return found


def shown(log: Partition) -> str:
    """What a client shows of what it gets, as `offset:key=value`: not the markers of transactions."""
    markers = {header.base_offset for header in headers(log) if header.is_control}
    return " ".join(
        f"{record.offset}:{(record.key or b'?').decode()}={(record.value or b'').decode()}"
        for record in read_all(log)
        if record.offset not in markers
    )


# ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_last_record_of_each_key_stays_where_it_is() -> None:
    """With its offset, its timestamp and its headers; batches keep their first and last offset."""
    log = compacted()
    write(log, "a=1 b=1 c=1", "a=2 b=2")
    roll(log)
    write(log, "a=3")
    compact(log)
    assert shown(log) == "2:c=1 3:a=2 4:b=2 5:a=3"
    assert [(h.base_offset, h.last_offset, h.records_count) for h in headers(log)] == [(0, 2, 1), (3, 4, 2), (5, 5, 1)]


def test_records_keep_all_they_have() -> None:
    """Headers, and timestamps that now count from another record's."""
    log = compacted()
    records = [
        Record(0, NOW_MS, b"a", b"gone"),
        Record(1, NOW_MS + 5, b"b", b"kept", (("h", b"1"), ("h", None))),
        Record(2, NOW_MS - 9, b"c", b"", ()),
    ]
    fill(log, build_batch_of(records, base_offset=0), build_batch_of([Record(0, NOW_MS, b"a", b"")], base_offset=0))
    roll(log)
    compact(log)
    assert read_all(log)[:2] == records[1:]
    (thinned, _) = headers(log)
    assert (thinned.base_timestamp, thinned.max_timestamp) == (NOW_MS + 5, NOW_MS + 5)


@pytest.mark.parametrize("codec", CompressionType)
def test_batches_keep_their_codec(codec: CompressionType) -> None:
    """And what was packed is found packed, unless nothing is left."""
    log = compacted()
    first = [Record(0, NOW_MS, b"a", b"1"), Record(1, NOW_MS, b"b", b"1")]
    fill(log, build_batch_of(first, base_offset=0, compression=codec), batch(pairs("a=2")))
    roll(log)
    compact(log)
    assert shown(log) == "1:b=1 2:a=2"
    assert headers(log)[0].compression == codec


def test_the_brokers_time_stays() -> None:
    """Of a batch with log append time every record says the time of the append, whichever are left."""
    log = compacted(message_timestamp_type="LogAppendTime")
    fill(log, batch(pairs("a=1 b=1")), wall_ms=NOW_MS + 77)
    fill(log, batch(pairs("b=2")), wall_ms=NOW_MS + 78)
    roll(log)
    compact(log)
    assert [record.timestamp for record in read_all(log)] == [NOW_MS + 77, NOW_MS + 78]


def test_records_without_a_key_go() -> None:
    """They may be there from before the topic was compacted; new ones are refused."""
    log = new_partition()
    fill(log, batch([(None, b"1"), (b"a", b"1")]))
    log.config = compacted().config
    assert produce(log, batch([(None, b"1")])).error == ErrorCode.INVALID_RECORD
    roll(log)
    compact(log)
    assert shown(log) == "1:a=1"


def test_the_active_segment_is_left_alone() -> None:
    """Though what is in it outdates what was before it, that is found out only when it is closed."""
    log = compacted()
    write(log, "a=1")
    roll(log)
    write(log, "a=2 a=3")
    compact(log)
    assert shown(log) == "0:a=1 1:a=2 2:a=3"
    roll(log)
    compact(log)
    assert shown(log) == "2:a=3"


def test_an_emptied_batch_goes_unless_it_ends_the_log() -> None:
    """Also the one before the active segment, where the log goes on."""
    log = compacted(delete_retention_ms="0")
    write(log, "a=1", "a=")
    roll(log)
    write(log, "b=1")
    compact(log)
    compact_again(log, NOW_MS + 1)
    assert [header.base_offset for header in headers(log)] == [2]
    log = restarted(log)
    assert (shown(log), log.log_end_offset) == ("2:b=1", 3)


def test_what_is_above_the_limit_of_a_record_is_not_cleaned() -> None:
    """A limit that is lowered later hits compressed records alone: they can't be read, until it is raised again."""
    log = compacted()
    records = [Record(number, NOW_MS, b"a", value) for number, value in enumerate((b"1", b"2"))]
    fill(log, build_batch_of(records, base_offset=0, compression=CompressionType.GZIP))
    roll(log)
    log.config = compacted(max_decompressed_message_bytes="5").config
    with pytest.raises(BatchError, match="may have 5"):
        compact(log)
    log.config = compacted(max_decompressed_message_bytes="100").config
    compact(log)
    assert shown(log) == "1:a=2"


def test_an_unchanged_batch_is_the_same_bytes() -> None:
    """Nothing is encoded anew that need not be."""
    log = compacted()
    write(log, "a=1 b=1")
    before = bytes(next(log.segments[0].batches()))
    roll(log)
    compact(log)
    assert bytes(next(log.segments[0].batches())) == before


def test_the_log_ends_where_it_ended() -> None:
    """The last batch of the log stays, without records if need be, so that no offset is given twice."""
    log = compacted(delete_retention_ms="0")
    write(log, "a=1", "a=")
    roll(log)
    compact(log)
    compact_again(log, NOW_MS + 1)
    assert shown(log) == ""
    ((last,), end_offset) = headers(log), log.log_end_offset
    assert (last.base_offset, last.records_count, last.compression) == (1, 0, 0)
    assert (last.base_timestamp, last.max_timestamp) == (-1, NOW_MS)
    assert log.segments[0].next_offset == end_offset == restarted(log).log_end_offset == 2


def compact_again(log: Partition, wall_ms: int) -> None:
    """Something new came in meanwhile, or nothing would be dirty."""
    log.cleaned_offset = 0
    compact(log, wall_ms)


def test_a_reader_finds_the_next_record_after_a_gap() -> None:
    """Whatever offset it asks for, be it of a record that has gone."""
    log = compacted()
    write(log, *(f"k{number % 3}={number}" for number in range(12)))
    roll(log)
    write(log, "k0=12")
    compact(log)
    assert offsets_of(read_all(log)) == [9, 10, 11, 12]
    for offset in range(10):
        assert read_header(log.read(offset, 1 << 20).records).base_offset == 9


# ── Tombstones ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tombstone_stays_for_its_time() -> None:
    """From when the cleaner first saw it: readers that are slower than that would never hear of it."""
    log = compacted()
    write(log, "a=1 b=1", "a= c=1")
    roll(log)
    compact(log)
    assert shown(log) == "1:b=1 2:a= 3:c=1"
    assert [header.delete_horizon_ms for header in headers(log)] == [None, NOW_MS + DAY_MS]
    assert [record.timestamp for record in read_all(log)] == [NOW_MS] * 3
    compact_again(log, NOW_MS + DAY_MS - 1)
    assert shown(log) == "1:b=1 2:a= 3:c=1"
    assert [header.delete_horizon_ms for header in headers(log)] == [None, NOW_MS + DAY_MS]
    compact_again(log, NOW_MS + DAY_MS)
    assert shown(log) == "1:b=1 3:c=1"


def test_a_tombstone_that_is_outdated_goes_at_once() -> None:
    """Something came after it."""
    log = compacted()
    write(log, "a=1", "a=", "a=2")
    roll(log)
    compact(log)
    assert shown(log) == "2:a=2"


@pytest.mark.parametrize("timestamp", [-1, 0, 2**63 - 1])
def test_no_timestamp_is_too_far_from_the_horizon(timestamp: int) -> None:
    """Deltas wrap around as Java's do, so every reader gets the record's own time."""
    log = compacted(message_timestamp_after_max_ms=str(2**63 - 1))
    fill(log, batch([(b"a", None), (b"b", b"1")], timestamps=[timestamp, NOW_MS], base_timestamp=timestamp))
    roll(log)
    compact(log)
    assert [record.timestamp for record in read_all(log)] == [timestamp, NOW_MS]
    assert headers(log)[0].delete_horizon_ms == NOW_MS + DAY_MS


@pytest.mark.parametrize("retention_ms", [2**63 - 1, 2**63 - NOW_MS])
def test_a_tombstone_whose_time_never_ends_stays(retention_ms: int) -> None:
    """delete.retention.ms may say "for ever": there is no date for that. Another pass finds it as it was."""
    log = compacted(delete_retention_ms=str(retention_ms))
    write(log, "a=1 b=1", "a= c=1")
    roll(log)
    compact(log)
    compact_again(log, NOW_MS + DAY_MS)
    assert shown(log) == "1:b=1 2:a= 3:c=1"
    assert headers(log)[1].delete_horizon_ms is None
    assert [record.timestamp for record in read_all(log)][:3] == [NOW_MS] * 3


def test_the_last_date_is_a_horizon_too() -> None:
    """A millisecond less than that."""
    log = compacted(delete_retention_ms=str(2**63 - 1 - NOW_MS))
    write(log, "a= b=1")
    roll(log)
    compact(log)
    assert headers(log)[0].delete_horizon_ms == 2**63 - 1
    assert [record.timestamp for record in read_all(log)] == [NOW_MS] * 2


def test_a_horizon_survives_further_passages() -> None:
    """A batch that loses more records keeps the horizon it has, and its records their timestamps."""
    log = compacted()
    write(log, "a= b=1 c=1", timestamp=NOW_MS - 5)
    roll(log)
    compact(log)
    write(log, "b=2")
    roll(log)
    compact(log, NOW_MS + HOUR_MS)
    assert shown(log) == "0:a= 2:c=1 3:b=2"
    assert headers(log)[0].delete_horizon_ms == NOW_MS + DAY_MS
    assert [record.timestamp for record in read_all(log)][:2] == [NOW_MS - 5] * 2


# ── How much, and when ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_log_is_due_when_enough_of_it_is_dirty() -> None:
    """min.cleanable.dirty.ratio, of what may be cleaned; the active segment does not count."""
    log = compacted(min_cleanable_dirty_ratio="0.5")
    write(log, "a=1", "b=1")
    assert not look_at(log, NOW_MS).is_due
    roll(log)
    assert (look_at(log, NOW_MS).dirty_ratio, look_at(log, NOW_MS).is_due) == (1.0, True)
    compact(log)
    assert not look_at(log, NOW_MS).is_due
    write(log, "a=2")
    roll(log)
    assert (round(look_at(log, NOW_MS).dirty_ratio, 2), look_at(log, NOW_MS).is_due) == (0.33, False)
    write(log, "b=2")
    roll(log)
    assert (look_at(log, NOW_MS).dirty_ratio, look_at(log, NOW_MS).is_due) == (0.5, False)
    write(log, "b=3")
    roll(log)
    assert look_at(log, NOW_MS).is_due


def test_young_records_stay() -> None:
    """No segment with a record younger than min.compaction.lag.ms is touched, nor any after it."""
    log = compacted(min_compaction_lag_ms=str(HOUR_MS))
    write(log, "a=1 a=2")
    roll(log)
    write(log, "a=3 a=4", timestamp=NOW_MS + HOUR_MS)
    roll(log)
    write(log, "a=5")
    roll(log)
    compact(log, NOW_MS + HOUR_MS)
    assert shown(log) == "1:a=2 2:a=3 3:a=4 4:a=5"
    compact(log, NOW_MS + 2 * HOUR_MS)
    assert shown(log) == "4:a=5"


def test_a_log_is_overdue_when_its_oldest_dirty_record_is() -> None:
    """max.compaction.lag.ms, however little is dirty."""
    log = compacted(min_cleanable_dirty_ratio="1", max_compaction_lag_ms=str(HOUR_MS))
    write(log, "a=1 a=2")
    roll(log)
    assert not look_at(log, NOW_MS + HOUR_MS).is_due
    assert look_at(log, NOW_MS + HOUR_MS + 1).is_due
    compact(log, NOW_MS + HOUR_MS + 1)
    assert shown(log) == "1:a=2"
    assert not look_at(log, NOW_MS + DAY_MS).is_due


@pytest.mark.parametrize("cleaned_offset", [0, 99], ids=["before the log's start", "beyond its end"])
def test_a_checkpoint_that_does_not_fit_the_log_counts_for_nothing(cleaned_offset: int) -> None:
    """All of it is dirty then."""
    log = compacted(cleanup_policy="compact,delete")
    write(log, "a=1", "a=2", "a=3")
    roll(log)
    assert log.delete_records(1) == (ErrorCode.NONE, 1)
    log.cleaned_offset = cleaned_offset
    assert look_at(log, NOW_MS).first_dirty_offset == 1
    compact(log)
    assert shown(log) == "2:a=3"


def test_too_many_keys_are_cleaned_bit_by_bit() -> None:
    """As many batches as have room, at least one; what comes after them stays as it is until the next pass."""
    log = compacted()
    write(log, "a=1 b=1", "c=1 d=1", "a=2 b=2", "c=2 d=2")
    roll(log)
    keys_bytes_max = 2 * (KEY_OVERHEAD_BYTES + 1)
    ends = []
    for _ in range(4):
        compact(log, keys_bytes_max=keys_bytes_max)
        ends.append(log.cleaned_offset)
    assert ends == [2, 4, 6, 8]
    assert shown(log) == "4:a=2 5:b=2 6:c=2 7:d=2"
    compact_with_one_key = compacted()
    write(compact_with_one_key, "a=1 b=1 a=2")
    roll(compact_with_one_key)
    compact(compact_with_one_key, keys_bytes_max=1)
    assert shown(compact_with_one_key) == "1:b=1 2:a=2"


def test_segments_are_put_together() -> None:
    """As many as fit into one of segment.bytes; empty ones vanish with them."""
    log = compacted()
    for number in range(6):
        write(log, f"a={number}")
        roll(log)
    compact(log)
    assert shown(log) == "5:a=5"
    assert [segment.base_offset for segment in log.segments] == [0, 6]


def segments_of(*sizes: int, offsets: int = 10) -> list[Segment]:
    found = []
    for number, size in enumerate(sizes):
        segment = Segment(number * offsets, NOW_MS)
        segment.size_bytes = size
        found.append(segment)
    return found


@pytest.mark.parametrize(
    ("sizes", "runs"),
    [
        ((), []),
        ((50,), [1]),
        ((50, 50, 1), [2, 1]),
        ((200, 10, 10), [1, 2]),
        ((60, 60, 40), [1, 2]),
        ((0, 0, 100, 0), [4]),
    ],
)
def test_portions(sizes: Sequence[int], runs: list[int]) -> None:
    """Runs of segments that are no larger than 100 bytes together."""
    segments = segments_of(*sizes)
    assert [len(run) for run in portions(segments, 100, 10 * len(sizes))] == runs


def test_offsets_of_one_segment_stay_within_32_bits() -> None:
    """Relative to its base; a segment without bytes has none that count."""
    segments = segments_of(1, 1, 1, offsets=2**30)
    assert [len(run) for run in portions(segments, 100, 3 * 2**30)] == [2, 1]
    segments = segments_of(1, 0, 0, 1, offsets=RELATIVE_OFFSET_MAX)
    assert [len(run) for run in portions(segments, 100, 4 * RELATIVE_OFFSET_MAX)] == [3, 1]


def test_a_log_that_shrank_meanwhile_is_let_go() -> None:
    """Retention takes a segment that is being cleaned, at whatever moment: nothing else is lost, nothing comes back."""
    ends = set()
    for steps in range(1, 30):
        log = compacted(cleanup_policy="compact,delete")
        write(log, "a=1", "a=2")
        roll(log)
        write(log, "a=3", "b=1")
        roll(log)
        work = clean(look_at(log, NOW_MS), NOW_MS, KEYS_BYTES_MAX)
        is_done = not all(next(work, work) is None for _ in range(steps))
        log.delete_records(2)
        log.apply_retention(NOW_MS)
        try:
            exhaust(work)
            ends.add("came to its end")
        except CleaningAbortedError:
            ends.add("was stopped")
        assert shown(log) == "2:a=3 3:b=1"
        if is_done:
            break
    assert is_done
    assert ends == {"came to its end", "was stopped"}


def test_a_log_that_is_deleted_meanwhile_is_let_go() -> None:
    """At whatever moment."""
    for steps in range(1, 30):
        log = compacted()
        write(log, "a=1", "a=2", "a=3")
        roll(log)
        write(log, "b=1", "b=2")
        roll(log)
        work = clean(look_at(log, NOW_MS), NOW_MS, KEYS_BYTES_MAX)
        is_done = not all(next(work, work) is None for _ in range(steps))
        log.delete()
        with suppress(CleaningAbortedError):
            exhaust(work)
        if is_done:
            break
    assert is_done


def exhaust(work: Iterable[None]) -> None:
    for _ in work:
        pass


# ── Producers and transactions ────────────────────────────────────────────────────────────────────────────────────────


def numbered(
    text: str, sequence: int, *, producer_id: int = 7, epoch: int = 0, is_transactional: bool = False
) -> bytes:
    return batch(
        pairs(text),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        attributes=is_transactional << 4,
    )


def test_the_last_sequence_number_of_a_producer_stays() -> None:
    """In a batch without records, so that whoever opens the log again goes on where the producer does."""
    log = compacted()
    fill(log, numbered("a=1", 0), numbered("a=2", 1), numbered("b=1", 2, producer_id=8))
    write(log, "a=3 b=3")
    roll(log)
    compact(log)
    assert shown(log) == "3:a=3 4:b=3"
    assert [(h.producer_id, h.base_sequence, h.records_count) for h in headers(log)] == [
        (7, 1, 0),
        (8, 2, 0),
        (-1, -1, 2),
    ]
    log = restarted(log)
    assert produce(log, numbered("a=2", 1)).base_offset == 1
    assert produce(log, numbered("a=4", 2)).base_offset == 5
    log.producers.remove_expired(NOW_MS + 2 * DAY_MS)
    roll(log)
    compact_again(log, NOW_MS)
    assert [h.producer_id for h in headers(log)] == [-1, 7]


def end(log: Partition, marker: TransactionMarker, epoch: int = 0) -> None:
    """End the transaction of producer 7."""
    assert not log.append_marker(marker, 7, epoch, 1, NOW_MS).error


def test_aborted_records_go_and_their_marker_after_them() -> None:
    """The marker is seen without records by the next pass, and stays for the time of a tombstone after that."""
    log = compacted()
    fill(log, numbered("a=1", 0, is_transactional=True), numbered("b=1", 1, is_transactional=True))
    end(log, ABORT)
    write(log, "c=1")
    roll(log)
    log.producers.remove_expired(NOW_MS + 2 * DAY_MS)
    compact(log)
    assert shown(log) == "3:c=1"
    assert [(h.is_control, h.delete_horizon_ms) for h in headers(log)] == [(True, None), (False, None)]
    compact_again(log, NOW_MS)
    assert [(h.is_control, h.delete_horizon_ms) for h in headers(log)] == [(True, NOW_MS + DAY_MS), (False, None)]
    compact_again(log, NOW_MS + DAY_MS - 1)
    assert len(headers(log)) == 2
    compact_again(log, NOW_MS + DAY_MS)
    assert [h.is_control for h in headers(log)] == [False]


def test_an_aborted_key_does_not_outdate_another() -> None:
    """What was aborted never was."""
    log = compacted()
    write(log, "a=1")
    fill(log, numbered("a=2", 0, is_transactional=True))
    end(log, ABORT)
    roll(log)
    fill(log, numbered("a=3", 1, is_transactional=True))
    compact(log)
    assert shown(log) == "0:a=1 3:a=3"


def test_aborted_transactions_stay_named_while_a_record_of_theirs_may_be_met() -> None:
    """One that is still in the last batch of its producer, which has no records any more, needs its marker."""
    log = compacted()
    fill(log, numbered("a=1", 0, is_transactional=True))
    end(log, ABORT)
    roll(log)
    compact(log)
    assert [h.records_count for h in headers(log)] == [0, 1]
    assert [aborted.first_offset for aborted in log.segments[0].aborted] == [0]


def test_a_commit_marker_goes_when_its_records_have() -> None:
    """Not before; and the one after the last records of a producer keeps its epoch."""
    log = compacted()
    fill(log, numbered("a=1", 0, is_transactional=True))
    end(log, COMMIT)
    roll(log)
    compact(log)
    assert shown(log) == "0:a=1"
    assert [h.delete_horizon_ms for h in headers(log)] == [None, None]
    write(log, "a=2")
    roll(log)
    log.producers.remove_expired(NOW_MS + 2 * DAY_MS)
    compact(log)
    assert [(h.is_control, h.delete_horizon_ms) for h in headers(log)] == [(True, None), (False, None)]
    compact_again(log, NOW_MS)
    assert [(h.is_control, h.delete_horizon_ms) for h in headers(log)] == [(True, NOW_MS + DAY_MS), (False, None)]
    compact_again(log, NOW_MS + DAY_MS)
    assert [h.is_control for h in headers(log)] == [False]


def test_a_marker_that_is_all_a_producer_has_left_stays() -> None:
    """Without saying anything any more: its batch has the producer's epoch."""
    log = compacted(delete_retention_ms="0")
    end(log, ABORT, epoch=5)
    write(log, "a=1")
    roll(log)
    for later_ms in range(3):
        compact_again(log, NOW_MS + later_ms)
    assert [(h.is_control, h.records_count, h.producer_epoch) for h in headers(log)] == [(True, 0, 5), (False, 1, -1)]


def test_nothing_is_cleaned_beyond_an_open_transaction() -> None:
    """It may still be aborted."""
    log = compacted()
    write(log, "a=1", "a=2")
    roll(log)
    fill(log, numbered("b=1", 0, is_transactional=True))
    write(log, "b=2")
    roll(log)
    write(log, "a=3")
    roll(log)
    compact(log)
    assert shown(log) == "1:a=2 2:b=1 3:b=2 4:a=3"
    end(log, COMMIT)
    compact(log)
    assert shown(log) == "3:b=2 4:a=3"


# ── Laws ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

RECORDS = st.tuples(st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 99)))
#: A batch, the end of a segment, a pass of the cleaner after so many hours.
HAPPENINGS = st.one_of(
    st.lists(RECORDS, min_size=1, max_size=5),
    st.just("roll"),
    st.integers(0, 30),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(HAPPENINGS, max_size=40), st.sampled_from([1, 3 * KEY_OVERHEAD_BYTES, KEYS_BYTES_MAX]))
def test_whoever_reads_all_ends_up_with_the_same_values(happenings: list[object], keys_bytes_max: int) -> None:
    """However often and whenever a log is cleaned: a key's last value is there, at its offset, in order."""
    log = compacted()
    values: dict[bytes, tuple[int, bytes | None]] = {}
    wall_ms = NOW_MS
    for happening in happenings:
        if isinstance(happening, list):
            base_offset = log.log_end_offset
            records = [(key.encode(), None if value is None else b"%d" % value) for key, value in happening]
            fill(log, batch(records))
            values.update({key: (base_offset + at, value) for at, (key, value) in enumerate(records)})
        elif happening == "roll" and log.segments[-1].size_bytes:
            roll(log)
        elif isinstance(happening, int):
            wall_ms += happening * HOUR_MS
            compact(log, wall_ms, keys_bytes_max)
        read = read_all(log)
        assert offsets_of(read) == sorted(offsets_of(read))
        found = {record.key: (record.offset, record.value) for record in read}
        assert {key: at for key, at in found.items() if at[1] is not None} == {
            key: at for key, at in values.items() if at[1] is not None
        }
        assert found.items() <= values.items()
    end_offset = log.log_end_offset
    roll(log) if log.segments[-1].size_bytes else None
    compact(log, wall_ms)
    compact_again(log, wall_ms + 2 * DAY_MS)
    compact_again(log, wall_ms + 4 * DAY_MS)
    assert {record.key for record in read_all(log)} == {key for key, (_, value) in values.items() if value is not None}
    assert len(read_all(log)) == len({record.key for record in read_all(log)})
    assert log.log_end_offset == end_offset
    before = read_all(log)
    assert read_all(restarted(log)) == before
    STORAGES.close()
