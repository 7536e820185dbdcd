"""A partition: one log, its producers, and the listeners that are told when it moves.

There is one copy of each log, so what is appended is at once what readers may see, unless the high watermark is held
because a replica would not have got it. What readers find is in `ReadableLog`; here is what changes it.

Everything is synchronous and belongs to one owner; time comes in as an argument. Nothing a client sends makes a method
raise: refusals are values. A method that refuses has changed nothing, but that the active segment may have been closed:
Kafka does that before it looks at the producer. Listeners are called last, with everything in place.

Kafka: Partition, UnifiedLog, LocalLog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from ottla.log.config import LogConfig
from ottla.log.partition_answers import ADVANCED, AppendResult, PartitionEvent
from ottla.log.producer_state import ProducerSettings, Verification
from ottla.log.readable_log import ReadableLog
from ottla.log.reading import batch_offset
from ottla.log.replay import note_batch, recover
from ottla.log.retention import removable_segments
from ottla.log.storage.contract import LogState, LogStorage, Replacement, StorageError
from ottla.log.storage.segment import RELATIVE_OFFSET_MAX, Segment
from ottla.log.transaction_marker import EndedTransaction, TransactionMarker, build_marker
from ottla.protocol.batch_error import BatchError, RecordFault
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_validation import PreparedBatch, prepare_append
from ottla.protocol.records import LOG_APPEND_TIME, BatchHeader, placed_head, read_header

#: Refused with one of these, a batch is answered without the log's start offset. Kafka:
#: ReplicaManager.appendToLocalLog.
_WITHOUT_LOG_START: Final = frozenset(
    (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)


Listener: TypeAlias = Callable[["Partition", PartitionEvent], None]


class Partition(ReadableLog):
    """One partition of a topic, and its log."""

    __slots__ = (
        "_flushed_ms",
        "_flushed_offset",
        "_high_watermark_is_held",
        "cleaned_offset",
        "index",
        "listeners",
        "producers",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        config: LogConfig,
        storage: LogStorage,
        producer_settings: ProducerSettings,
        leader_epoch: int = 0,
    ) -> None:
        """Open the log that `storage` holds, be it new or from before a restart, and lead it under `leader_epoch`.

        `config` may be replaced at any time.
        """
        recovered = recover(storage, producer_settings)
        super().__init__(storage, recovered, config)
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        #: How far compaction has cleaned the log.
        self.cleaned_offset = 0
        self._high_watermark_is_held = False
        #: Called in this order after each change; see `PartitionEvent`. No part of the stream of events: this is told
        #: with each batch, so produce would pay for an event, and a waiting request is about few partitions.
        self.listeners: list[Listener] = []
        self._flushed_offset, self._flushed_ms = self.log_end_offset, 0
        self.producers = recovered.producers
        self._settle()
        self.lead(leader_epoch)

    # Appending

    def prepare(self, batch: Buffer, header: BatchHeader, wall_ms: int) -> PreparedBatch | AppendResult:
        """Check what a client sent, a batch and its header as `only_batch` found them; returns what `append_prepared`
        takes, or why the batch is refused.

        The log is not changed. The task may be suspended in here, and the log grow or lose its leader meanwhile.
        """
        try:
            return prepare_append(batch, header, self.config.rules, now_ms=wall_ms)
        except BatchError as refused:
            if self.is_closed or self._storage.is_offline:
                return self._refuse_all()
            return self._refuse(refused.error, str(refused) if refused.faults else None, refused.faults)

    def append_prepared(
        self,
        data: Buffer,
        header: BatchHeader,
        max_timestamp: int,
        wall_ms: int,
        verification: Verification | None = None,
    ) -> AppendResult:
        """Append a batch whose records were looked at. `header` is as it was sent, `data` what the log is to keep.

        All that depends on the log's state is checked here, and nothing suspends the task between check and append. A
        repeat of one of the producer's last batches is answered as that was, and not appended. `verification` goes
        with a transactional batch, see `ProducerStates.start_verification`.
        """
        if self.is_closed or self._storage.is_offline:
            return self._refuse_all()
        if len(data) > self.config.segment_bytes:
            return self._refuse(ErrorCode.RECORD_LIST_TOO_LARGE)
        last_offset = self.log_end_offset + header.records_count - 1
        self._maybe_roll(len(data), last_offset, max_timestamp, wall_ms)
        producer_id = header.producer_id
        if producer_id >= 0:
            epoch, first_sequence, last_sequence = header.producer_epoch, header.base_sequence, header.last_sequence
            repeated = self.producers.find_repeat(producer_id, epoch, first_sequence, last_sequence)
            if repeated is not None:
                return AppendResult(ErrorCode.NONE, *repeated[2:], self.log_start_offset)
            error = self.producers.check_batch(
                producer_id, epoch, first_sequence, header.is_transactional, verification
            )
            if error:
                return self._refuse(error)
        return self._append(data, header, last_offset, max_timestamp, wall_ms)

    def append_internal(self, batch: bytes, wall_ms: int, verification: Verification | None = None) -> AppendResult:
        """Append a batch the broker made itself, at any base offset; its records and checksum are taken on trust.

        With a producer id (offsets committed in a transaction) the producer is checked, but for sequence numbers.
        """
        if self.is_closed or self._storage.is_offline:
            return self._refuse_all()
        if len(batch) > self.config.rules.max_message_bytes:
            return AppendResult(ErrorCode.MESSAGE_TOO_LARGE)
        if len(batch) > self.config.segment_bytes:
            return AppendResult(ErrorCode.RECORD_LIST_TOO_LARGE)
        header = read_header(batch)
        last_offset = self.log_end_offset + header.last_offset_delta
        self._maybe_roll(len(batch), last_offset, header.max_timestamp, wall_ms)
        if header.producer_id >= 0:
            error = self.producers.check_batch(
                header.producer_id, header.producer_epoch, None, header.is_transactional, verification
            )
            if error:
                return self._refuse(error)
        return self._append(batch, header, last_offset, header.max_timestamp, wall_ms)

    def append_marker(
        self,
        marker: TransactionMarker,
        producer_id: int,
        producer_epoch: int,
        transaction_version: int,
        wall_ms: int,
    ) -> AppendResult:
        """End the producer's transaction on this partition with a control batch, even if none is open here."""
        if self.is_closed or self._storage.is_offline:
            return self._refuse_all()
        batch = build_marker(marker, producer_id, producer_epoch, wall_ms)
        if len(batch) > self.config.segment_bytes:
            return AppendResult(ErrorCode.RECORD_LIST_TOO_LARGE)
        self._maybe_roll(len(batch), self.log_end_offset, wall_ms, wall_ms)
        error = self.producers.check_marker(producer_id, producer_epoch, marker.coordinator_epoch, transaction_version)
        if error:
            return self._refuse(error)
        return self._append(batch, read_header(batch), self.log_end_offset, wall_ms, wall_ms, marker)

    def append_ended(self, ended: EndedTransaction, wall_ms: int) -> AppendResult:
        """The same, as a coordinator tells of it."""
        marker, version = ended.marker, ended.transaction_version
        return self.append_marker(marker, ended.producer_id, ended.producer_epoch, version, wall_ms)

    def _maybe_roll(self, size: int, last_offset: int, max_timestamp: int, wall_ms: int) -> None:
        """Close the active segment if a batch of `size` bytes would make it too large, or comes too late for it."""
        segment = self._storage.segments[-1]
        filled_bytes = segment.size_bytes
        if (
            filled_bytes + size > self.config.segment_bytes
            or (filled_bytes and segment.waited_for_roll_ms(max_timestamp, wall_ms) > self.config.roll_ms)
            or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
        ):
            self._roll(wall_ms)

    def _roll(self, wall_ms: int) -> None:
        self._storage.roll(self.log_end_offset, wall_ms)
        self._storage.save_producers(self.log_end_offset, self.producers)

    def _append(
        self,
        batch: Buffer,
        header: BatchHeader,
        last_offset: int,
        max_timestamp: int,
        wall_ms: int,
        marker: TransactionMarker | None = None,
    ) -> AppendResult:
        """Put a batch that has passed every check at the end of the log, and remember its producer."""
        base_offset = self.log_end_offset
        head = placed_head(len(batch), base_offset, self.leader_epoch)
        try:
            self._storage.append(batch, last_offset, max_timestamp, wall_ms, head)
            if last_offset - self._flushed_offset >= self.config.flush_messages - 1:
                self._flush(last_offset + 1, wall_ms)
        except StorageError as failed:
            return AppendResult(ErrorCode.KAFKA_STORAGE_ERROR, error_message=str(failed))
        self.log_end_offset = end_offset = last_offset + 1
        producers, is_held = self.producers, self._high_watermark_is_held
        if not is_held:
            self.high_watermark = end_offset
        if header.producer_id >= 0:
            note_batch(producers, self._storage.segments[-1], header, base_offset, max_timestamp, marker)
        if is_held or producers.first_open_offset is not None:
            self._settle()
        else:
            self.last_stable_offset = end_offset
        for listener in self.listeners:
            listener(self, ADVANCED)
        is_append_time = self.config.rules.message_timestamp_type is LOG_APPEND_TIME
        return AppendResult(
            NONE, base_offset, last_offset, max_timestamp if is_append_time else -1, self.log_start_offset
        )

    def is_flush_due(self, wall_ms: int) -> bool:
        """Whether something was not flushed for flush.ms."""
        is_recent = 0 <= wall_ms - self._flushed_ms < self.config.flush_ms
        return self._flushed_offset < self.log_end_offset and not is_recent

    def flush_if_due(self, wall_ms: int) -> None:
        """Have the log on the device if it has not been for flush.ms, or if the date has gone back, so that is unknown.

        Kafka: LogManager.flushDirtyLogs.
        """
        if self.is_flush_due(wall_ms):
            with suppress(StorageError):  # which has taken it offline
                self._flush(self.log_end_offset, wall_ms)

    def _flush(self, end_offset: int, wall_ms: int) -> None:
        self._storage.flush()
        self._flushed_offset, self._flushed_ms = end_offset, wall_ms

    def _refuse_all(self) -> AppendResult:
        """The log is deleted, or its disk has failed."""
        return AppendResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if self.is_closed else ErrorCode.KAFKA_STORAGE_ERROR)

    def _refuse(
        self, error: ErrorCode, message: str | None = None, faults: tuple[RecordFault, ...] = ()
    ) -> AppendResult:
        log_start_offset = -1 if error in _WITHOUT_LOG_START else self.log_start_offset
        return AppendResult(error, log_start_offset=log_start_offset, record_errors=faults, error_message=message)

    # Removing

    def delete_records(self, offset: int) -> tuple[ErrorCode, int]:
        """Let the log start at `offset`; -1 is the high watermark. Returns (error, where the log starts; -1 in errors).

        An offset the log has left behind changes nothing. Bytes are given back when retention next runs.
        """
        if self.is_closed:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1
        if self.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, -1
        if self.config.compact and not self.config.delete:
            return ErrorCode.POLICY_VIOLATION, -1
        if offset == -1:
            offset = self.high_watermark
        if not 0 <= offset <= self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, -1
        self._move_log_start(offset)
        return ErrorCode.NONE, self.log_start_offset

    def is_retention_due(self, wall_ms: int) -> bool:
        """Whether `apply_retention` would remove anything at this date."""
        return not self._storage.is_offline and self._removable_segments(wall_ms) > 0

    def _removable_segments(self, wall_ms: int) -> int:
        segments = self._storage.segments
        return removable_segments(segments, self.log_start_offset, self.high_watermark, self.config, wall_ms)

    def apply_retention(self, wall_ms: int) -> None:
        """Remove the segments that the topic's retention and the log's start have left behind."""
        storage = self._storage
        if storage.is_offline:
            return
        count = self._removable_segments(wall_ms)
        if count == len(storage.segments):
            self._roll(wall_ms)
        if count:
            storage.remove_oldest(count)
            self._move_log_start(storage.segments[0].base_offset)

    def replace(self, segments: Sequence[Segment]) -> Replacement:
        """Begin a segment with fewer batches in the place of `segments`; see `LogStorage.replace`.

        What it leaves out must be of no use any more to readers, nor to the next opening. Raises `StorageError`.
        """
        return self._storage.replace(segments)

    def _move_log_start(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self._epochs.cut_start(offset)
            self._settle()
            self._save_state()
            self._tell(PartitionEvent.LOG_START_MOVED)

    # Leading and closing

    def lead(self, leader_epoch: int) -> None:
        """Go on under a higher leader epoch, which from now on is written into every batch. A lower one is ignored."""
        if leader_epoch > self.leader_epoch:
            self.leader_epoch = leader_epoch
            if self._epochs.assign(leader_epoch, self.log_end_offset):
                self._save_state()
            self._tell(PartitionEvent.LEADER_CHANGED)

    @property
    def is_high_watermark_held(self) -> bool:
        """Whether what is appended is not to be read yet."""
        return self._high_watermark_is_held

    def hold_high_watermark(self, *, held: bool) -> None:
        """Leave the high watermark where it is, or let it follow the log's end.

        Kafka: Partition.maybeIncrementLeaderHW.
        """
        was_held, self._high_watermark_is_held = self._high_watermark_is_held, held
        if was_held and not held and self.high_watermark < self.log_end_offset:
            self.high_watermark = self.log_end_offset
            self._settle()
            self._tell(ADVANCED)

    def close(self) -> None:
        """Stop for a restart: everything is kept and the next owner of the storage finds it."""
        if not self.is_closed:
            self.is_closed = True
            self._storage.save_producers(self.log_end_offset, self.producers)
            with suppress(StorageError):  # the next start looks at what was not flushed
                self._storage.flush()
            self._storage.close()
            self._tell(PartitionEvent.CLOSED)

    def delete(self) -> None:
        """The topic is gone: give everything back. Views handed out before stay readable."""
        if not self.is_closed:
            self.is_closed = True
            self._storage.delete()
            self._tell(PartitionEvent.CLOSED)

    def _settle(self) -> None:
        """Where readers of committed records stop, after anything moved.

        A transaction whose marker is above the high watermark still holds them back, as one that is open. Kafka:
        ProducerStateManager.firstUnstableOffset.
        """
        first_open = self.producers.first_open_offset
        stable_offset = self.high_watermark if first_open is None else min(self.high_watermark, first_open)
        if stable_offset < self.log_start_offset:
            # Its beginning is gone. As in Kafka, what is stable then ends before the batch that is the log's first.
            with suppress(StorageError):
                stable_offset = batch_offset(self._storage.segments, self.log_start_offset)
        if self._high_watermark_is_held and stable_offset > self.last_stable_offset:
            stable_offset = max(self.last_stable_offset, self.log_start_offset)
        self.last_stable_offset = stable_offset

    def _save_state(self) -> None:
        self._storage.save_state(LogState(self.log_start_offset, tuple(self._epochs.entries)))

    def _tell(self, event: PartitionEvent) -> None:
        for listener in self.listeners:
            listener(self, event)
