"""Reading back what coordinators keep: a partition of an internal topic, record by record, as a job in the background.

    batches ──▶ records ──▶ Shard.replay ──▶ machines come to life ──▶ clients find them

Partitions are read one after another, in the order in which they were asked for. Until one is read its clients are
told to wait. One that can't be read is refused from then on, and the log says why. A machine that has met a bug of ours
is read anew the same way, alone.

Kafka: CoordinatorLoaderImpl.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.coordinator.runtime.records import CorruptRecordError
from ottla.events.kind import Kind
from ottla.events.setbacks import reason_of
from ottla.log.storage.contract import StorageError
from ottla.log.transaction_marker import read_marker
from ottla.protocol.batch_error import BatchError
from ottla.protocol.record_reading import read_records
from ottla.protocol.records import batch_spans, read_header

if TYPE_CHECKING:
    from ottla.broker.internal.coordinated_topic import CoordinatedTopic
    from ottla.broker.upkeep.background import Background
    from ottla.coordinator.runtime.runtime import Loading as RuntimeLoading
    from ottla.coordinator.runtime.runtime import Runtime
    from ottla.coordinator.runtime.shard import Shard
    from ottla.events.stream import Stream
    from ottla.log.job import Job
    from ottla.log.partition import Partition

#: How much of a log is looked at at once; more if a batch is larger.
READ_BYTES: Final = 256 * 1024
_RECORDS_PER_STEP: Final = 16

#: Called when a machine was read anew, or with what was raised, while that is being handled.
Then: TypeAlias = Callable[[Exception | None], None]


class Loading:
    """The partitions of one internal topic that are being read, or are to be."""

    def __init__(self, background: Background, about: CoordinatedTopic, events: Stream) -> None:
        self._about = about
        #: Called each time a partition was read, or can't be.
        self.on_each: list[Callable[[], object]] = []
        self._background = background
        self._now_ms = events.now_ms
        self._events = events
        #: Whether there has once been nothing more to be read.
        self._has_loaded = False
        self._waiting: deque[Job] = deque()
        self._is_reading = False

    def load(self, runtime: Runtime[Any], log: Partition) -> None:
        """Let the runtime load this partition. An empty one is loaded when this returns."""
        loading = runtime.start_loading(log.index)
        job = self._load(runtime, loading, log)
        if log.log_start_offset == log.log_end_offset:
            for _ in job:
                pass
            self._tell_each()
            return
        self._read_soon(job)

    def recover(self, runtime: Runtime[Any], log: Partition, key: str, then: Then) -> None:
        """Read a machine anew that was given up. `then` is told when it is there again, or what failed."""
        self._read_soon(self._recover(runtime, log, key, then))

    def _read_soon(self, job: Job) -> None:
        self._waiting.append(job)
        if not self._is_reading:
            self._is_reading = True
            self._background.start(self._read_all(), self._about.loading)

    def _read_all(self) -> Job:
        while self._waiting:
            try:
                yield from self._waiting.popleft()
            except Exception as error:  # in what is said of it, or in bringing a machine to life again
                self._events.tell(Kind.JOB_FAILED, raised=error, job=self._about.loading, reason=reason_of(error))
            self._tell_each()
        self._is_reading = False
        if not self._has_loaded:
            self._has_loaded = True
            if self._about.all_loaded is not None:
                self._events.tell(self._about.all_loaded)

    def _tell_each(self) -> None:
        for tell in self.on_each:
            tell()

    def _load(self, runtime: Runtime[Any], loading: RuntimeLoading[Any], log: Partition) -> Job:
        """Go on as long as the partition is still to be loaded there."""
        index, begun_ms = log.index, self._now_ms()
        try:
            for _ in chain([None], _steps(runtime, loading, log)):
                if not runtime.is_loading(index, loading):
                    return
                yield
        except (BatchError, CorruptRecordError, StorageError) as error:
            runtime.fail_loading(index, loading)
            self._events.tell(self._about.load_failed, partition=index, reason=str(error))
            return
        except Exception as error:
            runtime.fail_loading(index, loading)
            self._events.tell(self._about.load_failed, raised=error, partition=index, reason=reason_of(error))
            return
        shard = loading.shard
        for record_type, records in shard.unknown_types.items():
            self._events.tell(self._about.records_ignored, partition=index, record_type=record_type, records=records)
        if shard.machines and log.log_start_offset < log.log_end_offset:
            field = self._about.machines_field
            machines: dict[str, Any] = {} if field is None else {field: len(shard.machines)}
            duration_ms = self._now_ms() - begun_ms
            self._events.tell(self._about.loaded, partition=index, **machines, duration_ms=duration_ms)

    def _recover(self, runtime: Runtime[Any], log: Partition, key: str, then: Then) -> Job:
        """Go on as long as the machine is still to be read there."""
        if not runtime.is_given_up(key):
            return  # its partition was unloaded while others were read
        shard = runtime.start_recovery(key)
        try:
            for _ in chain([None], replay_log(log, shard)):
                if not runtime.is_given_up(key):
                    return
                yield
            is_back = runtime.finish_recovery(key, shard)
        except Exception as error:
            then(error)
            return
        if is_back:
            then(None)


def _steps(runtime: Runtime[Any], loading: RuntimeLoading[Any], log: Partition) -> Iterator[None]:
    yield from replay_log(log, loading.shard)
    yield from runtime.finish_loading(log.index, loading)


def replay_log(log: Partition, shard: Shard[Any]) -> Iterator[None]:
    """Replay every record of the log, a few with each step.

    Raises `BatchError` or `CorruptRecordError` for what can't be understood, `StorageError` for what can't be read.
    """
    offset = log.log_start_offset
    while records := log.read_to_end(offset, READ_BYTES):
        for position, size_bytes, _magic in batch_spans(records):
            batch = memoryview(records)[position : position + size_bytes]
            header = read_header(batch)
            if header.is_control:
                if (marker := read_marker(batch, header)) is not None:
                    shard.end_transaction(header.producer_id, is_commit=marker.is_commit)
            else:
                for number, record in enumerate(read_records(batch, header)):
                    shard.replay(record.key, record.value, header.producer_id)
                    if number % _RECORDS_PER_STEP == 0:
                        yield
            offset = header.last_offset + 1
            yield
