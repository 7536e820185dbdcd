"""What a request is answered that never gets to a machine: the coordinator or the partition isn't there.

    NOT_STARTED, EMPTY_ID, NOT_COORDINATOR, LOADING      the first that applies counts; FAILED is for the request at
    which the machine has met a bug

Kafka: TransactionCoordinator, TransactionStateManager.getAndMaybeAddTransactionState.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.transactions import answers
from ottla.coordinator.transactions.events import (
    AddPartitionsRequested,
    DescribeRequested,
    EndTxnRequested,
    InitProducerIdRequested,
    Request,
    VerifyPartitionsRequested,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.protocol.primitives import Message


class Outside(Enum):
    """Why a request does not get to a machine."""

    EMPTY_ID = 'the transactional id is ""'
    NOT_COORDINATOR = "another node coordinates the transactional id"
    LOADING = "the coordinator is loading the id's partition"
    FAILED = "the request raised an exception in the coordinator (a bug)"

    __hash__ = object.__hash__


#: What each request is answered. Kafka: TransactionCoordinator.
REFUSALS: Final[Mapping[Outside, ErrorCode]] = {
    Outside.EMPTY_ID: ErrorCode.INVALID_REQUEST,
    Outside.NOT_COORDINATOR: ErrorCode.NOT_COORDINATOR,
    Outside.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    Outside.FAILED: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def refusal(event: Request, outside: Outside) -> Message:
    """The answer to a request that does not get to a machine."""
    return _SHAPES[event.__class__](event, REFUSALS[outside])


def is_request(event: object) -> bool:
    """Whether this is to be answered."""
    return event.__class__ in _SHAPES


def _partitions(event: AddPartitionsRequested | VerifyPartitionsRequested, error: ErrorCode) -> Message:
    return answers.all_partitions(event.transactional_id, event.partitions, error)


_SHAPES: Final[Mapping[type, Callable[[Any, ErrorCode], Message]]] = {
    InitProducerIdRequested: lambda _event, error: answers.init_refused(error),
    AddPartitionsRequested: _partitions,
    VerifyPartitionsRequested: _partitions,
    EndTxnRequested: lambda _event, error: answers.end_answered(error),
    DescribeRequested: lambda event, error: answers.describe_refused(event.transactional_id, error),
}
