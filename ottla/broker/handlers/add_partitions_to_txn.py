"""AddPartitionsToTxn (api key 24), v0–v5: a producer is about to write to these partitions in its transaction.

From v4 on it is for brokers, with many transactions at once, and may only ask whether partitions were added
(`verify_only`). If one partition of a transaction can't be had, nothing is added, and the others are answered
OPERATION_NOT_ATTEMPTED. Of an id that is listed more than once, each time those partitions count that come last.

v2 allows PRODUCER_FENCED, v3 is flexible, v4 takes many transactions (KIP-890), v5 allows TRANSACTION_ABORTABLE.

Errors, for each partition: up to v3 TRANSACTIONAL_ID_AUTHORIZATION_FAILED and TOPIC_AUTHORIZATION_FAILED, this also for
the broker's own topics; UNKNOWN_TOPIC_OR_PARTITION, OPERATION_NOT_ATTEMPTED, those of the tables in
docs/transactions.md, and of the coordinator NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
On all of them CLUSTER_AUTHORIZATION_FAILED, from v4 on.
Kafka: KafkaApis.handleAddPartitionsToTxnRequest.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple, TypeAlias

from ottla.broker.groups.gather import Gather
from ottla.broker.network.call import Call
from ottla.broker.security.access import allows, allows_on_cluster
from ottla.cluster.partition_access import find_partition
from ottla.cluster.topic_names import INTERNAL_TOPICS
from ottla.coordinator.runtime.effects import Token
from ottla.coordinator.transactions.answers import all_partitions, each_partition, errors_of
from ottla.coordinator.transactions.decisions import PRODUCER_FENCED_FROM
from ottla.coordinator.transactions.events import AddPartitionsRequested, VerifyPartitionsRequested
from ottla.coordinator.transactions.transaction import EPOCH_BUMPING_VERSION, TopicPartition
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from ottla.security.authorizer import AclOperation, AclResourceType

_BATCHED_FROM: Final = 4

_Result = AddPartitionsToTxnResponse.AddPartitionsToTxnResult
_Topics: TypeAlias = list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]
_TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult


class _Asked(NamedTuple):
    """What is asked of a transactional id, in all places of a request together.

    Kafka: AddPartitionsToTxnRequest.partitionsByTransaction, getPartitionsFromTopics.
    """

    meant: _Topics
    """The last that are listed with it: these are added, or asked for."""
    shown: _Topics
    """The first: these are named in the answer to an addition."""


def handle(request: AddPartitionsToTxnRequest, call: Call) -> AddPartitionsToTxnResponse | None:
    version = call.api_version
    if version >= _BATCHED_FROM and not allows_on_cluster(call, AclOperation.CLUSTER_ACTION):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    transactions = request.transactions if version >= _BATCHED_FROM else [_only_transaction(request)]

    def all_together(results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult]) -> AddPartitionsToTxnResponse:
        if version >= _BATCHED_FROM:
            return AddPartitionsToTxnResponse(results_by_transaction=results)
        topics = results[0].topic_results
        if version < PRODUCER_FENCED_FROM["AddPartitionsToTxn"]:
            _make_known(topics)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)

    asked: dict[str, _Asked] = {}
    for transaction in paced(transactions):
        known = asked.get(transaction.transactional_id)
        shown = transaction.topics if known is None else known.shown
        asked[transaction.transactional_id] = _Asked(transaction.topics, shown)
    gather = Gather(len(transactions), call, all_together)
    for index, transaction in enumerate(paced(transactions)):
        _submit(transaction, asked[transaction.transactional_id], gather.token(index), call)
    return None


def _only_transaction(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction:
    """A request of before v4 in the shape of the later ones."""
    return AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


def _make_known(topics: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]) -> None:
    for topic in paced(topics):
        for partition in paced(topic.results_by_partition):
            if partition.partition_error_code == ErrorCode.PRODUCER_FENCED:
                partition.partition_error_code = ErrorCode.INVALID_PRODUCER_EPOCH


def _submit(
    transaction: AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction, asked: _Asked, token: Token, call: Call
) -> None:
    transactional_id = transaction.transactional_id
    places = _places(asked.meant)
    is_of_client = call.api_version < _BATCHED_FROM
    if is_of_client and not allows(call, AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
        token.answer(all_partitions(transactional_id, places, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    errors = _refused(places, call, is_of_client=is_of_client)
    if errors:
        errors |= {place: ErrorCode.OPERATION_NOT_ATTEMPTED for place in paced(places) if place not in errors}
        token.answer(each_partition(transactional_id, errors))
        return
    who = transactional_id, transaction.producer_id, transaction.producer_epoch, frozenset(paced(places))
    client_version = EPOCH_BUMPING_VERSION if call.api_version >= _BATCHED_FROM else 0
    call.node.transaction_coordinator.submit(
        VerifyPartitionsRequested(token, *who)
        if transaction.verify_only
        else AddPartitionsRequested(_AsAsked(token, asked.shown), *who, client_version),
        is_long=not call.is_brief,
    )


class _AsAsked:
    """The token of an addition: each partition is shown in the order, and as often, as it was asked for.

    What is answered holds for all of them alike. Kafka: AddPartitionsToTxnRequest.errorResponseForTransaction.
    """

    __slots__ = ("_token", "_topics")

    def __init__(self, token: Token, topics: _Topics) -> None:
        self._token = token
        self._topics = topics

    def answer(self, result: AddPartitionsToTxnResponse.AddPartitionsToTxnResult) -> None:
        error = next(iter(errors_of(result).values()), ErrorCode.NONE)
        shown = [
            _TopicResult(topic.name, [_PartitionResult(index, error) for index in topic.partitions])
            for topic in paced(self._topics)
        ]
        self._token.answer(_Result(result.transactional_id, shown))


def _places(topics: Collection[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [(topic.name, index) for topic in paced(topics) for index in paced(topic.partitions)]


def _refused(places: Collection[TopicPartition], call: Call, *, is_of_client: bool) -> dict[TopicPartition, ErrorCode]:
    """What can't be added, whoever the producer is. Brokers may write to any topic, clients to none of the brokers'."""
    topics = call.node.cluster.topics
    errors: dict[TopicPartition, ErrorCode] = {}
    may_write: dict[str, bool] = {}
    for place in paced(places):
        name, index = place
        if is_of_client and name not in may_write:
            may_write[name] = name not in INTERNAL_TOPICS and allows(
                call, AclOperation.WRITE, AclResourceType.TOPIC, name
            )
        if not may_write.get(name, True):
            errors[place] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif find_partition(topics.get(name), index) is None:
            errors[place] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return errors


def refuse(request: AddPartitionsToTxnRequest, error_code: ErrorCode) -> AddPartitionsToTxnResponse:
    only = all_partitions("", _places(request.v3_and_below_topics), error_code)
    return AddPartitionsToTxnResponse(
        error_code=error_code,
        results_by_topic_v3_and_below=only.topic_results,
    )
