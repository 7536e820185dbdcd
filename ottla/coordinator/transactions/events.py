"""What transactions are asked and told. `token` is the sender, to be answered; requests come with topics that exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ottla.coordinator.runtime.effects import Token
from ottla.coordinator.runtime.events import RuntimeEvent
from ottla.coordinator.transactions.transaction import TopicPartition
from ottla.protocol.messages.end_txn import EndTxnRequest


@dataclass(slots=True)
class InitProducerIdRequested:
    """Answered with an InitProducerIdResponse."""

    token: Token
    transactional_id: str
    timeout_ms: int
    expected: tuple[int, int] | None
    """Producer id and epoch that the producer has, if it says."""
    api_version: int
    client_id: str = ""


@dataclass(slots=True)
class AddPartitionsRequested:
    """Answered with an AddPartitionsToTxnResult; its partitions all have the same error.

    `client_version`: 2 if a partition adds itself with its first batch, 0 if a client adds it (KIP-890).
    """

    token: Token
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    client_version: int


@dataclass(slots=True)
class VerifyPartitionsRequested:
    """Are these part of the transaction? Answered with an AddPartitionsToTxnResult."""

    token: Token
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class EndTxnRequested:
    """Answered with an EndTxnResponse."""

    token: Token
    request: EndTxnRequest
    api_version: int

    @property
    def transactional_id(self) -> str:
        return self.request.transactional_id


@dataclass(slots=True)
class DescribeRequested:
    """One id of a DescribeTransactions. Answered with a TransactionState."""

    token: Token
    transactional_id: str


@dataclass(slots=True)
class MarkersWritten:
    """These partitions have the marker that was asked for, or are no more."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class LogMayBeWritable:
    """What could not be written down perhaps can be, now."""


Request: TypeAlias = (
    InitProducerIdRequested | AddPartitionsRequested | VerifyPartitionsRequested | EndTxnRequested | DescribeRequested
)
Event: TypeAlias = Request | MarkersWritten | LogMayBeWritable | RuntimeEvent
