"""What a partition remembers of each producer that numbers its batches: to spot repeats, gaps, old incarnations and
open transactions.

A producer with an id numbers its records per partition. The last five batches are remembered, since a producer has up
to five in flight and may send any of them again: such a repeat is answered as the first time and not appended.

    batches kept     [10–11] [12–12] [13–19] [20–20] [21–24]     next: 25
    [13–19] again    the offset it got, no append
    [12–15], [9–9]   OUT_OF_ORDER_SEQUENCE_NUMBER, so is anything that does not begin at 25

Sequence numbers wrap from 2147483647 to 0. A higher epoch is a new incarnation and begins at 0; a lower one is fenced.
An unknown producer may begin anywhere: its batches may have been removed by retention.

Checking comes before the append and changes nothing; `add_batch` and `add_marker` come after it.
Kafka: ProducerStateManager, ProducerAppendInfo, ProducerStateEntry, VerificationStateEntry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ottla.log.producer_entry import NO_EPOCH, NumberedBatch, ProducerEntry
from ottla.log.storage.segment import AbortedTransaction
from ottla.protocol.errors import ErrorCode

BATCHES_KEPT: Final = 5
_SEQUENCE_MAX: Final = 2**31 - 1
_EPOCH_MAX: Final = 2**15 - 1


@dataclass(slots=True, eq=False)
class Verification:
    """A question to the transaction coordinator: does this partition belong to the producer's transaction?

    A batch is appended only with the object that its question began with: an answer that comes after the transaction
    ended must not open the next. The object also holds back sequence numbers above the lowest seen; otherwise a batch
    with an answer would overtake one whose question is to be repeated.
    """

    started_ms: int
    lowest_sequence: int
    producer_epoch: int
    #: Transactions of version 2: a producer unknown here must begin at sequence 0.
    supports_epoch_bump: bool

    def is_of_next(self, marker_epoch: int) -> bool:
        """Whether it is about the transaction after the one that a marker of this epoch ends: a producer goes on in
        that epoch as soon as it is decided, and may be here before the marker. Kafka: UnifiedLog.updateProducers."""
        return self.supports_epoch_bump and self.producer_epoch == marker_epoch


@dataclass(slots=True)
class ProducerSettings:
    """The broker's settings that matter here; shared by all partitions and read when needed."""

    producer_id_expiration_ms: int = 86_400_000
    transaction_partition_verification_enable: bool = True


