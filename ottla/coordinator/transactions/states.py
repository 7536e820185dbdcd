"""The states of a transactional id, and what leads from which to which.

       InitProducerId        partitions are added              EndTxn             all markers are written
    ┌──────────────────▶ Empty ───────────────▶ Ongoing ───────────────▶ Prepare… ──────────────────▶ Complete…
    │                                              ▲                                                     │  │
    │                                              └──────────────── partitions are added ───────────────┘  │
    └──────────────────────────────────────── InitProducerId ───────────────────────────────────────────────┘

Kafka: org.apache.kafka.coordinator.transaction.TransactionState. Its Dead and PrepareEpochFence are never seen: here an
id that expires is gone at once, and one that is fenced goes to PrepareAbort in one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class TransactionState(Enum):
    """The states, by the names that ListTransactions and DescribeTransactions show."""

    EMPTY = "Empty"
    """A producer has its id, and has begun nothing since."""
    ONGOING = "Ongoing"
    """It has added partitions."""
    PREPARE_COMMIT = "PrepareCommit"
    """It is decided; markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    """Every partition has its marker."""
    COMPLETE_ABORT = "CompleteAbort"

    __hash__ = object.__hash__


_EMPTY = TransactionState.EMPTY
_ONGOING = TransactionState.ONGOING
_PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
_PREPARE_ABORT = TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
_COMPLETE_ABORT = TransactionState.COMPLETE_ABORT

#: In records of __transaction_state.
STATE_IDS: Final[Mapping[TransactionState, int]] = {state: number for number, state in enumerate(TransactionState)}
STATE_OF_ID: Final[Mapping[int, TransactionState]] = {number: state for state, number in STATE_IDS.items()}

#: Kafka's further states, which a client can ask for and no id is in.
NEVER_SEEN: Final = frozenset(("Dead", "PrepareEpochFence"))

#: It is decided, and not done.
PREPARED: Final = frozenset((_PREPARE_COMMIT, _PREPARE_ABORT))
#: Nothing is open, so the id may expire.
IDLE: Final = frozenset((_EMPTY, _COMPLETE_COMMIT, _COMPLETE_ABORT))

#: What a decision comes to when all markers are written.
COMPLETED: Final[Mapping[TransactionState, TransactionState]] = {
    _PREPARE_COMMIT: _COMPLETE_COMMIT,
    _PREPARE_ABORT: _COMPLETE_ABORT,
}

_BEGINS: Final = "partitions are added"
_INITIALIZES: Final = "InitProducerId"
_ABORTS_NOTHING: Final = "EndTxn v5 aborts, with no open transaction"

#: Where an id can go from each state, and when. Kafka: TransactionState.validPreviousStates.
TRANSITIONS: Final[Mapping[TransactionState, Mapping[TransactionState, str]]] = {
    _EMPTY: {_EMPTY: _INITIALIZES, _ONGOING: _BEGINS, _PREPARE_ABORT: _ABORTS_NOTHING},
    _ONGOING: {
        _ONGOING: _BEGINS,
        _PREPARE_COMMIT: "EndTxn commits",
        _PREPARE_ABORT: "EndTxn aborts, the timeout is over, or InitProducerId",
    },
    _PREPARE_COMMIT: {_COMPLETE_COMMIT: "all markers are written"},
    _PREPARE_ABORT: {_COMPLETE_ABORT: "all markers are written"},
    _COMPLETE_COMMIT: {_EMPTY: _INITIALIZES, _ONGOING: _BEGINS, _PREPARE_ABORT: _ABORTS_NOTHING},
    _COMPLETE_ABORT: {_EMPTY: _INITIALIZES, _ONGOING: _BEGINS, _PREPARE_ABORT: _ABORTS_NOTHING},
}
