"""The short way of `admission`: one batch, of a transaction whose coordinator would say yes at once.

    open in the partition already       it goes straight on
    before Produce v12                  it was added: a look at what the coordinator keeps of the id says so
    from v12 on                         it is added by it: the coordinator is asked, and answers before it returns

A machine that has something else to do, or would say anything but yes, is left to the long way; nothing has happened
then. What is asked here is asked once: a coordinator that can't write it down is answered from here, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.broker.producing.admission import refused_by
from ottla.broker.transactions.asking import Asking, ask, of_produce
from ottla.coordinator.transactions.states import IDLE, TransactionState
from ottla.log.partition_answers import AppendResult
from ottla.log.producer_state import Verification

if TYPE_CHECKING:
    from ottla.broker.node.broker_node import BrokerNode
    from ottla.coordinator.transactions.transaction import TopicPartition
    from ottla.log.partition import Partition
    from ottla.protocol.errors import ErrorCode
    from ottla.protocol.records import BatchHeader

_ONGOING: Final = TransactionState.ONGOING
_VERIFICATION_SETTING: Final = "transaction.partition.verification.enable"


class Admitted(NamedTuple):
    """The coordinator has been heard."""

    verification: Verification | None
    """What the batch is appended with; None: its transaction is open there."""
    refused: AppendResult | None = None
    """It is not appended."""


_OPEN: Final = Admitted(None)


def admit_plain(
    node: BrokerNode, transactional_id: str, log: Partition, header: BatchHeader, api_version: int, wall_ms: int
) -> Admitted | None:
    """Let a transactional batch of this producer in; None: it is left to the long way."""
    producer_id, producer_epoch, producers = header.producer_id, header.producer_epoch, log.producers
    if producer_id < 0:
        return None
    entry = producers.get(producer_id)
    if entry is not None and entry.transaction_first_offset is not None and entry.producer_epoch == producer_epoch:
        return _OPEN
    coordinator = node.transactions.coordinator_of(transactional_id)
    transaction = None if coordinator is None else coordinator.at_rest(transactional_id)
    if (
        transaction is None
        or transaction.producer_id != producer_id
        or transaction.producer_epoch != producer_epoch
        or not node.cluster.settings[_VERIFICATION_SETTING]
    ):
        return None
    place, asking = (log.topic, log.index), of_produce(api_version)
    is_there = transaction.state is _ONGOING and place in transaction.partitions
    if not is_there and (asking is not Asking.ADD or not (transaction.state is _ONGOING or transaction.state in IDLE)):
        return None
    verification = producers.start_verification(
        producer_id, producer_epoch, header.base_sequence, asking is Asking.ADD, wall_ms
    )
    if not isinstance(verification, Verification):
        return None
    if not is_there and (error := _add(node, transactional_id, header, place)):
        return Admitted(None, refused_by(error, asking))
    return Admitted(verification)


def _add(node: BrokerNode, transactional_id: str, header: BatchHeader, place: TopicPartition) -> ErrorCode | None:
    """Have the partition added to the transaction; returns why it is not."""
    answers: list[dict[TopicPartition, ErrorCode]] = []
    producer_id, producer_epoch = header.producer_id, header.producer_epoch
    ask(node.transactions, transactional_id, producer_id, producer_epoch, (place,), Asking.ADD, answers.append)
    assert answers, "a machine at rest answers before it returns"
    return answers[0].get(place)
