"""The tables: what each request is answered in each state of a transactional id.

A request's answer depends on the id's state and on the *situation* of its sender. Every table below is total over both.
The code looks answers up here and nowhere else; docs/transactions.md is printed from it; the tests walk every cell.

A cell is an `ErrorCode`, which is the whole answer, or a step: something to do.

While markers are being written, nearly everything is answered CONCURRENT_TRANSACTIONS: the client asks again in a
moment. Kafka looks at that before it looks at the producer, but for EndTxn before v5 and for verification.

Kafka: TransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias, TypeVar

from ottla.coordinator.transactions.situations import (
    BumpingEndSituation,
    EndSituation,
    InitSituation,
    ProducerSituation,
)
from ottla.coordinator.transactions.states import TransactionState
from ottla.protocol.errors import ErrorCode

Situation = TypeVar("Situation", bound=Enum)
Cell = TypeVar("Cell")
Table: TypeAlias = Mapping[TransactionState, Mapping[Situation, Cell]]

_EMPTY = TransactionState.EMPTY
_ONGOING = TransactionState.ONGOING
_PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
_PREPARE_ABORT = TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
_COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
_E = ErrorCode


def _all_alike(situations: type[Situation], cell: Cell) -> dict[Situation, Cell]:
    return dict.fromkeys(situations, cell)


# ── InitProducerId ────────────────────────────────────────────────────────────────────────────────────────────────────


class InitStep(Enum):
    """What an InitProducerId that isn't refused does."""

    RAISE_EPOCH = "the next epoch"
    CHANGE_PRODUCER_ID = "a new producer id, epoch 0"
    REPEAT = "the stored epoch again"
    FENCE = "CONCURRENT_TRANSACTIONS; the transaction is aborted, and its producer is fenced"


_BEGINNERS: Final[Mapping[InitSituation, ErrorCode | InitStep]] = {
    InitSituation.STRANGER: _E.PRODUCER_FENCED,
    InitSituation.NEW: InitStep.RAISE_EPOCH,
    InitSituation.NEW_EXHAUSTED: InitStep.CHANGE_PRODUCER_ID,
    InitSituation.CURRENT: InitStep.RAISE_EPOCH,
    InitSituation.CURRENT_EXHAUSTED: InitStep.CHANGE_PRODUCER_ID,
    InitSituation.RETRY: InitStep.REPEAT,
    InitSituation.OTHER_EPOCH: _E.PRODUCER_FENCED,
    InitSituation.OTHER_EPOCH_EXHAUSTED: _E.UNKNOWN_SERVER_ERROR,  # an exception there
}

#: Kafka: prepareInitProducerIdTransit, TransactionMetadata.prepareIncrementProducerEpoch.
INIT_PRODUCER_ID: Final[Table[InitSituation, ErrorCode | InitStep]] = {
    _EMPTY: _BEGINNERS,
    _ONGOING: {**_all_alike(InitSituation, InitStep.FENCE), InitSituation.STRANGER: _E.PRODUCER_FENCED},
    _PREPARE_COMMIT: _all_alike(InitSituation, _E.CONCURRENT_TRANSACTIONS),
    _PREPARE_ABORT: _all_alike(InitSituation, _E.CONCURRENT_TRANSACTIONS),
    _COMPLETE_COMMIT: _BEGINNERS,
    _COMPLETE_ABORT: _BEGINNERS,
}


# ── AddPartitionsToTxn, AddOffsetsToTxn ───────────────────────────────────────────────────────────────────────────────


class AddStep(Enum):
    """What adding partitions does where it isn't refused."""

    BEGIN = "NONE; a transaction with these partitions begins"
    ADD = "NONE; they are added"


_BEGINS: Final[Mapping[ProducerSituation, ErrorCode | AddStep]] = {
    ProducerSituation.OTHER_PRODUCER: _E.INVALID_PRODUCER_ID_MAPPING,
    ProducerSituation.OTHER_EPOCH: _E.PRODUCER_FENCED,
    ProducerSituation.ALL_PRESENT: AddStep.BEGIN,  # of no partitions at all
    ProducerSituation.CURRENT: AddStep.BEGIN,
}

#: Kafka: handleAddPartitionsToTransaction.
ADD_PARTITIONS: Final[Table[ProducerSituation, ErrorCode | AddStep]] = {
    _EMPTY: _BEGINS,
    _ONGOING: {**_BEGINS, ProducerSituation.ALL_PRESENT: _E.NONE, ProducerSituation.CURRENT: AddStep.ADD},
    _PREPARE_COMMIT: _all_alike(ProducerSituation, _E.CONCURRENT_TRANSACTIONS),
    _PREPARE_ABORT: _all_alike(ProducerSituation, _E.CONCURRENT_TRANSACTIONS),
    _COMPLETE_COMMIT: _BEGINS,
    _COMPLETE_ABORT: _BEGINS,
}


class VerifyStep(Enum):
    """What asking for partitions comes to where it isn't refused."""

    EACH = "NONE for partitions in the transaction, TRANSACTION_ABORTABLE for the others"


