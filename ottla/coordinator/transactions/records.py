"""A transactional id as a record of __transaction_state, written and read.

    key                       value
    int16 0, transactional id      int16 1 (0 under transaction.version 0), the id's producer, state and partitions

Three are written with each transaction, so today's form is put together here, in a third of the time that the generated
codec takes; a test holds the two to the same bytes.

Not in it are the epoch before and whether a fence has failed: a producer that repeats its InitProducerId to another
coordinator than the one that answered it is fenced, as with Kafka.

Kafka: TransactionLog.
"""

from __future__ import annotations

from struct import Struct, pack
from typing import TYPE_CHECKING, Final

from ottla.coordinator.runtime.records import INT16, CorruptRecordError, decode, prefix
from ottla.coordinator.transactions.states import STATE_IDS, STATE_OF_ID, TransactionState
from ottla.coordinator.transactions.transaction import NO_PARTITIONS, NO_PRODUCER_ID, Transaction, by_topic
from ottla.pacing import paced
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import TransactionLogValue
from ottla.protocol.primitives import unsigned_varint

if TYPE_CHECKING:
    from ottla.coordinator.runtime.records import Record
    from ottla.coordinator.transactions.transaction import TopicPartition

TRANSACTION_TYPE: Final = 0

_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 1
_OLD_VALUE_VERSION: Final = 0

_pack_type_length = Struct(">hh").pack
_pack_head = Struct(">hqhib").pack
_pack_dates = Struct(">qq").pack
#: Tagged fields: their tags, their sizes, what they say.
_pack_producer_id_tag = Struct(">bbq").pack
_pack_client_version_tag = Struct(">bbh").pack
_pack_prev_alone = Struct(">bbbq").pack
_pack_usual_tags = Struct(">bbbqbbh").pack
_NO_TAGS: Final = b"\0"
_NULL: Final = b"\0"
_NO_ELEMENTS: Final = b"\1"
_EMPTY: Final = TransactionState.EMPTY


def transaction_record(transaction: Transaction, transaction_version: int) -> Record:
    """What is to be kept of it."""
    value = _value(transaction) if transaction_version else _old_value(transaction)
    return _key(transaction.transactional_id), value


def _value(transaction: Transaction) -> bytes:
    state = transaction.state
    return b"".join(
        (
            _pack_head(
                _VALUE_VERSION,
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.timeout_ms,
                STATE_IDS[state],
            ),
            _NULL if state is _EMPTY else _partitions(transaction.partitions),
            _pack_dates(transaction.last_update_ms, transaction.start_ms),
            _tags(transaction),
        )
    )


def _partitions(partitions: frozenset[TopicPartition]) -> bytes:
    if not partitions:
        return _NO_ELEMENTS
    indexes_of = by_topic(partitions)
    parts = [unsigned_varint(len(indexes_of) + 1)]
    listed = indexes_of.items()
    for topic, indexes in paced(listed):
        name, count = topic.encode(), len(indexes)
        parts += (
            unsigned_varint(len(name) + 1) + name,
            unsigned_varint(count + 1) + pack(f">{count}i", *indexes) + _NO_TAGS,
        )
    return b"".join(parts)


def _tags(transaction: Transaction) -> bytes:
    """What is not as it is by default, with how many those are."""
    prev, following, version = transaction.prev_producer_id, transaction.next_producer_id, transaction.client_version
    if following == NO_PRODUCER_ID and prev != NO_PRODUCER_ID:
        return _pack_usual_tags(2, 0, 8, prev, 2, 2, version) if version else _pack_prev_alone(1, 0, 8, prev)
    tags = []
    if prev != NO_PRODUCER_ID:
        tags.append(_pack_producer_id_tag(0, 8, prev))
    if following != NO_PRODUCER_ID:
        tags.append(_pack_producer_id_tag(1, 8, following))
    if version:
        tags.append(_pack_client_version_tag(2, 2, version))
    return b"".join((len(tags).to_bytes(), *tags))


def _old_value(transaction: Transaction) -> bytes:
    indexes_of = by_topic(transaction.partitions)
    partitions = [TransactionLogValue.PartitionsSchema(topic, indexes) for topic, indexes in paced(indexes_of.items())]
    value = TransactionLogValue(
        transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=STATE_IDS[transaction.state],
        transaction_partitions=None if transaction.state is _EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    return INT16.pack(_OLD_VALUE_VERSION) + value.encode(_OLD_VALUE_VERSION)


def transaction_tombstone(transactional_id: str) -> Record:
    return _key(transactional_id), None


def _key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    return _pack_type_length(TRANSACTION_TYPE, len(name)) + name


def read_transactional_id(key: bytes) -> str:
    """The transactional id in the record's key."""
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
