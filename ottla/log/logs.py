"""All logs of the process: what they share, and how one is opened.

Loaded with the first topic: a broker that only coordinates groups, or is just being started, needs nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ottla.log.config import LogConfig
from ottla.log.partition import Partition
from ottla.log.producer_state import ProducerSettings
from ottla.log.storage.contract import LogStorage, WrapStorage
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import FrozenLog, MemoryStorage
from ottla.settings.settings import Settings

if TYPE_CHECKING:
    from ottla.log.care import LogCare
    from ottla.log.job import Job


#: (topic, partition, what is full: a setting's name or the machine's memory, a sentence that says what to do)
TellFull: TypeAlias = Callable[[str, int, str, str], None]
#: Looking at a log takes a microsecond or two, if there is nothing to do.
_LOGS_PER_STEP: Final = 16


class LogStore(Protocol):
    """Where logs are on disk."""

    def open_log(self, topic: str, topic_id: bytes, index: int) -> tuple[LogStorage, int]:
        """(the log of a partition, the leader epoch it is led under)."""

    def cleaned_offset(self, topic: str, index: int) -> int:
        """How far compaction had cleaned a log."""

    def save_cleaned_offset(self, topic: str, index: int, offset: int) -> None:
        """Keep how far compaction has cleaned a log."""


class Logs:
    """What every partition's log has in common."""

    def __init__(
        self,
        settings: Settings,
        wall_ms: Callable[[], int],
        store: LogStore | None = None,
        full: TellFull | None = None,
    ) -> None:
        """`wall_ms`: the date. `store`: where logs are on disk; None: in memory. `full`: called for each batch that the
        memory has no room for.
        """
        self._settings = settings
        self._store = store
        self._full = full
        #: Puts something around the storage of each log that is opened, such as a fault.
        self.wrap_storage: WrapStorage | None = None
        self._wall_ms = wall_ms
        #: The account of all their bytes, limited by ottla.log.bytes.max.
        self.bytes = LogBytes(settings["ottla.log.bytes.max"], reclaim=self.reclaim)
        self.producer_settings = ProducerSettings()
        #: In the order in which they were opened.
        self._partitions: dict[Partition, None] = {}
        #: What logs that are still to be opened begin with, by topic and number.
        self._beginnings: dict[tuple[str, int], FrozenLog] = {}
        self.apply_settings()

    def open(self, topic: str, topic_id: bytes, index: int, config: LogConfig) -> Partition:
        """The log of one partition: new and empty, or as it was left on disk."""
        storage: LogStorage
        leader_epoch = 0
        frozen = self._beginnings.pop((topic, index), None)
        if self._store is None:
            storage = MemoryStorage(self.bytes, self._wall_ms(), self._full and partial(self._full, topic, index))
            if frozen is not None:
                storage.begin_with(frozen)
                leader_epoch = frozen.leader_epoch
        else:
            storage, leader_epoch = self._store.open_log(topic, topic_id, index)
        if self.wrap_storage is not None:
            storage = self.wrap_storage(storage, topic, index)
        partition = Partition(topic, topic_id, index, config, storage, self.producer_settings, leader_epoch)
        if self._store is not None:
            partition.cleaned_offset = self._store.cleaned_offset(topic, index)
        elif frozen is not None:
            partition.cleaned_offset = frozen.cleaned_offset
        self._partitions[partition] = None
        return partition

    def forget(self, deleted: Iterable[Partition]) -> None:
        """Forget these: their topic was deleted."""
        for partition in deleted:
            self._partitions.pop(partition, None)

    def begin_with(self, topic: str, logs: Sequence[FrozenLog]) -> None:
        """Open the logs of this topic, which is about to be made, with these contents. Only in memory."""
        self._beginnings.update({(topic, index): frozen for index, frozen in enumerate(logs)})

    def flush_due(self, wall_ms: int, care: LogCare) -> Job:
        """Flush every log that has not been flushed for flush.ms, one with each step."""
        for partition in self.partitions:
            care(partition, partition.flush_if_due, wall_ms)
            yield

    def is_flush_due(self, wall_ms: int) -> bool:
        """Whether `flush_due` would flush any log at this date."""
        return any(partition.is_flush_due(wall_ms) for partition in self.partitions)

    def close(self) -> None:
        """Close all logs; those on disk are flushed first."""
        for partition in self.partitions:
            partition.close()

    @property
    def partitions(self) -> list[Partition]:
        """Every log that is open."""
        return [partition for partition in self._partitions if not partition.is_closed]

    def apply_retention(self, wall_ms: int, care: LogCare) -> Job:
        """Apply retention to every log that is not compacted; the log cleaner does so for the others."""
        for number, partition in enumerate(self.partitions):
            if not partition.config.compact and not partition.is_closed:
                care(partition, partition.apply_retention, wall_ms)
            if number % _LOGS_PER_STEP == 0:
                yield

    def is_retention_due(self, wall_ms: int) -> bool:
        """Whether `apply_retention` would remove anything at this date."""
        return any(not one.config.compact and one.is_retention_due(wall_ms) for one in self.partitions)

    def reclaim(self, wall_ms: int) -> None:
        """The account is full: apply retention to all logs."""
        for partition in self.partitions:
            partition.apply_retention(wall_ms)

    def note_cleaned(self, partition: Partition, end_offset: int) -> None:
        """Compaction has cleaned a log up to this offset."""
        partition.cleaned_offset = end_offset
        if self._store is not None:
            self._store.save_cleaned_offset(partition.topic, partition.index, end_offset)

    def remove_expired_producers(self, wall_ms: int, care: LogCare) -> Job:
        """Forget the producers that have not appended to a log for producer.id.expiration.ms."""
        for number, partition in enumerate(self.partitions):
            care(partition, partition.producers.remove_expired, wall_ms)
            if number % _LOGS_PER_STEP == 0:
                yield

    def has_expired_producers(self, wall_ms: int) -> bool:
        """Whether `remove_expired_producers` would remove any at this date."""
        return any(partition.producers.has_expired(wall_ms) for partition in self.partitions)

    def apply_settings(self) -> None:
        """Use the settings as they are now."""
        self.producer_settings.producer_id_expiration_ms = self._settings["producer.id.expiration.ms"]
        self.producer_settings.transaction_partition_verification_enable = self._settings[
            "transaction.partition.verification.enable"
        ]
