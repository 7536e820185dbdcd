"""What is worth telling people about transactions. Nothing is made of what nobody reads."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ottla.coordinator.runtime.effects import Effects, Notice
from ottla.coordinator.runtime.frozen import frozen

if TYPE_CHECKING:
    from ottla.coordinator.transactions.machine import Transactions
    from ottla.coordinator.transactions.transaction import Transaction


class Happened(Enum):
    """The names of notes; each with the details it has besides the transactional id, the producer id and its epoch."""

    INITIALIZED = "transaction.producer.initialized"
    """client_id"""
    FENCED = "transaction.producer.fenced"
    """cause, client_id: of who fenced it, if somebody did"""
    BEGAN = "transaction.began"
    """partitions: how many are added"""
    PARTITIONS_ADDED = "transaction.partitions.added"
    """partitions: how many are added"""
    PREPARED = "transaction.prepared"
    """result, cause, partitions: how many get a marker"""
    COMMITTED = "transaction.committed"
    """duration_ms: since it began"""
    ABORTED = "transaction.aborted"
    """duration_ms"""
    EXPIRED = "transaction.id.expired"
    WRITE_FAILED = "transaction.write.failed"
    """error"""

    __hash__ = object.__hash__


class Cause(Enum):
    """Why a transaction ended."""

    REQUESTED = "requested"
    TIMEOUT = "timeout"
    FENCED = "fenced"
    """Somebody else has begun under its transactional id."""


@frozen
class Note(Notice):
    """One thing that happened."""

    happened: Happened
    transactional_id: str
    producer_id: int
    producer_epoch: int
    details: dict[str, object]


def note(
    transactions: Transactions, transaction: Transaction, effects: Effects, happened: Happened, **details: object
) -> None:
    """Note something of the id as it is now, if anybody reads that. What has no value is left out."""
    if transactions.is_told(happened):
        said = {key: value for key, value in details.items() if value not in (None, "")}
        effects.append(
            Note(
                happened,
                transaction.transactional_id,
                transaction.producer_id,
                transaction.producer_epoch,
                said,
            )
        )