_KNOWN: Final[Mapping[ProducerSituation, ErrorCode | VerifyStep]] = {
    ProducerSituation.OTHER_PRODUCER: _E.INVALID_PRODUCER_ID_MAPPING,
    ProducerSituation.OTHER_EPOCH: _E.PRODUCER_FENCED,
    ProducerSituation.ALL_PRESENT: _E.NONE,
    ProducerSituation.CURRENT: VerifyStep.EACH,
}
_DECIDED: Final = {
    **_KNOWN,
    ProducerSituation.ALL_PRESENT: _E.CONCURRENT_TRANSACTIONS,
    ProducerSituation.CURRENT: _E.CONCURRENT_TRANSACTIONS,
}

#: Kafka: handleVerifyPartitionsInTransaction.
VERIFY_PARTITIONS: Final[Table[ProducerSituation, ErrorCode | VerifyStep]] = {
    _EMPTY: _KNOWN,
    _ONGOING: _KNOWN,
    _PREPARE_COMMIT: _DECIDED,
    _PREPARE_ABORT: _DECIDED,
    _COMPLETE_COMMIT: _KNOWN,
    _COMPLETE_ABORT: _KNOWN,
}


# ── EndTxn ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class EndStep(Enum):
    """What an EndTxn that isn't refused does."""

    COMMIT = "NONE; the commit is decided, and its markers are written"
    ABORT = "NONE; the abort is decided, and its markers are written"
    ABORT_NOTHING = "NONE; the epoch rises by one"
    REPEAT = "NONE, with the stored producer id and epoch"


def _ends(commit: ErrorCode | EndStep, abort: ErrorCode | EndStep) -> dict[EndSituation, ErrorCode | EndStep]:
    return {
        EndSituation.OTHER_PRODUCER: _E.INVALID_PRODUCER_ID_MAPPING,
        EndSituation.OTHER_EPOCH: _E.PRODUCER_FENCED,
        EndSituation.COMMIT: commit,
        EndSituation.ABORT: abort,
    }


#: Before v5. Kafka: endTransactionWithTV1.
END: Final[Table[EndSituation, ErrorCode | EndStep]] = {
    _EMPTY: _ends(_E.INVALID_TXN_STATE, _E.INVALID_TXN_STATE),
    _ONGOING: _ends(EndStep.COMMIT, EndStep.ABORT),
    _PREPARE_COMMIT: _ends(_E.CONCURRENT_TRANSACTIONS, _E.CONCURRENT_TRANSACTIONS),
    _PREPARE_ABORT: _ends(_E.CONCURRENT_TRANSACTIONS, _E.CONCURRENT_TRANSACTIONS),
    # A producer that asks again has not heard the answer.
    _COMPLETE_COMMIT: _ends(_E.NONE, _E.INVALID_TXN_STATE),
    _COMPLETE_ABORT: _ends(_E.INVALID_TXN_STATE, _E.NONE),
}


def _bumping(
    commit: ErrorCode | EndStep,
    abort: ErrorCode | EndStep,
    commit_again: ErrorCode | EndStep,
    abort_again: ErrorCode | EndStep,
) -> dict[BumpingEndSituation, ErrorCode | EndStep]:
    return {
        BumpingEndSituation.OTHER_PRODUCER: _E.INVALID_PRODUCER_ID_MAPPING,
        BumpingEndSituation.OTHER_EPOCH: _E.PRODUCER_FENCED,
        BumpingEndSituation.COMMIT: commit,
        BumpingEndSituation.ABORT: abort,
        BumpingEndSituation.COMMIT_AGAIN: commit_again,
        BumpingEndSituation.ABORT_AGAIN: abort_again,
    }


_FENCED: Final = _E.PRODUCER_FENCED
_ILLEGAL: Final = _E.INVALID_TXN_STATE

#: From v5 on. Kafka: endTransaction.
BUMPING_END: Final[Table[BumpingEndSituation, ErrorCode | EndStep]] = {
    _EMPTY: _bumping(_ILLEGAL, EndStep.ABORT_NOTHING, _FENCED, _FENCED),
    _ONGOING: _bumping(EndStep.COMMIT, EndStep.ABORT, _FENCED, _FENCED),
    _PREPARE_COMMIT: _all_alike(BumpingEndSituation, _E.CONCURRENT_TRANSACTIONS),
    _PREPARE_ABORT: _all_alike(BumpingEndSituation, _E.CONCURRENT_TRANSACTIONS),
    _COMPLETE_COMMIT: _bumping(_ILLEGAL, EndStep.ABORT_NOTHING, EndStep.REPEAT, _ILLEGAL),
    _COMPLETE_ABORT: _bumping(_ILLEGAL, EndStep.ABORT_NOTHING, _ILLEGAL, EndStep.REPEAT),
}


# ── Versions ──────────────────────────────────────────────────────────────────────────────────────────────────────────

#: From which version on clients know PRODUCER_FENCED; before, they are told INVALID_PRODUCER_EPOCH. Kafka: KafkaApis.
PRODUCER_FENCED_FROM: Final[Mapping[str, int]] = {
    "InitProducerId": 4,
    "AddPartitionsToTxn": 2,
    "AddOffsetsToTxn": 2,
    "EndTxn": 2,
}


def as_known(error: ErrorCode, api: str, api_version: int) -> ErrorCode:
    """The error, or what clients of that version know instead."""
    if error is ErrorCode.PRODUCER_FENCED and api_version < PRODUCER_FENCED_FROM[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
