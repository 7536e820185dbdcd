"""Questions to a partition, its answers, and what it tells its listeners. -1: does not apply, as in Kafka."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final

from ottla.log.reading import NO_RECORDS
from ottla.log.storage.segment import AbortedTransaction
from ottla.protocol.batch_error import RecordFault
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Buffer

# The negative times of ListOffsets.
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6


class IsolationLevel(IntEnum):
    """How far a reader may read: up to the high watermark, or to the last stable offset."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


#: The same, for what is asked with each fetch.
READ_COMMITTED: Final = IsolationLevel.READ_COMMITTED


class PartitionEvent(Enum):
    """The changes that listeners are told of."""

    #: The log grew, and what readers may see with it.
    ADVANCED = "advanced"
    #: The oldest records were removed, by retention or DeleteRecords.
    LOG_START_MOVED = "log start moved"
    #: A new leader epoch began.
    LEADER_CHANGED = "leader changed"
    #: The log was deleted or its storage closed.
    CLOSED = "closed"


#: The same, for what is told with each batch.
ADVANCED: Final = PartitionEvent.ADVANCED


@dataclass(slots=True)
class AppendResult:
    """What Produce answers, with Kafka's values for what does not apply (-1)."""

    error: ErrorCode
    base_offset: int = -1
    #: Acks of all replicas wait for the high watermark to pass it. -1 in errors.
    last_offset: int = -1
    #: The broker's time on topics with LogAppendTime, and for a batch sent twice the time of the first; else -1.
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[RecordFault, ...] = ()
    #: For the client; only given where Kafka gives one, and for storage errors.
    error_message: str | None = None


@dataclass(slots=True)
class ReadResult:
    """What Fetch answers for a partition. Offsets are -1 in errors."""

    error: ErrorCode
    records: Buffer = NO_RECORDS
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    log_end_offset: int = -1
    #: None for readers who read everything, and where the log was not read or its next batch is too large.
    aborted: list[AbortedTransaction] | None = None
    #: (epoch, end offset) the reader's log must be cut to: it read what is not in this log. There are no records then.
    diverging_epoch: tuple[int, int] | None = None
    #: Where the fetch offset lies, for `Partition.bytes_after`: the base offset of its segment, and the position there.
    segment_base_offset: int = -1
    position: int = -1


@dataclass(slots=True)
class OffsetResult:
    """What ListOffsets answers for a partition. Nothing found is no error: everything is -1."""

    error: ErrorCode
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1
