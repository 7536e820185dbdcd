"""Produce (api key 0), v3–v13: append batches of records, one to each partition.

`acks` says when the client wants to hear of it: 1 once the leader has the batch, -1 once all in-sync replicas have it,
of which there must be min.insync.replicas; 0 not at all, and then an error closes the connection. Partitions are
independent: one may fail while the next is appended. Of a partition that is listed twice the last batch counts.

v3 is the first with record batches of today's form (v0–v2 are advertised, see `apis`, and close the connection), v5
adds log_start_offset, v7 allows zstd, v8 names the records at fault (KIP-467), v9 is flexible, v10 answers the current
leader if the client asked another node (KIP-951), v11 and v12 concern transactions, v13 names topics by id (KIP-516).

Errors, by partition, in this order: UNKNOWN_TOPIC_ID, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION; what
`only_batch` finds: INVALID_RECORD, CORRUPT_MESSAGE, UNSUPPORTED_COMPRESSION_TYPE; INVALID_REQUIRED_ACKS;
INVALID_TOPIC_EXCEPTION for the broker's own topics, unless the client calls itself __admin_client;
NOT_LEADER_OR_FOLLOWER; NOT_ENOUGH_REPLICAS; what `Partition.prepare` and
`append_prepared` find; REQUEST_TIMED_OUT. On all
partitions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED for a transactional batch without a transactional_id, or with one that
is not the client's, INVALID_PRODUCER_ID_MAPPING for those of two producers, CORRUPT_MESSAGE for a first batch that
can't even be asked whether it is transactional. What a transaction's coordinator says to its batches is in `admission`.
Kafka: KafkaApis.handleProduceRequest, ProduceRequest.validateRecords, ReplicaManager.handleProduceAppend.

Here is the long way, which knows all of it. What most producers send goes a short one: `plain_produce`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ottla.broker.delayed.produce import DelayedProduce, PendingAcks
from ottla.broker.network.call import Call, CloseConnection
from ottla.broker.network.limits import BRIEF_PARTITIONS_MAX
from ottla.broker.node.broker_node import BrokerNode
from ottla.broker.producing.plain_produce import PLAIN_VERSIONS, answer_plain
from ottla.broker.security.access import allows
from ottla.cluster.partition_access import current_leader, find_partition
from ottla.cluster.refused import Refused
from ottla.cluster.topic import Topic
from ottla.log.partition_answers import AppendResult
from ottla.log.producer_state import Verification
from ottla.pacing import paced, paced_each
from ottla.protocol.batch_error import BatchError
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.produce import ProduceRequest, ProduceResponse
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_validation import only_batch
from ottla.protocol.records import BATCH_OVERHEAD, COMPRESSION_MASK, TRANSACTIONAL_FLAG, BatchHeader, batch_spans
from ottla.security.authorizer import AclOperation, AclResourceType

if TYPE_CHECKING:
    from ottla.cluster.topic import Placement
    from ottla.coordinator.transactions.transaction import TopicPartition
    from ottla.log.partition import Partition

_Topic = ProduceResponse.TopicProduceResponse
_Partition = ProduceResponse.PartitionProduceResponse

_ACKS_NONE: Final = 0
_ACKS_LEADER: Final = 1
_ACKS_ALL: Final = -1
#: A client with this id may write the broker's own topics.
_ADMIN_CLIENT_ID: Final = "__admin_client"

#: What most partitions say. It is never changed, so one serves all answers.
_NO_LEADER: Final = ProduceResponse.LeaderIdAndEpoch()
#: Where a batch's attributes have its codec and the transactional flag: in the lower one of two bytes.
_ATTRIBUTES_AT: Final = 22

#: A partition as the request names it: (topic's name, or from v13 on its id; number).
Key: TypeAlias = tuple[str | bytes, int]
#: A transactional producer: id and epoch.
Producer: TypeAlias = tuple[int, int]

_UNVERIFIED: Final[Mapping[Key, Verification]] = {}


class _Sent(NamedTuple):
    """A batch that may be appended as far as it can be judged without the log."""

    topic: Topic
    header: BatchHeader
    batch: Buffer


def is_long(request: ProduceRequest, _node: BrokerNode) -> bool:
    """Many partitions are, and what has to be unpacked."""
    topics = request.topic_data
    partitions_left = BRIEF_PARTITIONS_MAX
    for topic in topics:
        for partition in topic.partition_data:
            records = partition.records
            if records and len(records) > BATCH_OVERHEAD and records[_ATTRIBUTES_AT] & COMPRESSION_MASK:
                return True
            partitions_left -= 1
            if partitions_left < 0:
                return True
    return len(topics) > BRIEF_PARTITIONS_MAX


def short_way(version: int) -> Callable[[bytes, int, int, BrokerNode], bytes | None] | None:
    """What requests of this version go to first, if there is a short way for it."""
    return answer_plain if version in PLAIN_VERSIONS else None


def handle(request: ProduceRequest, call: Call) -> ProduceResponse | None:
    try:
        sent, results, producer = _sort_out(request, call)
    except Refused as refused:
        return refuse(request, refused.error_code, refused.message)
    if producer is not None:
        _admit(request, call, sent, results, producer)
        return None
    return _append_all(request, call, sent, results, _UNVERIFIED)


def _admit(
    request: ProduceRequest, call: Call, sent: dict[Key, _Sent], results: dict[Key, AppendResult], producer: Producer
) -> None:
    """Append transactional batches when the coordinator of the transaction has let them in."""
    from ottla.broker.producing.admission import Admission, Batch

    assert request.transactional_id is not None, "it was asked for"
    node_id = call.node.node_id
    batches: dict[TopicPartition, Batch] = {}
    for (_, index), (topic, header, _) in paced(sent.items()):
        if header.is_transactional and header.has_producer_id:
            is_led_here = topic.placements[index].leader_id == node_id
            batches[topic.name, index] = Batch(topic.partitions[index], header, is_led_here)
    go_on = partial(_append_admitted, request, call, sent, results)
    Admission(call, request.transactional_id, producer, batches, go_on).begin()


def _append_admitted(
    request: ProduceRequest,
    call: Call,
    sent: dict[Key, _Sent],
    results: dict[Key, AppendResult],
    refused: Mapping[TopicPartition, AppendResult],
    verified: Mapping[TopicPartition, Verification],
) -> ProduceResponse | None:
    """Go on with what was let in."""
    verifications: dict[Key, Verification] = {}
    for key in paced(list(sent)):
        place = sent[key].topic.name, key[1]
        if place in refused:
            results.setdefault(key, refused[place])  # a batch of a partition listed twice may be refused already
            del sent[key]
        elif place in verified:
            verifications[key] = verified[place]
    return _append_all(request, call, sent, results, verifications)


def _append_all(
    request: ProduceRequest,
    call: Call,
    sent: dict[Key, _Sent],
    results: dict[Key, AppendResult],
    verifications: Mapping[Key, Verification],
) -> ProduceResponse | None:
    """Append what may be, and answer with what was refused before, now or when the acknowledgements are there."""
    acks = request.acks
    lagging: list[PendingAcks] = []
    appended = {}
    for key in paced_each(list(sent)):
        verification = verifications.get(key) if verifications else None
        appended[key] = _append(key[1], sent.pop(key), acks, call, lagging, verification)  # and lets go of it
    results = appended | results
    if acks == _ACKS_NONE:
        failed = [f"{key[0]!r}-{key[1]}: {result.error.name}" for key, result in results.items() if result.error]
        if failed:
            raise CloseConnection(f"Produce with acks=0 failed: {', '.join(failed)}")
        call.answer_nothing()
        return None
    if not lagging:
        return _answer(results, call)
    node = call.node
    deadline_ms = node.timer.now_ms() + request.timeout_ms
    delayed = DelayedProduce(call, deadline_ms, node, lagging, partial(_answer, results, call))
    delayed.park(node.delayed_operations.produce, [pending.partition for pending in lagging])
    return None


def refuse(request: ProduceRequest, error_code: int, message: str | None = None) -> ProduceResponse:
    """With acks=0 nothing may be answered, and `CloseConnection` is raised. Kafka: ProduceRequest.getErrorResponse."""
    if request.acks == _ACKS_NONE:
        raise CloseConnection(f"Produce with acks=0 failed: {error_code!r}")
    indexes: dict[tuple[str, bytes], dict[int, None]] = {}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            indexes.setdefault((topic.name, topic.topic_id), {})[partition.index] = None
    return ProduceResponse(
        [
            _Topic(name, topic_id, [_Partition(index, error_code, -1, error_message=message) for index in listed])
            for (name, topic_id), listed in indexes.items()
        ]
    )


def _sort_out(request: ProduceRequest, call: Call) -> tuple[dict[Key, _Sent], dict[Key, AppendResult], Producer | None]:
    """(what may be appended, what is refused already, whose transaction it is part of, if it is of one).

    Raises `Refused` if that is the whole request.
    """
    cluster, version, is_brief = call.node.cluster, call.api_version, call.is_brief
    sent: dict[Key, _Sent] = {}
    refused: dict[Key, AppendResult] = {}
    #: Whose records are null, unless the partition is listed again with others.
    without_records: dict[Key, None] = {}
    is_transactional = False
    for listed_topic in paced(request.topic_data):
        if version >= 13:
            name: str | bytes = listed_topic.topic_id
            topic = cluster.topics_by_id.get(listed_topic.topic_id)
        else:
            name = listed_topic.name
            topic = cluster.topics.get(listed_topic.name)
        may_write = (topic is None and version >= 13) or allows(
            call, AclOperation.WRITE, AclResourceType.TOPIC, listed_topic.name if topic is None else topic.name
        )
        partitions = listed_topic.partition_data
        for listed in paced(partitions):
            key = name, listed.index
            try:
                header, batch = only_batch(listed.records, version)
            except BatchError as fault:
                error = fault.error
                is_transactional = is_transactional or _begins_transactional(listed.records)
            else:
                error = NONE
                is_transactional = is_transactional or header.attributes & TRANSACTIONAL_FLAG != 0
            if topic is None and version >= 13:
                refused[key] = AppendResult(ErrorCode.UNKNOWN_TOPIC_ID)
            elif not may_write:
                refused[key] = AppendResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif topic is None or find_partition(topic, listed.index) is None:
                refused[key] = AppendResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif listed.records is None:
                without_records[key] = None
            elif error:
                refused[key] = AppendResult(error)
            else:
                sent[key] = _Sent(topic, header, batch)
                without_records.pop(key, None)
            if not is_brief:
                listed.records = None  # `sent` has what is needed of it
    for key in without_records:
        sent.pop(key, None)
        refused.setdefault(key, AppendResult(ErrorCode.INVALID_RECORD))
    producer = _check_transaction(request, call, sent) if is_transactional else None
    return sent, refused, producer


def _begins_transactional(records: Buffer | None) -> bool:
    """Whether the first batch is of a transaction, where there is more or less than one. Raises `Refused`.

    Kafka asks this before anything else, and fails on bytes that are no batch.
    """
    records = records or b""
    try:
        first = next(batch_spans(records), None)
    except BatchError as fault:
        raise Refused(fault.error, str(fault)) from None
    return first is not None and first.magic == 2 and records[_ATTRIBUTES_AT] & TRANSACTIONAL_FLAG != 0


def _check_transaction(request: ProduceRequest, call: Call, sent: dict[Key, _Sent]) -> Producer | None:
    """What holds for all batches of a transaction together, and whose it is. Raises `Refused`."""
    if request.transactional_id is None or not allows(
        call, AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id
    ):
        raise Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    headers = [batch.header for batch in sent.values()]
    producers = {
        (header.producer_id, header.producer_epoch)
        for header in headers
        if header.is_transactional and header.has_producer_id
    }
    if len(producers) > 1:
        raise Refused(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING, "a request's transactional batches must be of one producer"
        )
    return next(iter(producers), None)


def _append(
    index: int, sent: _Sent, acks: int, call: Call, lagging: list[PendingAcks], verification: Verification | None
) -> AppendResult:
    """Append a batch; if not all replicas have it that should, it joins `lagging`."""
    node = call.node
    topic, header, batch = sent
    if acks not in (_ACKS_NONE, _ACKS_LEADER, _ACKS_ALL):
        return AppendResult(ErrorCode.INVALID_REQUIRED_ACKS)
    if topic.is_internal and call.client_id != _ADMIN_CLIENT_ID:
        return AppendResult(ErrorCode.INVALID_TOPIC_EXCEPTION)
    partition, placement = topic.partitions[index], topic.placements[index]
    refused = _refusal(partition, placement, acks, node)  # before anything is said of the records
    if refused is not None:
        return refused
    wall_ms = node.clock.wall_ms()
    prepared = partition.prepare(batch, header, wall_ms)
    if isinstance(prepared, AppendResult):
        return prepared
    refused = _refusal(partition, placement, acks, node)  # once more: the task may have been suspended
    if refused is not None:
        return refused
    result = partition.append_prepared(prepared.data, header, prepared.max_timestamp, wall_ms, verification)
    if acks == _ACKS_ALL and not result.error and partition.high_watermark <= result.last_offset:
        lagging.append(PendingAcks(partition, placement, result))
    return result


def _refusal(partition: Partition, placement: Placement, acks: int, node: BrokerNode) -> AppendResult | None:
    """Why this node may not append to the partition now; None: it may."""
    if placement.leader_id != node.node_id:
        return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if acks == _ACKS_ALL and placement.has_too_few_in_sync(partition.config.min_insync_replicas):
        return AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, log_start_offset=partition.log_start_offset)
    return None


def _answer(results: dict[Key, AppendResult], call: Call) -> ProduceResponse:
    topics: dict[str | bytes, ProduceResponse.TopicProduceResponse] = {}
    endpoints: dict[int, ProduceResponse.NodeEndpoint] = {}
    for (name, index), result in paced(results.items()):
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = (
                _Topic(name, partition_responses=[]) if isinstance(name, str) else _Topic("", name, [])
            )
        answer = _Partition(
            index,
            result.error,
            result.base_offset,
            result.log_append_time_ms,
            result.log_start_offset,
            error_message=result.error_message,
            current_leader=_NO_LEADER,
        )
        topic.partition_responses.append(answer)
        if result.error:
            answer.record_errors = [
                ProduceResponse.BatchIndexAndErrorMessage(fault.batch_index, fault.message)
                for fault in result.record_errors
            ]
            if result.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                _show_leader(name, answer, call, endpoints)
    return ProduceResponse(list(topics.values()), node_endpoints=list(endpoints.values()))


def _show_leader(
    name: str | bytes,
    answer: ProduceResponse.PartitionProduceResponse,
    call: Call,
    endpoints: dict[int, ProduceResponse.NodeEndpoint],
) -> None:
    """Name the partition's leader, and its address."""
    cluster = call.node.cluster
    topic = cluster.topics.get(name) if isinstance(name, str) else cluster.topics_by_id.get(name)
    leader_id, leader_epoch, leader = current_leader(call.node, topic, answer.index)
    answer.current_leader = ProduceResponse.LeaderIdAndEpoch(leader_id, leader_epoch)
    address = None if leader is None else leader.addresses.get(call.listener_name)
    if leader is not None and address is not None:
        endpoints[leader_id] = ProduceResponse.NodeEndpoint(leader_id, address.host, address.port, leader.rack)
