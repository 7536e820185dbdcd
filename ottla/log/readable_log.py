"""Reading a log: its offsets, its batches, where a time or an epoch begins.

    log_start_offset ≤ last_stable_offset ≤ high_watermark ≤ log_end_offset

Readers of committed records stop at the last stable offset, where the oldest open transaction begins. Nothing here
changes the log; `Partition` does.

Kafka: UnifiedLog.read, .fetchOffsetByTimestamp, Partition.readRecords, .fetchOffsetForTimestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ottla.log.config import LogConfig
from ottla.log.leader_epochs import NO_OFFSET
from ottla.log.partition_answers import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    IsolationLevel,
    OffsetResult,
    ReadResult,
)
from ottla.log.reading import (
    NO_RECORDS,
    aborted_between,
    find_max_timestamp,
    find_timestamp,
    position_of,
    read_range,
)
from ottla.log.replay import RecoveredLog
from ottla.log.storage.contract import EpochStart, LogStorage, StorageError
from ottla.log.storage.segment import AbortedTransaction, Segment
from ottla.protocol.batch_error import BatchError
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.primitives import Buffer


class ReadableLog:
    """One log, as its readers see it."""

    __slots__ = (
        "_epochs",
        "_storage",
        "config",
        "high_watermark",
        "is_closed",
        "last_stable_offset",
        "leader_epoch",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, storage: LogStorage, recovered: RecoveredLog, config: LogConfig) -> None:
        self._storage = storage
        self.config = config
        self._epochs = recovered.leader_epochs
        self.is_closed = False
        self.leader_epoch = -1
        self.log_start_offset = recovered.log_start_offset
        self.log_end_offset = self.high_watermark = self.last_stable_offset = recovered.log_end_offset

    def put_around_storage(self, put: Callable[[LogStorage], LogStorage]) -> None:
        """Replace the storage by what `put` returns for it, such as a fault."""
        self._storage = put(self._storage)

    def check_leader_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """Whether the client knows the leader epoch; -1 is no claim. Comes before the check of the leader."""
        if current_leader_epoch in (-1, self.leader_epoch):
            return NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    def read(
        self,
        fetch_offset: int,
        bytes_max: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        *,
        is_first: bool = True,
        last_fetched_epoch: int = -1,
    ) -> ReadResult:
        """The records from `fetch_offset` on, as a view of the log where that is possible; see `reading`.

        `is_first`: no partition before this one had data, so a first batch larger than `bytes_max` is sent all the
        same. `last_fetched_epoch`: the epoch of the record before `fetch_offset` in the reader's own log, if it keeps
        one.
        """
        if self.is_closed:
            return ReadResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._storage.is_offline:
            return ReadResult(ErrorCode.KAFKA_STORAGE_ERROR)
        if last_fetched_epoch >= 0:
            diverged = self._read_diverged(fetch_offset, last_fetched_epoch)
            if diverged is not None:
                return diverged
        if not self.log_start_offset <= fetch_offset <= self.log_end_offset:
            return ReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
        end_offset = self._readable_end(isolation)
        if bytes_max < 0 and fetch_offset < end_offset:
            # Kafka fails on this without a code, and only where there is something to read.
            return ReadResult(ErrorCode.UNKNOWN_SERVER_ERROR)
        segments = self._storage.segments
        aborted: list[AbortedTransaction] | None = None
        try:
            found = read_range(segments, fetch_offset, end_offset, bytes_max, is_first=is_first)
            if isolation is READ_COMMITTED and not found.is_too_large:
                is_at_end = fetch_offset >= end_offset
                aborted = [] if is_at_end else aborted_between(segments, fetch_offset, found)
        except StorageError:
            return ReadResult(ErrorCode.KAFKA_STORAGE_ERROR)
        return ReadResult(
            NONE,
            found.records,
            self.high_watermark,
            self.last_stable_offset,
            self.log_start_offset,
            self.log_end_offset,
            aborted,
            None,
            found.segment_base_offset,
            found.position,
        )

    def _read_diverged(self, fetch_offset: int, last_fetched_epoch: int) -> ReadResult | None:
        """The answer for a reader whose log diverges from this one; None: it does not."""
        epoch, end_offset = self._epochs.end_offset_for(last_fetched_epoch, self.log_end_offset)
        if end_offset == NO_OFFSET:
            return ReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch >= last_fetched_epoch and end_offset >= fetch_offset:
            return None
        if fetch_offset < self.log_start_offset:
            return ReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
        return ReadResult(
            ErrorCode.NONE,
            NO_RECORDS,
            self.high_watermark,
            self.last_stable_offset,
            self.log_start_offset,
            self.log_end_offset,
            diverging_epoch=(epoch, end_offset),
        )

    def read_to_end(self, offset: int, bytes_max: int) -> Buffer:
        """Batches from `offset` on, whatever clients may see by now: for the broker itself. Nothing at the log's end.

        At least one whole batch, and the last one may be cut off. Kafka: FetchIsolation.LOG_END.
        """
        if self.is_closed:
            return NO_RECORDS
        offset = max(offset, self.log_start_offset)
        return read_range(self._storage.segments, offset, self.log_end_offset, bytes_max, is_first=True).records

    def aborted_transactions(self) -> list[AbortedTransaction]:
        """All whose records the log may still have."""
        return [transaction for segment in self._storage.segments for transaction in segment.aborted]

    def bytes_after(
        self, segment_base_offset: int, position: int, fetch_offset: int, isolation: IsolationLevel
    ) -> int | None:
        """How much a waiting fetch could read by now, of which it may take its share.

        The first two arguments are from the `ReadResult` it went to wait with. None: it has waited long enough, because
        what it waited for is in a newer segment or will never come. Kafka: DelayedFetch.tryComplete.
        """
        end_offset = self._readable_end(isolation)
        if fetch_offset == end_offset:
            return 0
        if fetch_offset > end_offset:
            return None
        try:
            end_segment, end_position = position_of(self._storage.segments, end_offset)
        except StorageError:
            return None
        return end_position - position if end_segment == segment_base_offset else None

    def offset_for_timestamp(self, timestamp: int, isolation: IsolationLevel | None) -> OffsetResult:
        """What ListOffsets asks: a time in ms, or a negative one with a meaning. `isolation` None: for a replica."""
        if self.is_closed:
            return OffsetResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self.is_offline:
            return OffsetResult(ErrorCode.KAFKA_STORAGE_ERROR)
        end_offset = self.log_end_offset if isolation is None else self._readable_end(isolation)
        if timestamp == LATEST_TIMESTAMP:
            return OffsetResult(ErrorCode.NONE, offset=end_offset, leader_epoch=self.leader_epoch)
        if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            epoch = self._epochs.epoch_at(self.log_start_offset)
            return OffsetResult(ErrorCode.NONE, offset=self.log_start_offset, leader_epoch=epoch)
        if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
            return OffsetResult(ErrorCode.NONE)
        segments, record_bytes_max = self._storage.segments, self.config.rules.max_decompressed_message_bytes
        try:
            if timestamp == MAX_TIMESTAMP:
                found = find_max_timestamp(segments, record_bytes_max)
            else:
                found = find_timestamp(segments, timestamp, self.log_start_offset, record_bytes_max)
        except BatchError as unreadable:
            return OffsetResult(unreadable.error)
        except StorageError:
            return OffsetResult(ErrorCode.KAFKA_STORAGE_ERROR)
        if found is None or found.offset >= end_offset:
            return OffsetResult(ErrorCode.NONE)
        return OffsetResult(ErrorCode.NONE, *found)

    def offset_for_leader_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """(largest epoch up to `leader_epoch`, the offset it ended at); (-1, -1) where there is no telling."""
        return self._epochs.end_offset_for(leader_epoch, self.log_end_offset)

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments, oldest first; the last one is active. To look at, and to `replace`."""
        return self._storage.segments

    @property
    def leader_epochs(self) -> tuple[EpochStart, ...]:
        """Which leader wrote which part, oldest first."""
        return tuple(self._epochs.entries)

    @property
    def is_offline(self) -> bool:
        """Whether its storage has failed: it is answered KAFKA_STORAGE_ERROR until the broker is started anew."""
        return self._storage.is_offline

    @property
    def is_replacing(self) -> bool:
        """Whether the disk has not come to the end of a replacement yet."""
        return self._storage.is_replacing

    @property
    def size_bytes(self) -> int:
        """Of all batches, as DescribeLogDirs counts."""
        return sum(segment.size_bytes for segment in self._storage.segments)

    def _readable_end(self, isolation: IsolationLevel) -> int:
        return self.last_stable_offset if isolation is READ_COMMITTED else self.high_watermark
