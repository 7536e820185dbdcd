"""Transactions in a cleaning pass: aborted records are dropped, and a marker is dropped when its records have gone.

A marker is needed as long as a reader may meet a record of its transaction. In the pass that finds none left it is
given a delete horizon, like a tombstone, and after that it goes. An abort marker that stays keeps its entry in the list
of aborted transactions for readers of committed records.

Batches must be shown in the order of the log, all of them. Kafka: CleanedTransactionMetadata.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.log.transaction_marker import read_marker

if TYPE_CHECKING:
    from ottla.log.storage.segment import AbortedTransaction
    from ottla.protocol.primitives import Buffer
    from ottla.protocol.records import BatchHeader


@dataclass(slots=True)
class _Aborted:
    """An aborted transaction that the pass is in the middle of."""

    transaction: AbortedTransaction
    has_records: bool = False


class CleanedTransactions:
    """The transactions of one pass over a log."""

    __slots__ = ("_ahead", "_committed", "_within", "still_aborted")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted`: those of the log."""
        self._ahead = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
        self._within: dict[int, _Aborted] = {}
        #: Producers with records of a transaction that was not aborted, and whose marker is still to come.
        self._committed: set[int] = set()
        #: Aborted transactions whose markers stay, since this was last emptied.
        self.still_aborted: list[AbortedTransaction] = []

    def can_go(self, batch: Buffer, header: BatchHeader) -> bool:
        """Whether the batch has records of an aborted transaction, or the marker of one without records."""
        if not header.is_transactional:
            return False
        while self._ahead and self._ahead[0].first_offset <= header.last_offset:
            transaction = self._ahead.popleft()
            self._within.setdefault(transaction.producer_id, _Aborted(transaction))
        if header.is_control:
            return self._marker_can_go(batch, header)
        aborted = self._within.get(header.producer_id)
        if aborted is None:
            self._committed.add(header.producer_id)
            return False
        aborted.has_records = True
        return True

    def _marker_can_go(self, batch: Buffer, header: BatchHeader) -> bool:
        marker = read_marker(batch, header)
        if marker is None:  # it was emptied before
            return True
        producer_id = header.producer_id
        if marker.is_commit:
            had_records = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_records
        aborted = self._within.pop(producer_id, None)
        if aborted is None or not aborted.has_records:
            return True
        self.still_aborted.append(aborted.transaction)
        return False
