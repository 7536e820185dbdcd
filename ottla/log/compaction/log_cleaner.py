"""The log cleaner: looks for the dirtiest compacted log, cleans it, looks again, and then rests for a while.

All of it is one job in the background, in steps. It writes a new segment beside the old ones, and replaces them at once
when it is complete. So a fetch, a deleted topic or the end of the broker in between finds a whole log. After each step
it checks whether the log is still to be cleaned. If the topic was deleted, is not compacted any more, or retention has
removed the segments, the cleaning ends. A checkpoint tells how far each log was cleaned; if it is lost, the logs are
cleaned again.

Logs with cleanup.policy=compact,delete also lose their old segments in each round.

    log.cleaner.backoff.ms       how long it rests when nothing is dirty enough
    log.cleaner.enable           false: compacted logs only grow

Kafka: LogCleaner, LogCleanerManager, Cleaner.doClean.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of
from ottla.log.care import LogCare
from ottla.log.compaction.cleanable import Cleanable, look_at, portions
from ottla.log.compaction.cleaned_transactions import CleanedTransactions
from ottla.log.compaction.compaction import CleaningPass, LatestOffsets, last_batches
from ottla.log.storage.contract import StorageError
from ottla.protocol.batch_error import BatchError
from ottla.protocol.records import read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ottla.events.stream import Stream
    from ottla.log.job import Job
    from ottla.log.logs import Logs
    from ottla.log.partition import Partition
    from ottla.log.storage.segment import Segment
    from ottla.settings.settings import Settings

#: The keys of one pass take at most this much memory, even if log.cleaner.dedupe.buffer.size is larger.
KEYS_BYTES_MAX: Final = 64 * 1024 * 1024
#: Looking at a log takes some microseconds.
_LOOKS_PER_STEP: Final = 16


class CleaningAbortedError(Exception):
    """The log has changed since its cleaning began, and is not to be cleaned. Kafka: LogCleaningAbortedException."""


class LogCleaner:
    """Cleans the compacted logs."""

    def __init__(self, logs: Logs, settings: Settings, wall_ms: Callable[[], int], events: Stream) -> None:
        """`wall_ms`: the date, in milliseconds since 1970."""
        self._logs = logs
        self._settings = settings
        self._now_ms = events.now_ms
        self._wall_ms = wall_ms
        self._events = events
        #: Logs that could not be cleaned; they are left alone until the broker restarts.
        self._uncleanable: set[Partition] = set()
        #: Logs that can't be cleaned at the moment, by topic id and number.
        self._setbacks: Setbacks[tuple[bytes, int]] = Setbacks(events.now_ms)
        self._retention = LogCare("retention", events)

    def round(self) -> Job | None:
        """Clean each log that is dirty enough, if any log is compacted at all."""
        return self._round() if self._compacted_logs() else None

    def has_work(self, wall_ms: int) -> bool:
        """Whether a round at this date would clean a log or remove segments. One that has failed is tried again."""
        for log in self._compacted_logs():
            if log.is_retention_due(wall_ms) or self._setbacks.failures((log.topic_id, log.index)):
                return True
            if log not in self._uncleanable and ((found := self._look_at(log, wall_ms)) is None or found.is_due):
                return True
        return False

    def _round(self) -> Job:
        failed = {log for log in self._compacted_logs() if self._setbacks.is_resting((log.topic_id, log.index))}
        self._uncleanable = {log for log in self._uncleanable if not log.is_closed}
        failed |= self._uncleanable
        while (dirtiest := (yield from self._find_dirtiest(failed))) is not None:
            if not (yield from self._clean(dirtiest)):
                failed.add(dirtiest.log)
        for log in self._compacted_logs():
            if not log.is_closed:
                self._retention(log, log.apply_retention, self._wall_ms())
            yield

    def _compacted_logs(self) -> list[Partition]:
        return [log for log in self._logs.partitions if log.config.compact and not log.is_closed]

    def _find_dirtiest(self, failed: set[Partition]) -> Generator[None, None, Cleanable | None]:
        """The log with the largest dirty part of those that are due."""
        wall_ms = self._wall_ms()
        dirtiest: Cleanable | None = None
        for number, log in enumerate(self._compacted_logs()):
            if log not in failed and not log.is_closed and log.config.compact:
                found = self._look_at(log, wall_ms)
                if found is None:
                    failed.add(log)
                elif found.is_due and (dirtiest is None or found.dirty_ratio > dirtiest.dirty_ratio):
                    dirtiest = found
            if number % _LOOKS_PER_STEP == 0:
                yield
        return dirtiest

    def _look_at(self, log: Partition, wall_ms: int) -> Cleanable | None:
        try:
            return look_at(log, wall_ms)
        except Exception as error:
            self._give_up(log, error)
            return None

    def _give_up(self, log: Partition, error: Exception) -> None:
        """After an unexpected error, treat the log as one that can't be read. For `except` blocks.

        Kafka: markPartitionUncleanable.
        """
        self._uncleanable.add(log)
        topic, partition, reason = log.topic, log.index, reason_of(error)
        self._events.tell(Kind.LOG_CLEANING_FAILED, raised=error, topic=topic, partition=partition, reason=reason)

    def _clean(self, cleanable: Cleanable) -> Generator[None, None, bool]:
        """Clean one log; returns whether the cleaning was completed."""
        log = cleanable.log
        begun_ms, bytes_before = self._now_ms(), log.size_bytes
        try:
            end_offset = yield from clean(cleanable, self._wall_ms(), self._keys_bytes_max)
        except StorageError as error:
            # The log has failed, and says so itself with the next append.
            if self._setbacks.failed((log.topic_id, log.index), error):
                self._events.tell(Kind.LOG_CLEANING_STOPPED, topic=log.topic, partition=log.index, reason=str(error))
            return False
        except CleaningAbortedError:
            return False
        except BatchError as error:
            self._uncleanable.add(log)
            self._events.tell(Kind.LOG_CLEANING_FAILED, topic=log.topic, partition=log.index, reason=str(error))
            return False
        except Exception as error:
            self._give_up(log, error)
            return False
        self._setbacks.went_well((log.topic_id, log.index))
        self._logs.note_cleaned(log, end_offset)
        self._events.tell(
            Kind.LOG_CLEANED,
            topic=log.topic,
            partition=log.index,
            first_offset=cleanable.first_dirty_offset,
            end_offset=end_offset,
            bytes_before=bytes_before,
            bytes_after=log.size_bytes,
            duration_ms=self._now_ms() - begun_ms,
        )
        return end_offset > cleanable.first_dirty_offset

    @property
    def _keys_bytes_max(self) -> int:
        buffer_bytes: int = self._settings["log.cleaner.dedupe.buffer.size"]
        return min(buffer_bytes, KEYS_BYTES_MAX)


def clean(cleanable: Cleanable, wall_ms: int, keys_bytes_max: int) -> Generator[None, None, int]:
    """Clean a log; returns up to where. It may be less than all when there are too many keys.

    Raises `StorageError`, `BatchError` and `CleaningAbortedError`; then what was replaced by then is cleaned, and the
    rest is as it was.
    """
    log = cleanable.log
    latest = yield from _read_latest_offsets(cleanable, keys_bytes_max)
    segments = [segment for segment in log.segments[:-1] if segment.base_offset < latest.end_offset]
    cleaning_pass = CleaningPass(
        latest,
        CleanedTransactions([aborted for segment in log.segments for aborted in segment.aborted]),
        last_batches(log.producers),
        log.high_watermark,
        wall_ms,
        log.config.delete_retention_ms,
    )
    for run in portions(segments, log.config.segment_bytes, cleanable.end_offset):
        yield from _replace(log, run, cleaning_pass)
    return latest.end_offset


def _check_still(log: Partition, segment: Segment) -> None:
    """After a step: raise `CleaningAbortedError` unless the log is still to be cleaned and the segment in it.

    Kafka: LogCleanerManager.checkCleaningAborted.
    """
    if log.is_closed or not log.config.compact or segment.base_offset < log.segments[0].base_offset:
        raise CleaningAbortedError


def _read_latest_offsets(cleanable: Cleanable, keys_bytes_max: int) -> Generator[None, None, LatestOffsets]:
    log, start_offset, end_offset = cleanable.log, cleanable.first_dirty_offset, cleanable.end_offset
    latest = LatestOffsets(start_offset, keys_bytes_max, log.config.rules.max_decompressed_message_bytes)
    transactions = CleanedTransactions(
        [aborted for segment in log.segments for aborted in segment.aborted if aborted.last_offset >= start_offset]
    )
    for segment in [segment for segment in log.segments[:-1] if segment.base_offset < end_offset]:
        if segment.next_offset <= start_offset:
            continue
        for batch in segment.batches(segment.find(start_offset)[0]):
            if latest.is_full:
                return latest
            header = read_header(batch)
            if not transactions.can_go(batch, header) and not header.is_control:
                yield from latest.read(batch, header)
            latest.end_offset = header.last_offset + 1
            yield
            _check_still(log, segment)
    latest.end_offset = max(latest.end_offset, end_offset)
    return latest


def _replace(log: Partition, run: Sequence[Segment], cleaning_pass: CleaningPass) -> Job:
    """Put one clean segment in the place of these."""
    replacement = log.replace(run)
    is_complete = False
    try:
        for segment in run:
            for batch in segment.batches():
                header = read_header(batch)
                cleaned = yield from cleaning_pass.clean(batch, header)
                _check_still(log, run[0])
                if cleaned is not None:
                    replacement.append(cleaned.data, header.last_offset, cleaned.max_timestamp)
                yield
                _check_still(log, run[0])
        replacement.commit(cleaning_pass.transactions.still_aborted)
        cleaning_pass.transactions.still_aborted = []
        is_complete = True
    finally:
        if not is_complete:
            replacement.abandon()