class ProducerStates:
    """The producers of one partition."""

    __slots__ = ("_entries", "_open_transactions", "_settings", "_verifications", "first_open_offset")

    def __init__(self, settings: ProducerSettings) -> None:
        self._settings = settings
        self._entries: dict[int, ProducerEntry] = {}
        #: First offset → producer id. Transactions open in the order of their offsets, so the oldest comes first.
        self._open_transactions: dict[int, int] = {}
        #: Where the oldest open transaction began, which is asked for with each batch. Readers of committed records
        #: stop there.
        self.first_open_offset: int | None = None
        self._verifications: dict[int, Verification] = {}

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def find_repeat(
        self, producer_id: int, producer_epoch: int, first_sequence: int, last_sequence: int
    ) -> NumberedBatch | None:
        """The remembered batch with exactly these sequence numbers."""
        entry = self._entries.get(producer_id)
        if entry is None or entry.producer_epoch != producer_epoch:
            return None
        for batch in entry.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def check_batch(
        self,
        producer_id: int,
        producer_epoch: int,
        first_sequence: int | None,
        is_transactional: bool,
        verification: Verification | None,
    ) -> ErrorCode:
        """Whether a batch of records may be appended. `first_sequence` None: from a coordinator, which has no
        numbers."""
        entry = self._entries.get(producer_id)
        if is_transactional and (error := self._check_transaction(entry, producer_id, producer_epoch, verification)):
            return error
        if producer_epoch < (NO_EPOCH if entry is None else entry.producer_epoch):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if first_sequence is not None and not self._in_sequence(entry, producer_id, producer_epoch, first_sequence):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry is not None and entry.transaction_first_offset is not None and not is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> ErrorCode:
        """Whether a transaction marker may be appended.

        From transaction version 2 on each transaction ends with a higher epoch, so an equal one is an old marker:
        unless nothing is open, when it is the marker of the last transaction written again.
        """
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = ProducerEntry(producer_id)
        known = entry.producer_epoch
        if producer_epoch < known:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        is_repeat = entry.transaction_first_offset is None or producer_epoch == _EPOCH_MAX
        if transaction_version >= 2 and producer_epoch == known and not is_repeat:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < entry.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def add_batch(self, producer_id: int, producer_epoch: int, batch: NumberedBatch, is_transactional: bool) -> None:
        """A batch of records was appended."""
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        entry.take_epoch(producer_epoch)
        if len(entry.batches) == BATCHES_KEPT:
            del entry.batches[0]
        entry.batches.append(batch)
        entry.last_timestamp = batch.timestamp
        if is_transactional:
            self._verifications.pop(producer_id, None)
            if entry.transaction_first_offset is None:
                entry.transaction_first_offset = batch.first_offset
                self._open_transactions[batch.first_offset] = producer_id
                if self.first_open_offset is None:
                    self.first_open_offset = batch.first_offset

    def add_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, offset: int, timestamp: int
    ) -> AbortedTransaction | None:
        """A transaction marker was appended at `offset`: the producer's transaction is over.

        Returns what readers must be told if the marker says abort; None when nothing was open.
        """
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        verification = self._verifications.get(producer_id)
        if verification is not None and not verification.is_of_next(producer_epoch):
            del self._verifications[producer_id]
        first_offset = entry.transaction_first_offset
        entry.take_epoch(producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = None
        if first_offset is None:
            return None
        del self._open_transactions[first_offset]
        self.first_open_offset = still_open = next(iter(self._open_transactions), None)
        return AbortedTransaction(producer_id, first_offset, offset, offset + 1 if still_open is None else still_open)

    def start_verification(
        self, producer_id: int, producer_epoch: int, first_sequence: int, supports_epoch_bump: bool, wall_ms: int
    ) -> ErrorCode | Verification | None:
        """What a transactional batch needs before it is appended: None if its transaction is open here already, else
        the `Verification` to hand in with the batch once the coordinator has agreed."""
        entry = self._entries.get(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if entry is not None and _is_open(entry, producer_epoch):
            return None
        verification = self._verifications.get(producer_id)
        if verification is None:
            verification = Verification(wall_ms, first_sequence, producer_epoch, supports_epoch_bump)
            self._verifications[producer_id] = verification
        elif producer_epoch > verification.producer_epoch:
            verification.producer_epoch = producer_epoch
            verification.lowest_sequence = first_sequence
        elif producer_epoch == verification.producer_epoch:
            verification.lowest_sequence = min(first_sequence, verification.lowest_sequence)
        return verification

    def restore(self, entries: Iterable[ProducerEntry]) -> None:
        """Begin with the producers of a snapshot."""
        for entry in entries:
            self._entries[entry.producer_id] = entry
        first_offsets = ((entry.transaction_first_offset, entry.producer_id) for entry in self)
        self._open_transactions = dict(sorted((at, producer) for at, producer in first_offsets if at is not None))
        self.first_open_offset = next(iter(self._open_transactions), None)

    def remove_expired(self, wall_ms: int) -> None:
        """Forget the producers that have not appended for producer.id.expiration.ms, by their records' timestamps."""
        for producer_id in list(self._expired_producers(wall_ms)):
            del self._entries[producer_id]
        for producer_id in list(self._expired_verifications(wall_ms)):
            del self._verifications[producer_id]

    def has_expired(self, wall_ms: int) -> bool:
        """Whether `remove_expired` would find any at this date."""
        found = chain(self._expired_producers(wall_ms), self._expired_verifications(wall_ms))
        return next(found, None) is not None

    def _expired_producers(self, wall_ms: int) -> Iterator[int]:
        expiration_ms = self._settings.producer_id_expiration_ms
        for entry in self._entries.values():
            if entry.transaction_first_offset is None and wall_ms - entry.last_timestamp >= expiration_ms:
                yield entry.producer_id

    def _expired_verifications(self, wall_ms: int) -> Iterator[int]:
        expiration_ms = self._settings.producer_id_expiration_ms
        for producer_id, verification in self._verifications.items():
            if wall_ms - verification.started_ms >= expiration_ms:
                yield producer_id

    def _check_transaction(
        self, entry: ProducerEntry | None, producer_id: int, producer_epoch: int, verification: Verification | None
    ) -> ErrorCode:
        """Whether a transactional batch belongs to a transaction the coordinator knows of."""
        if entry is not None:
            if _is_open(entry, producer_epoch):
                return ErrorCode.NONE
            if producer_epoch < entry.producer_epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
        if not self._settings.transaction_partition_verification_enable:
            return ErrorCode.NONE
        verified = verification is not None and verification is self._verifications.get(producer_id)
        return ErrorCode.NONE if verified else ErrorCode.INVALID_TXN_STATE

    def _in_sequence(
        self, entry: ProducerEntry | None, producer_id: int, producer_epoch: int, first_sequence: int
    ) -> bool:
        verification = self._verifications.get(producer_id)
        if verification is not None and (
            first_sequence > verification.lowest_sequence
            or (verification.supports_epoch_bump and first_sequence != 0 and not (entry and entry.batches))
        ):
            return False
        if entry is None or entry.producer_epoch == NO_EPOCH:
            return True
        if producer_epoch != entry.producer_epoch:
            return first_sequence == 0
        last_sequence = entry.last_sequence
        return first_sequence == (0 if last_sequence == _SEQUENCE_MAX else last_sequence + 1)


def _is_open(entry: ProducerEntry, producer_epoch: int) -> bool:
    """Whether this incarnation of the producer has a transaction open here."""
    return entry.transaction_first_offset is not None and entry.producer_epoch == producer_epoch
