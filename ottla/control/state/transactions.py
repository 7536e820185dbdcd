"""A transactional id as it is now: its producer, the state of its transaction, and what belongs to that.

What a coordinator knows is looked at as it stands, so looking makes nothing, and no `__transaction_state` either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.coordinator.transactions.shard import machine_key
from ottla.coordinator.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID, NO_START

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.control.state.groups import Place
    from ottla.coordinator.transactions.transaction import Transaction

#: What a transactional id that nobody has is said to be, as Kafka calls one that has expired.
DEAD: Final = "Dead"


@dataclass(frozen=True, slots=True)
class TransactionView:
    """A transactional id, with its transaction if there is one. One that does not exist is Dead."""

    transactional_id: str
    state: str = DEAD
    """Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, or Dead."""
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    timeout_ms: int | None = None
    """For how long a transaction may be open."""
    started_ms: int | None = None
    """When the last transaction began, as a date; None: none has since its producer began."""
    partitions: tuple[Place, ...] = ()
    """The partitions of the transaction that have no marker yet, as (topic, partition). For committed offsets it is the
    group's partition of `__consumer_offsets`."""
    coordinator: int | None = None
    """The node that coordinates it."""

    def __str__(self) -> str:
        if self.coordinator is None:
            return f"there is no transactional id {self.transactional_id}"
        places = ", ".join(f"{topic}-{index}" for topic, index in self.partitions) or "no partitions"
        return (
            f"transactional id {self.transactional_id} is {self.state}, "
            f"of producer {self.producer_id} in epoch {self.producer_epoch}, with {places}"
        )


def look_at_transaction(services: Services, transactional_id: str) -> TransactionView:
    """The transactional id of this name."""
    for node_id, coordinator in services.transaction_coordination.of_node.items():
        owner = coordinator.runtime.owners.get(machine_key(coordinator.partition_of(transactional_id)))
        if owner is not None and transactional_id in owner.machine.by_id:
            return _view_of(owner.machine.by_id[transactional_id], node_id)
    return TransactionView(transactional_id)


def look_at_transactions(services: Services) -> list[TransactionView]:
    """All transactional ids there are, in order."""
    views = [
        _view_of(transaction, node_id)
        for node_id, coordinator in services.transaction_coordination.of_node.items()
        for transaction in coordinator
    ]
    return sorted(views, key=lambda view: view.transactional_id)


def _view_of(transaction: Transaction, node_id: int) -> TransactionView:
    return TransactionView(
        transaction.transactional_id,
        transaction.state.value,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        None if transaction.start_ms == NO_START else transaction.start_ms,
        tuple(sorted(transaction.partitions)),
        node_id,
    )
