"""A partition of __transaction_state: one machine, with all transactional ids that are kept there.

Kafka: TransactionStateManager.loadTransactionMetadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.runtime.shard import Shard
from ottla.coordinator.transactions.machine import Removed, Transactions, replay
from ottla.coordinator.transactions.records import TRANSACTION_TYPE, read_transaction, read_transactional_id
from ottla.coordinator.transactions.step import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.runtime.kind import Kind
    from ottla.coordinator.runtime.shard import Replay


def machine_key(partition: int) -> str:
    """By what the runtime knows the machine of a partition."""
    return str(partition)


class TransactionShard(Shard[Transactions]):
    """The transactional ids of one partition."""

    def __init__(self, partition: int, transactions: Transactions) -> None:
        """`transactions`: without any id, they are in the log."""
        super().__init__(partition)
        self._transactions = transactions
        self.machines[machine_key(partition)] = transactions
        self._replays: Final = {TRANSACTION_TYPE: self._replay_transaction}

    @property
    def replays(self) -> Mapping[int, Replay]:
        return self._replays

    def kind_of(self, _machine: Transactions) -> Kind[Transactions]:
        return TRANSACTIONS

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """No record here is part of a transaction."""

    def _replay_transaction(self, key: bytes, value: bytes | None, _producer_id: int) -> None:
        transactional_id = read_transactional_id(key)
        change = Removed(transactional_id) if value is None else read_transaction(transactional_id, value)
        replay(self._transactions, change)
