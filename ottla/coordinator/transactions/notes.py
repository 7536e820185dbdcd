"""What is worth telling people about transactions. A note that has no reader is not made."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ottla.coordinator.runtime.effects import Effects, Notice
from ottla.coordinator.runtime.frozen import frozen
from ottla.events.kinds.event_kind import EventKind

if TYPE_CHECKING:
    from ottla.coordinator.transactions.machine import Transactions
    from ottla.coordinator.transactions.transaction import Transaction


class Cause(Enum):
    """Why a transaction ended."""

    REQUESTED = "requested"
    TIMEOUT = "timeout"
    FENCED = "fenced"
    """Another producer has begun under its transactional id."""


@frozen
class Note(Notice):
    """One thing that happened."""

    kind: EventKind
    transactional_id: str
    producer_id: int
    producer_epoch: int
    details: dict[str, object]


def note(
    transactions: Transactions, transaction: Transaction, effects: Effects, kind: EventKind, **details: object
) -> None:
    """Note something of the id as it is now, if its kind has a reader. Details without a value are left out."""
    if transactions.is_told(kind):
        said = {key: value for key, value in details.items() if value not in (None, "")}
        effects.append(
            Note(
                kind,
                transaction.transactional_id,
                transaction.producer_id,
                transaction.producer_epoch,
                said,
            )
        )
