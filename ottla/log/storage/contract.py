"""The contract between a partition and the storage of its batches.

    segments   oldest ─▶ [0 … 41] [42 … 97] [98 … ] ◀─ active, the only one that grows
                                              ▲
                     remove_oldest(1) ──▶     append(batch, …)

A storage keeps bytes and finds them again; what they mean is the partition's business. Of a batch it knows the header,
never the records; it decides neither when to roll nor what to remove, and reads no clock. The batches of a segment lie
back to back exactly as on the wire, so a range of positions is what Fetch sends. Beside them a storage keeps what can't
be worked out from the batches alone, as a `LogState`, and may keep snapshots of the producers, which only shorten a
restart.

The partition is the only one to call, from one thread. What reads or writes batches may fail, with `StorageError`, and
has changed nothing then. After a failure that leaves it in doubt what is kept, the storage is offline: from then on it
reads and writes nothing, and says so. What it is asked to do beside that it does as far as it can.

Kafka: LocalLog and LogSegment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ottla.log.storage.segment import AbortedTransaction, Segment

if TYPE_CHECKING:
    from ottla.log.producer_entry import ProducerEntry
    from ottla.protocol.primitives import Buffer


class StorageError(Exception):
    """The batch can't be kept. The text says why and what to do; clients are answered KAFKA_STORAGE_ERROR."""


class EpochStart(NamedTuple):
    """From `start_offset` on, batches were written under `epoch`, until the next entry."""

    epoch: int
    start_offset: int


@dataclass(slots=True)
class LogState:
    """What has to outlive the process and is not in the batches."""

    log_start_offset: int
    leader_epochs: tuple[EpochStart, ...]


class Replacement(Protocol):
    """A new segment that will replace others; readers see it after `commit`."""

    @property
    def size_bytes(self) -> int:
        """Of what was appended so far."""

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Put a batch at its end, with the offsets it has. Raises `StorageError`; then `abandon` is what is left."""

    def commit(self, aborted: Iterable[AbortedTransaction] = ()) -> Segment:
        """Put it in the place of the others, all at once, be there a crash or not. Returns it as it is in the log.

        Raises `StorageError`, and nothing is replaced, if that fails or if one of the others has gone meanwhile.
        """

    def abandon(self) -> None:
        """Give it up; nothing of it stays."""


class LogStorage(Protocol):
    """The batches of one partition."""

    @property
    def segments(self) -> Sequence[Segment]:
        """Oldest first, never empty; the last is the active one."""

    @property
    def is_offline(self) -> bool:
        """Whether it has failed for good: whatever reads or writes batches raises `StorageError`."""

    @property
    def is_replacing(self) -> bool:
        """Whether a replacement is committed and not complete yet. Until then its segment is not to be replaced."""

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int, wall_ms: int, head: bytes = b"") -> None:
        """Put a batch at the end of the active segment. Raises `StorageError`.

        `head` is written in place of the batch's first bytes: its place in the log, if it does not have it already.
        """

    def roll(self, base_offset: int, wall_ms: int) -> None:
        """Begin a new active segment, at an offset above the base of the one before it."""

    def remove_oldest(self, count: int) -> None:
        """Forget the first `count` segments and give back what they held. At least one segment stays."""

    def replace(self, segments: Sequence[Segment]) -> Replacement:
        """Begin a segment that shall take the place of `segments`: some that follow each other, the active one not
        among them. Until its `commit` they stay as they are, and the log goes on. Raises `StorageError`.
        """

    def save_state(self, state: LogState) -> None:
        """Keep `state` in place of the last one."""

    def load_state(self) -> LogState | None:
        """What was saved last, before this process perhaps. None for a log that is new."""

    def save_producers(self, offset: int, producers: Iterable[ProducerEntry]) -> None:
        """Keep the producers as they are before `offset`; they will change, so by value.

        May do nothing: then they are read from the batches again. Called when a segment was begun and before closing.
        """

    def load_producers(self) -> tuple[int, Sequence[ProducerEntry]] | None:
        """The latest snapshot that still fits the segments: (offset, producers before it).

        Batches before that offset are not looked at again, so `Segment.aborted` must be complete up to it.
        """

    def flush(self) -> None:
        """Return once what was appended would survive the machine."""

    def close(self) -> None:
        """Let go of files. The log can be opened again."""

    def delete(self) -> None:
        """Forget everything and give it back. Ranges handed out before stay readable."""


class WrapStorage(Protocol):
    """Puts something around the storage of a partition, such as a fault. It is called when the log is opened."""

    def __call__(self, storage: LogStorage, topic: str, index: int, /) -> LogStorage: ...


def find_run(segments: Sequence[Segment], run: Sequence[Segment]) -> int:
    """Where in a log the segments of `run` are, the active one not among them. Raises `StorageError` if they are gone.

    For storages, when a replacement is committed.
    """
    for first in range(len(segments) - len(run)):
        if all(segments[first + number] is old for number, old in enumerate(run)):
            return first
    raise StorageError("segments that were to be replaced are gone")
