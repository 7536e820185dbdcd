"""A partition against a list of batches: whatever is appended, read, removed and reopened in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ottla.log.config import LogConfig, parse_log_configs
from ottla.log.partition_answers import IsolationLevel
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from ottla.protocol.errors import ErrorCode
from tests.log.partitions import NOW_MS, base_offsets, new_partition, produce, sized_batch

SEGMENT_BYTES = 1500
SEGMENT_MS = 40
CONFIGS = {"internal.segment.bytes": str(SEGMENT_BYTES), "segment.ms": str(SEGMENT_MS)}


@dataclass
class Batch:
    """A batch of the model: its offsets, and the bytes a fetch must give."""

    base_offset: int
    last_offset: int
    timestamp: int
    data: bytes


@dataclass
class Run:
    """A segment of the model."""

    base_offset: int
    batches: list[Batch] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(batch.data) for batch in self.batches)

    @property
    def newest(self) -> int:
        return max(batch.timestamp for batch in self.batches)


class PartitionModel(RuleBasedStateMachine):
    """Each rule does to the partition what a client or the broker does, and to the model what Kafka says comes of
    it."""

    def __init__(self) -> None:
        super().__init__()
        self.log_bytes = LogBytes(1 << 30)
        self.storage = MemoryStorage(self.log_bytes, NOW_MS)
        self.partition = new_partition(CONFIGS, storage=self.storage)
        self.runs = [Run(0)]
        self.start = self.end = 0

    @property
    def batches(self) -> list[Batch]:
        return [batch for run in self.runs for batch in run.batches]

    @rule(size=st.integers(300, 900), count=st.integers(1, 5), timestamp=st.integers(0, 100))
    def append(self, size: int, count: int, timestamp: int) -> None:
        """Offsets are dense: the batch begins where the log ended."""
        data = sized_batch(size, count, base_timestamp=NOW_MS + timestamp)
        answer = produce(self.partition, data)
        assert (answer.error, answer.base_offset, answer.log_start_offset) == (ErrorCode.NONE, self.end, self.start)

        run = self.runs[-1]
        is_late = bool(run.batches) and NOW_MS + timestamp - run.batches[0].timestamp > SEGMENT_MS
        if run.size + size > SEGMENT_BYTES or is_late:
            self.runs.append(run := Run(self.end))
        placed = self.end.to_bytes(8, "big") + data[8:12] + bytes(4) + data[16:]
        run.batches.append(Batch(self.end, self.end + count - 1, NOW_MS + timestamp, placed))
        self.end += count

    @rule(back=st.integers(-2, 30), bytes_max=st.sampled_from([0, 1, 300, 500, 1000, 5000]), is_first=st.booleans())
    def read(self, back: int, bytes_max: int, is_first: bool) -> None:
        """A fetch gives the batch that holds the offset and what follows it in its segment, cut at the limit."""
        offset = self.end - back
        read = self.partition.read(offset, bytes_max, is_first=is_first)
        if not self.start <= offset <= self.end:
            assert read.error == ErrorCode.OFFSET_OUT_OF_RANGE
            return
        assert (read.error, read.high_watermark, read.log_start_offset) == (ErrorCode.NONE, self.end, self.start)
        run = next((run for run in reversed(self.runs) if run.base_offset <= offset), self.runs[0])
        wanted = [batch.data for batch in run.batches if batch.last_offset >= offset]
        limit = max(bytes_max, len(wanted[0])) if wanted and is_first else bytes_max
        expected = b"".join(wanted)[:limit] if wanted and len(wanted[0]) <= limit else b""
        assert bytes(read.records) == expected
        committed = self.partition.read(offset, bytes_max, IsolationLevel.READ_COMMITTED, is_first=is_first)
        assert bytes(committed.records) == expected

    @rule(ahead=st.integers(-2, 10))
    def delete_records(self, ahead: int) -> None:
        """The start moves forward only, up to the high watermark."""
        offset = self.start + ahead
        error, low_watermark = self.partition.delete_records(offset)
        if offset == -1:
            offset = self.end
        if 0 <= offset <= self.end:
            self.start = max(self.start, offset)
            assert (error, low_watermark) == (ErrorCode.NONE, self.start)
        else:
            assert (error, low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)

    @rule(age=st.integers(0, 200), retention_ms=st.integers(-1, 100), retention_bytes=st.integers(-1, 4000))
    def apply_retention(self, age: int, retention_ms: int, retention_bytes: int) -> None:
        """Segment by segment from the oldest: before the start, in the surplus, too old; the first that stays ends
        it."""
        self.partition.config = LogConfig.of(
            parse_log_configs(CONFIGS | {"retention.ms": str(retention_ms), "retention.bytes": str(retention_bytes)})
        )
        now = NOW_MS + age
        self.partition.apply_retention(now)

        while len(self.runs) > 1 and self.runs[1].base_offset <= self.start:
            self.drop()
        while retention_bytes >= 0 and self.runs[0].batches:
            if sum(run.size for run in self.runs) - self.runs[0].size < retention_bytes:
                break
            self.drop()
        while retention_ms >= 0 and self.runs[0].batches and now - self.runs[0].newest > retention_ms:
            self.drop()
        self.start = max(self.start, self.runs[0].base_offset)

    def drop(self) -> None:
        del self.runs[0]
        if not self.runs:
            self.runs.append(Run(self.end))

    @rule()
    def reopen(self) -> None:
        """A restart finds what was there."""
        self.partition.close()
        self.partition = new_partition(CONFIGS, storage=self.storage)

    @invariant()
    def the_offsets_are_the_models(self) -> None:
        """And in Kafka's order."""
        partition = self.partition
        assert (partition.log_start_offset, partition.log_end_offset) == (self.start, self.end)
        assert partition.log_start_offset <= partition.last_stable_offset <= partition.high_watermark
        assert partition.high_watermark == partition.log_end_offset

    @invariant()
    def every_byte_is_accounted_for(self) -> None:
        """The sizes agree, and so does the account."""
        size = sum(run.size for run in self.runs)
        assert (self.partition.size_bytes, self.log_bytes.bytes_held) == (size, size)

    @invariant()
    def everything_can_be_read(self) -> None:
        """From the start on, segment after segment, until the end."""
        found: list[int] = []
        offset = self.start
        while (read := self.partition.read(offset, 1 << 20)).records:
            found += base_offsets(read)
            last = next(batch for batch in self.batches if batch.base_offset == found[-1])
            offset = last.last_offset + 1
        assert found == [batch.base_offset for batch in self.batches if batch.last_offset >= self.start]

    @invariant()
    def times_are_found(self) -> None:
        """The first record of the first segment that reaches a time; each batch here has one time."""
        for timestamp in (NOW_MS, NOW_MS + 37, NOW_MS + 80):
            run = next((run for run in self.runs if run.batches and run.newest >= timestamp), None)
            hits = [batch for batch in run.batches if batch.timestamp >= timestamp] if run else []
            hit = next((batch for batch in hits if batch.last_offset >= self.start), None)
            found = self.partition.offset_for_timestamp(timestamp, None)
            assert found.offset == (-1 if hit is None else max(hit.base_offset, self.start))


TestPartitionModel = PartitionModel.TestCase
TestPartitionModel.settings = settings(stateful_step_count=40)
