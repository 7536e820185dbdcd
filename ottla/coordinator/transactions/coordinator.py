"""All transactional ids of one node: requests get to the machine of their partition here, or are refused.

Kafka: TransactionCoordinator, TransactionStateManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.runtime.runtime import PartitionState, Runtime, Tasks
from ottla.coordinator.transactions.events import (
    AddPartitionsRequested,
    LogMayBeWritable,
    VerifyPartitionsRequested,
)
from ottla.coordinator.transactions.machine import Transactions
from ottla.coordinator.transactions.refusals import Outside, is_request, refusal
from ottla.coordinator.transactions.shard import TransactionShard, machine_key
from ottla.coordinator.transactions.step import PURGATORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ottla.coordinator.runtime.log import Log
    from ottla.coordinator.runtime.owner import NoticeSink
    from ottla.coordinator.transactions.config import TransactionConfig
    from ottla.coordinator.transactions.events import MarkersWritten, Request
    from ottla.coordinator.transactions.machine import WriteMarkers
    from ottla.coordinator.transactions.transaction import Transaction
    from ottla.events.kinds.event_kind import EventKind
    from ottla.pacing import Pace
    from ottla.purgatory import Timer

#: A transaction with more partitions than these takes milliseconds to write down.
PARTITIONS_FEW: Final = 100
_ASKING_FOR_PARTITIONS: Final = (AddPartitionsRequested, VerifyPartitionsRequested)


class TransactionCoordinator:
    """The transaction coordinator of one node."""

    def __init__(
        self,
        config: TransactionConfig,
        log: Log,
        timer: Timer,
        tasks: Tasks,
        *,
        leader_epoch_of: Callable[[int], int],
        new_producer_id: Callable[[], int | None],
        write_markers: Callable[[str, WriteMarkers], None],
        pace: Pace | None = None,
        notices: NoticeSink | None = None,
        is_told: Callable[[EventKind], bool] = lambda _kind: False,
        failed: Callable[[str, Exception], None] | None = None,
    ) -> None:
        """`leader_epoch_of`: of a partition that is about to be read; `new_producer_id`: None if there is none now.

        `write_markers`: is given the key of the machine and what it asks for; see `markers_written`. `notices`: the
        reader of what happens, and `is_told`: of what it wants to know. `failed` and `pace`: as for a `Runtime`.
        """
        self.config = config
        self.runtime: Runtime[Transactions] = Runtime(
            self._new_shard,
            log,
            timer,
            tasks,
            resubmit=self._resubmit,
            refuse=_refuse_failed,
            purgatories=(PURGATORY,),
            notices=notices,
            failed=failed,
            pace=pace,
            ask=write_markers,
        )
        self._leader_epoch_of = leader_epoch_of
        self._new_producer_id = new_producer_id
        self._is_told = is_told
        self._began_ms = timer.clock.wall_ms()

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way in any inbox."""
        return self.runtime.is_settled

    def close(self) -> None:
        """Coordinate nothing any more."""
        self.runtime.close()

    def partition_of(self, transactional_id: str) -> int:
        """The partition of __transaction_state that keeps this id."""
        return partition_for(transactional_id, self.config.num_partitions)

    def submit(self, event: Request, *, is_long: bool = False) -> None:
        """Give a request to the machine of its id. Its token is answered: at once, or in time.

        `is_long`: it may be much work, which is done in slices then; so it is anyway if it is about many partitions.
        """
        if not event.transactional_id:
            event.token.answer(refusal(event, Outside.EMPTY_ID))
            return
        partition = self.partition_of(event.transactional_id)
        key = machine_key(partition)
        owner = self.runtime.owners.get(key)
        if owner is not None:
            if is_long or _is_long(event, owner.machine):
                owner.post_long(event)
            else:
                owner.take(event)
        elif self.runtime.state_of(partition) is PartitionState.LOADING or self.runtime.is_given_up(key):
            event.token.answer(refusal(event, Outside.LOADING))
        else:
            event.token.answer(refusal(event, Outside.NOT_COORDINATOR))

    def at_rest(self, transactional_id: str) -> Transaction | None:
        """What is kept of this id, if a request about few partitions would be answered before `submit` returns."""
        if not transactional_id:
            return None
        owner = self.runtime.owners.get(machine_key(self.partition_of(transactional_id)))
        if owner is None or not owner.is_at_rest:
            return None
        transaction = owner.machine.by_id.get(transactional_id)
        return None if transaction is None or len(transaction.partitions) > PARTITIONS_FEW else transaction

    def is_asking(self, key: str, asked: WriteMarkers) -> bool:
        """Whether the machine of this key still is the one that wants these markers."""
        owner = self.runtime.owner_of(key)
        return owner is not None and owner.machine.coordinator_epoch == asked.coordinator_epoch

    def markers_written(self, key: str, event: MarkersWritten) -> None:
        """Tell the machine that asked for them. It may have done so while it was loaded."""
        owner = self.runtime.owner_of(key)
        if owner is not None:
            (owner.post_long if _is_long(event, owner.machine) else owner.take)(event)

    def complete_unwritten(self) -> None:
        """What could not be written to a log perhaps can be: see whether transactions can be completed now."""
        for owner in self.runtime.owners.values():
            if owner.machine.unwritten:
                owner.post(LogMayBeWritable())

    @property
    def is_any_loading(self) -> bool:
        """Whether a partition is being read."""
        return self.runtime.is_any_loading

    def __iter__(self) -> Iterator[Transaction]:
        """What is kept of every id, as it is now."""
        for owner in list(self.runtime.owners.values()):
            yield from list(owner.machine.by_id.values())

    def _new_shard(self, partition: int, _only_key: str | None) -> TransactionShard:
        transactions = Transactions(
            self.config,
            self._leader_epoch_of(partition),
            self._began_ms,
            self._new_producer_id,
            self._is_told,
        )
        return TransactionShard(partition, transactions)

    def _resubmit(self, _key: str, event: Any) -> None:
        """The machine was unloaded before this was taken up: a request may find another, anything else is void."""
        if is_request(event):
            self.submit(event)


def _is_long(event: Request | MarkersWritten, transactions: Transactions) -> bool:
    """Whether it is about many partitions: its own, or those of the transaction, which are written down with each."""
    transaction = transactions.by_id.get(event.transactional_id)
    if transaction is not None and len(transaction.partitions) > PARTITIONS_FEW:
        return True
    return isinstance(event, _ASKING_FOR_PARTITIONS) and (len(event.partitions) > PARTITIONS_FEW)


def _refuse_failed(_key: str, event: Any) -> None:
    """Answer the request at which a machine has met a bug; anything else has no answer."""
    if is_request(event):
        event.token.answer(refusal(event, Outside.FAILED))
