"""A transactional id as a record of __transaction_state, written and read.

    key                       value
    int16 0, transactional id      int16 1 (0 under transaction.version 0), the id's producer, state and partitions

Not in it are the epoch before and whether a fence has failed: a producer that repeats its InitProducerId to another
coordinator than the one that answered it is fenced, as with Kafka.

Kafka: TransactionLog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.runtime.records import INT16, CorruptRecordError, decode, prefix
from ottla.coordinator.transactions.states import STATE_IDS, STATE_OF_ID, TransactionState
from ottla.coordinator.transactions.transaction import NO_PARTITIONS, Transaction, by_topic
from ottla.pacing import paced
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import TransactionLogValue

if TYPE_CHECKING:
    from ottla.coordinator.runtime.records import Record

TRANSACTION_TYPE: Final = 0

_KEY_VERSION: Final = 0
_TYPE_PREFIX: Final = INT16.pack(TRANSACTION_TYPE)


def transaction_record(transaction: Transaction, transaction_version: int) -> Record:
    """What is to be kept of it."""
    version = 1 if transaction_version else 0
    indexes_of = by_topic(transaction.partitions)
    partitions = [TransactionLogValue.PartitionsSchema(topic, indexes) for topic, indexes in paced(indexes_of.items())]
    value = TransactionLogValue(
        transaction.producer_id,
        transaction.prev_producer_id,
        transaction.next_producer_id,
        transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=STATE_IDS[transaction.state],
        transaction_partitions=None if transaction.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )
    return _key(transaction.transactional_id), INT16.pack(version) + value.encode(version)


def transaction_tombstone(transactional_id: str) -> Record:
    return _key(transactional_id), None


def _key(transactional_id: str) -> bytes:
    return _TYPE_PREFIX + TransactionLogKey(transactional_id).encode(_KEY_VERSION)


def read_transactional_id(key: bytes) -> str:
    """Whose record it is, by its key."""
    return decode(TransactionLogKey, key, _KEY_VERSION).transactional_id


def read_transaction(transactional_id: str, value: bytes) -> Transaction:
    """The transactional id as it comes back, from a record's value. There may be millions: what is alike is shared."""
    read = decode(TransactionLogValue, value, prefix(value, "value"))
    state = STATE_OF_ID.get(read.transaction_status)
    if state is None:
        raise CorruptRecordError(f"transactional id {transactional_id} has a state {read.transaction_status}")
    producer_id, listed = read.producer_id, read.transaction_partitions
    return Transaction(
        transactional_id,
        producer_id,
        read.transaction_timeout_ms,
        read.transaction_last_update_timestamp_ms,
        state,
        read.producer_epoch,
        prev_producer_id=producer_id if read.previous_producer_id == producer_id else read.previous_producer_id,
        next_producer_id=read.next_producer_id,
        start_ms=read.transaction_start_timestamp_ms,
        client_version=read.client_transaction_version,
        partitions=frozenset((topic.topic, index) for topic in listed for index in topic.partition_ids)
        if listed
        else NO_PARTITIONS,
    )
