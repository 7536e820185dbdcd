"""TxnOffsetCommit (api key 28), v0–v6: a group's offsets, committed with the transaction of a producer.

They count when the transaction's marker says so, and hold back who asks for stable offsets until then. Before the group
is asked, the partition of __consumer_offsets that keeps it asks the transaction's coordinator, as any partition does
before the first batch: from v5 on it is added to the transaction by that (KIP-890), before it must have been.

v2 adds the leader epoch (KIP-320), v3 is flexible and says which member commits (KIP-447), v4 allows
TRANSACTION_ABORTABLE, v5 adds the partition, v6 names topics by id and allows GROUP_ID_NOT_FOUND (KIP-1319).

Errors, for each partition: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED,
TOPIC_AUTHORIZATION_FAILED; UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_METADATA_TOO_LARGE, those of the table
in docs/groups.md; INVALID_GROUP_ID; INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_ABORTABLE,
CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_ID_MAPPING; and of the coordinators NOT_COORDINATOR,
COORDINATOR_LOAD_IN_PROGRESS (before v2 COORDINATOR_NOT_AVAILABLE), COORDINATOR_NOT_AVAILABLE.
Kafka: KafkaApis.handleTxnOffsetCommitRequest, OffsetMetadataManager.commitTransactionalOffset.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.broker.handlers.offset_commit import is_too_large
from ottla.broker.internal.coordinators import group_partition
from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.broker.transactions.asking import Asking, ask, of_offset_commit
from ottla.cluster.partition_access import find_accessible
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.offsets.answers import transactional_commit_refused
from ottla.coordinator.offsets.events import TxnOffsetCommitRequested
from ottla.coordinator.write_errors import WRITE_ERRORS
from ottla.log.producer_entry import NO_SEQUENCE
from ottla.log.producer_state import Verification
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from ottla.security.authorizer import AclOperation, AclResourceType

if TYPE_CHECKING:
    from ottla.cluster.topic import Topic
    from ottla.log.partition import Partition

_TOPIC_IDS_FROM: Final = 6
_KNOWS_LOADING_FROM: Final = 2

_Topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_Partition = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


class _Answer:
    """Takes the group's answer; what was refused before it stands first. Kafka: TxnOffsetCommitResponse.Builder."""

    __slots__ = ("_by_topic", "call", "topics")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = []
        self._by_topic: dict[tuple[str, bytes], TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = {}

    def add(
        self, name: str, topic_id: bytes, partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition]
    ) -> None:
        """Beside what was refused a topic stands once, however often it is listed."""
        key = (name, topic_id)
        if key not in self._by_topic:
            self._by_topic[key] = _Topic(name, topic_id, [])
            self.topics.append(self._by_topic[key])
        self._by_topic[key].partitions += partitions

    def answer(self, response: TxnOffsetCommitResponse, /) -> None:
        """The group has spoken."""
        if self.topics:
            for topic in response.topics:
                self.add(topic.name, topic.topic_id, topic.partitions)
        else:
            self.topics = response.topics
        if self.call.api_version < _KNOWS_LOADING_FROM:
            for topic in self.topics:
                for partition in topic.partitions:
                    if partition.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                        partition.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.call.answer(TxnOffsetCommitResponse(topics=self.topics))


def handle(request: TxnOffsetCommitRequest, call: Call) -> None:
    answer = _Answer(call)
    _sort_out(request, answer)
    if not request.topics:
        answer.answer(TxnOffsetCommitResponse())
    elif not request.group_id:
        answer.answer(transactional_commit_refused(request, ErrorCode.INVALID_GROUP_ID))
    else:
        _ask(request, answer)


def _sort_out(request: TxnOffsetCommitRequest, answer: _Answer) -> None:
    """Fill in each topic's name and id, and take out of the request what does not exist, or may not be read."""
    by_id = answer.call.api_version >= _TOPIC_IDS_FROM
    may_read: dict[str, bool] = {}
    for topic in paced(request.topics):
        known = _find(topic, by_id, may_read, answer.call)
        if isinstance(known, ErrorCode):
            refused = [_Partition(p.partition_index, known) for p in paced(topic.partitions)]
            answer.add(topic.name, topic.topic_id, refused)
            topic.partitions = []
        else:
            _sort_out_partitions(topic, known, answer)
    request.topics = [topic for topic in request.topics if topic.partitions]


def _find(
    asked: TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic, by_id: bool, may_read: dict[str, bool], call: Call
) -> Topic | ErrorCode:
    """The topic, or why not. `may_read`: what the authorizer has said so far."""
    cluster = call.node.cluster
    topic = cluster.topics_by_id.get(asked.topic_id) if by_id else cluster.topics.get(asked.name)
    if topic is None and by_id:
        return ErrorCode.UNKNOWN_TOPIC_ID
    name = asked.name if topic is None else topic.name
    if name not in may_read:
        may_read[name] = allows(call, AclOperation.READ, AclResourceType.TOPIC, name)
    if not may_read[name]:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic


def _sort_out_partitions(
    topic: TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic, known: Topic, answer: _Answer
) -> None:
    topic.name, topic.topic_id = known.name, known.topic_id
    count = len(known.partitions)
    missing = [p.partition_index for p in paced(topic.partitions) if not 0 <= p.partition_index < count]
    if missing:
        refused = [_Partition(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for index in missing]
        answer.add(topic.name, topic.topic_id, refused)
        topic.partitions = [p for p in paced(topic.partitions) if 0 <= p.partition_index < count]


def _ask(request: TxnOffsetCommitRequest, answer: _Answer) -> None:
    """Have the partition of __consumer_offsets ask the transaction's coordinator, unless it is open there."""
    node, asking = answer.call.node, of_offset_commit(answer.call.api_version)
    index = group_partition(node.cluster, request.group_id)
    log = find_accessible(node, node.cluster.topics.get(GROUP_TOPIC), index)
    verification = log if isinstance(log, ErrorCode) else _start(request, log, asking, answer.call)
    if isinstance(verification, ErrorCode):
        error = WRITE_ERRORS.get(verification, verification)
        answer.answer(transactional_commit_refused(request, error))
        return
    if verification is None:
        _submit(request, answer, None)
        return
    place = GROUP_TOPIC, index

    def then(errors: dict[tuple[str, int], ErrorCode]) -> None:
        if place in errors:
            error = WRITE_ERRORS.get(errors[place], errors[place])
            answer.answer(transactional_commit_refused(request, error))
        else:
            answer.call.go_on(partial(_submit, request, answer, verification))  # that of the transaction has more to do

    ask(
        node.transactions,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        [place],
        asking,
        then,
    )


def _start(
    request: TxnOffsetCommitRequest, log: Partition, asking: Asking, call: Call
) -> ErrorCode | Verification | None:
    """What the commit needs before it is written; None: nothing."""
    adds = asking is Asking.ADD
    if not adds and not call.node.cluster.settings["transaction.partition.verification.enable"]:
        return None
    return log.producers.start_verification(
        request.producer_id, request.producer_epoch, NO_SEQUENCE, adds, call.node.clock.wall_ms()
    )


def _submit(request: TxnOffsetCommitRequest, answer: _Answer, verification: Verification | None) -> None:
    call = answer.call
    too_large = not call.is_brief and is_too_large(request, call)
    commit = TxnOffsetCommitRequested(answer, request, call.api_version, verification, too_large)
    call.node.coordinator.submit(request.group_id, commit, is_long=not call.is_brief)


def refuse(request: TxnOffsetCommitRequest, error_code: ErrorCode) -> TxnOffsetCommitResponse:
    return transactional_commit_refused(request, error_code)
