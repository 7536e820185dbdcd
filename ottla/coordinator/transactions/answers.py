"""The shapes of answers about transactions. The error is decided elsewhere; here is only what surrounds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from ottla.coordinator.transactions.transaction import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
    by_topic,
)
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from ottla.protocol.messages.describe_transactions import DescribeTransactionsResponse
from ottla.protocol.messages.end_txn import EndTxnResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdResponse

AddPartitionsToTxnResult = AddPartitionsToTxnResponse.AddPartitionsToTxnResult
_TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
DescribedTransaction = DescribeTransactionsResponse.TransactionState


def init_refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(0, error, NO_PRODUCER_ID, NO_EPOCH)


def init_answered(transaction: Transaction) -> InitProducerIdResponse:
    return InitProducerIdResponse(0, ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch)


def end_answered(error: ErrorCode, producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_EPOCH) -> EndTxnResponse:
    return EndTxnResponse(0, error, producer_id, producer_epoch)


def all_partitions(
    transactional_id: str, partitions: Iterable[TopicPartition], error: ErrorCode
) -> AddPartitionsToTxnResponse.AddPartitionsToTxnResult:
    """The same for every partition."""
    return each_partition(transactional_id, dict.fromkeys(partitions, error))


def each_partition(
    transactional_id: str, errors: Mapping[TopicPartition, ErrorCode]
) -> AddPartitionsToTxnResponse.AddPartitionsToTxnResult:
    """Kafka: AddPartitionsToTxnResponse.resultForTransaction."""
    topics: dict[str, AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = {}
    for (name, index), error in paced(errors.items()):
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = _TopicResult(name, [])
        topic.results_by_partition.append(_PartitionResult(index, error))
    return AddPartitionsToTxnResult(transactional_id, list(topics.values()))


def errors_of(result: AddPartitionsToTxnResponse.AddPartitionsToTxnResult) -> dict[TopicPartition, ErrorCode]:
    """What a result that was made here says of each partition."""
    return {
        (topic.name, partition.partition_index): cast("ErrorCode", partition.partition_error_code)
        for topic in paced(result.topic_results)
        for partition in paced(topic.results_by_partition)
    }


def describe_refused(transactional_id: str, error: ErrorCode) -> DescribeTransactionsResponse.TransactionState:
    return DescribedTransaction(error, transactional_id)


def described(transaction: Transaction) -> DescribeTransactionsResponse.TransactionState:
    indexes_of = by_topic(transaction.partitions)
    topics = [
        DescribeTransactionsResponse.TopicData(name, sorted(indexes_of[name])) for name in paced(sorted(indexes_of))
    ]
    return DescribedTransaction(
        ErrorCode.NONE,
        transaction.transactional_id,
        transaction.state.value,
        transaction.timeout_ms,
        transaction.start_ms,
        transaction.producer_id,
        transaction.producer_epoch,
        topics,
    )
