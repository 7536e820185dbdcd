"""`BatchError`: a record batch is refused, with Kafka's error code.

Kafka throws different exceptions for faults that look alike, and clients see them as different codes:

    INVALID_RECORD 87         the layout of the batch or of a record is wrong (InvalidRecordException)
    CORRUPT_MESSAGE 2         size, magic or CRC can't be true (CorruptRecordException)
    INVALID_TIMESTAMP 32      a record's timestamp is outside what the topic allows
    MESSAGE_TOO_LARGE 10      the batch is over max.message.bytes (RecordTooLargeException)
    UNKNOWN_SERVER_ERROR -1   exceptions without a code: bad compressed bytes, an unknown codec
"""

from __future__ import annotations

from typing import NamedTuple

from ottla.protocol.errors import ErrorCode


class RecordFault(NamedTuple):
    """One refused record: its index within the batch and why, as Produce v8+ reports them."""

    batch_index: int
    message: str


class BatchError(ValueError):
    """A record batch was refused. `error` is what Kafka answers; `faults` names the records, if it was about them."""

    def __init__(self, error: ErrorCode, message: str, faults: tuple[RecordFault, ...] = ()) -> None:
        super().__init__(message)
        self.error = error
        self.faults = faults


class DecompressionError(BatchError):
    """The compressed bytes are not what their codec says, or end too early. Kafka has no code for this."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR, message)


class DecompressionLimitError(BatchError):
    """The records would unpack to more than `limit_bytes`.

    A difference from Kafka on purpose: it unpacks a batch of any size piece by piece. The code is the one that makes a
    producer split its batch and try again.
    """

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            ErrorCode.MESSAGE_TOO_LARGE, f"the batch decompresses to more than the limit of {limit_bytes} bytes"
        )
        self.limit_bytes = limit_bytes


class RequestLimitError(BatchError):
    """The batches of the request would unpack to more than all of them may, together. The code is as above."""

    def __init__(self, what: str) -> None:
        super().__init__(
            ErrorCode.MESSAGE_TOO_LARGE, f"the batches of this request decompress to more {what} than one may hold"
        )
