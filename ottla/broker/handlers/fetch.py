"""Fetch (api key 1), v4–v18: records from where the client has got to, at once or when there are enough of them.

With less than min_bytes there to read, the answer waits up to max_wait_ms: see `delayed.fetch`. It comes at once if the
client won't wait, asks for no partition that is known, or any partition can't be read; unknown ones do not cut the wait
short. Who fetches many partitions keeps a session and says only what changed: see `fetch_session`. Records leave as
they lie in the log, uncopied.

v5 adds log_start_offset, v7 sessions (KIP-227), v9 current_leader_epoch (KIP-320), v10 allows zstd, v11 adds rack_id
and lets consumers read from any replica (KIP-392), v12 is flexible and adds last_fetched_epoch, v13 names topics by id
(KIP-516), v15 moves replica_id, v16 answers the current leader to who asked the wrong node (KIP-951), v17 and v18 are
between replicas.

Errors, by partition: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INCONSISTENT_TOPIC_ID (the
topic was made anew under its name), KAFKA_STORAGE_ERROR (NOT_LEADER_OR_FOLLOWER up to v5), FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH, OFFSET_OUT_OF_RANGE. On top:
FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
Kafka: KafkaApis.handleFetchRequest, ReplicaManager.fetchMessages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ottla.broker.delayed.fetch import DelayedFetch
from ottla.broker.fetching.fetch_session import FetchContext, FetchedPartition, Found, Key
from ottla.broker.fetching.reading import FetchParams, read_partitions
from ottla.broker.network.call import Call
from ottla.broker.network.limits import BRIEF_PARTITIONS_MAX, WATCHED_PARTITIONS_MAX
from ottla.broker.node.broker_node import BrokerNode
from ottla.cluster.partition_access import NO_LEADER_EPOCH, current_leader, find_partition
from ottla.log.partition_answers import IsolationLevel, ReadResult
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest, FetchResponse
from ottla.protocol.primitives import ZERO_UUID

_Topic = FetchResponse.FetchableTopicResponse
_Data = FetchResponse.PartitionData

# What most partitions say. Nobody changes these, so one of each serves all answers.
_NOT_DIVERGING: Final = FetchResponse.EpochEndOffset()
_NO_LEADER: Final = FetchResponse.LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = FetchResponse.SnapshotId()
_NONE_ABORTED: Final[list[FetchResponse.AbortedTransaction]] = []
_UNKNOWN_TOPIC_ID: Final = ReadResult(ErrorCode.UNKNOWN_TOPIC_ID, aborted=[])
_UNKNOWN_PARTITION: Final = ReadResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, aborted=[])

#: Kafka keeps this replica id to itself, for copies between its disks: no consumer, and no other node either.
_FUTURE_LOCAL_REPLICA_ID: Final = -3
#: Clients of this version and older may not know KAFKA_STORAGE_ERROR. Kafka: KafkaApis.maybeDownConvertStorageError.
_WITHOUT_STORAGE_ERROR: Final = 5
_ISOLATION: Final = tuple(IsolationLevel)
_LED_ELSEWHERE: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def is_long(request: FetchRequest, node: BrokerNode) -> bool:
    """Many partitions are, be they listed here or kept in a session."""
    session = node.fetch_sessions.get(request.session_id) if request.session_id else None
    partitions = 0 if session is None else len(session.partitions)
    for topic in request.topics:
        partitions += len(topic.partitions)
    return partitions > BRIEF_PARTITIONS_MAX


def handle(request: FetchRequest, call: Call) -> FetchResponse | None:
    node, version = call.node, call.api_version
    cluster = node.cluster
    replica_id = request.replica_id if version < 15 else request.replica_state.replica_id
    context = node.fetch_sessions.begin_or_go_on(
        request.session_id,
        request.session_epoch,
        _asked(request, version, node),
        _forgotten(request) if request.forgotten_topics_data else (),
        uses_topic_ids=version >= 13,
        is_privileged=replica_id >= 0,
    )
    if isinstance(context, ErrorCode):
        return FetchResponse(error_code=context)
    fetch = _sort_out(context, call, is_follower=replica_id >= 0)
    if not fetch.wanted:
        return fetch.answer([])
    if request.isolation_level not in (0, 1):
        return refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR, names_topics=version < 13)
    params = _params(request, replica_id, version, cluster.settings["fetch.max.bytes"])
    results = read_partitions(node, params, fetch.wanted)
    if request.max_wait_ms <= 0 or _is_enough(results, params.min_bytes):
        return fetch.answer(results)
    deadline_ms = node.timer.now_ms() + request.max_wait_ms
    if node.delayed_operations.fetch.watched > WATCHED_PARTITIONS_MAX:
        return fetch.answer(results)
    delayed = DelayedFetch(call, deadline_ms, node, params, fetch.wanted, results, fetch.answer)
    delayed.park(node.delayed_operations.fetch, delayed.partitions)
    return None


def refuse(request: FetchRequest, error_code: int, *, names_topics: bool = False) -> FetchResponse:
    """The error on top, and for each topic with a name; "" is one if the request `names_topics`."""
    return FetchResponse(
        error_code=error_code,
        session_id=request.session_id,
        responses=[
            _Topic(topic.topic, partitions=[_error(partition.partition, error_code) for partition in topic.partitions])
            for topic in request.topics
            if names_topics or topic.topic
        ],
    )


def _asked(request: FetchRequest, version: int, node: BrokerNode) -> dict[Key, FetchedPartition]:
    """The partitions listed in the request. Of one that is listed twice the last counts."""
    asked: dict[Key, FetchedPartition] = {}
    for topic in paced(request.topics):
        name: str | None = topic.topic
        if version >= 13:
            known = node.cluster.topics_by_id.get(topic.topic_id)
            name = None if known is None else known.name
        key_name = name or "" if topic.topic_id == ZERO_UUID else topic.topic_id  # as `FetchedPartition.key` has it
        for listed in paced(topic.partitions):
            partition = FetchedPartition(
                name,
                topic.topic_id,
                listed.partition,
                listed.fetch_offset,
                listed.partition_max_bytes,
                max(NO_LEADER_EPOCH, listed.current_leader_epoch),
                listed.last_fetched_epoch,
            )
            asked[key_name, listed.partition] = partition
    return asked


def _forgotten(request: FetchRequest) -> list[Key]:
    return [
        (topic.topic if topic.topic_id == ZERO_UUID else topic.topic_id, index)
        for topic in paced(request.forgotten_topics_data)
        for index in paced(topic.partitions)
    ]


@dataclass(slots=True)
class _Fetch:
    """One request on the way to its answer."""

    call: Call
    context: FetchContext
    #: What can be read.
    wanted: list[FetchedPartition]
    #: What does not exist, with its answer.
    unknown: Found
    #: A replica knows where the other nodes are.
    is_follower: bool

    def answer(self, results: Sequence[ReadResult]) -> FetchResponse:
        """The answer with what was read of each partition in `wanted`."""
        found = list(zip(self.wanted, results, strict=True)) + self.unknown
        error, session_id, told = self.context.conclude(found)
        response = FetchResponse(0, error, session_id, [])
        endpoints: dict[int, FetchResponse.NodeEndpoint] = {}
        previous: tuple[bytes, str | None] | None = None
        for partition, result in paced(told):
            data = _data(partition.index, result)
            if result.error:
                self._tell_of_error(partition, data, endpoints)
            topic = partition.topic_id, partition.topic
            if topic != previous:
                # Partitions of a topic stand together as far as they follow each other: none changes its place.
                response.responses.append(_Topic(partition.topic or "", partition.topic_id, []))
                previous = topic
            response.responses[-1].partitions.append(data)
        if not self.is_follower:
            response.node_endpoints = list(endpoints.values())
        return response

    def _tell_of_error(
        self,
        partition: FetchedPartition,
        data: FetchResponse.PartitionData,
        endpoints: dict[int, FetchResponse.NodeEndpoint],
    ) -> None:
        """Put it as this version has it."""
        version = self.call.api_version
        if data.error_code in _LED_ELSEWHERE and version >= 16:
            self._show_leader(partition, data, endpoints)
        elif data.error_code == ErrorCode.KAFKA_STORAGE_ERROR and version <= _WITHOUT_STORAGE_ERROR:
            data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _show_leader(
        self,
        partition: FetchedPartition,
        data: FetchResponse.PartitionData,
        endpoints: dict[int, FetchResponse.NodeEndpoint],
    ) -> None:
        """Say who leads the partition, and where that node is reached."""
        topic = self.call.node.cluster.topics.get(partition.topic or "")
        leader_id, leader_epoch, leader = current_leader(self.call.node, topic, partition.index)
        data.current_leader = FetchResponse.LeaderIdAndEpoch(leader_id, leader_epoch)
        address = None if leader is None else leader.addresses.get(self.call.listener_name)
        if leader is not None and address is not None:
            endpoints[leader_id] = FetchResponse.NodeEndpoint(leader_id, address.host, address.port, leader.rack)


def _sort_out(context: FetchContext, call: Call, *, is_follower: bool) -> _Fetch:
    """Tell what can be read from what does not exist; unknown ids come first in the answer, then unknown partitions."""
    cluster = call.node.cluster
    wanted: list[FetchedPartition] = []
    unknown_ids: Found = []
    unknown: Found = []
    asked = list(context.partitions)
    for partition in paced(asked):
        if partition.topic is None:
            # A session goes on asking, and the topic may have come to be meanwhile.
            made = cluster.topics_by_id.get(partition.topic_id)
            if made is None:
                unknown_ids.append((partition, _UNKNOWN_TOPIC_ID))
                continue
            partition.topic = made.name
        if find_partition(cluster.topics.get(partition.topic), partition.index) is None:
            unknown.append((partition, _UNKNOWN_PARTITION))
        else:
            wanted.append(partition)
    return _Fetch(call, context, wanted, unknown_ids + unknown, is_follower)


def _params(request: FetchRequest, replica_id: int, version: int, max_bytes: int) -> FetchParams:
    max_bytes = min(request.max_bytes, max_bytes)
    is_consumer = replica_id < 0 and replica_id != _FUTURE_LOCAL_REPLICA_ID
    return FetchParams(
        replica_id=replica_id,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation=_ISOLATION[request.isolation_level] if is_consumer else IsolationLevel.READ_UNCOMMITTED,
        leader_only=replica_id >= 0 or (is_consumer and version < 11),
    )


def _is_enough(results: Iterable[ReadResult], min_bytes: int) -> bool:
    """Whether there is no point in waiting: there are the bytes, or something that the client must know."""
    bytes_read = 0
    for result in results:
        if result.error or result.diverging_epoch is not None:
            return True
        bytes_read += len(result.records)
    return bytes_read >= min_bytes


def _data(index: int, result: ReadResult) -> FetchResponse.PartitionData:
    diverging = result.diverging_epoch
    aborted = None if result.aborted is None else _NONE_ABORTED
    if result.aborted:
        aborted = [FetchResponse.AbortedTransaction(one.producer_id, one.first_offset) for one in result.aborted]
    return _Data(
        index,
        result.error,
        result.high_watermark,
        result.last_stable_offset,
        result.log_start_offset,
        _NOT_DIVERGING if diverging is None else FetchResponse.EpochEndOffset(*diverging),
        _NO_LEADER,
        _NO_SNAPSHOT,
        aborted,
        records=result.records,
    )


def _error(index: int, error_code: int) -> FetchResponse.PartitionData:
    return _Data(index, error_code, high_watermark=-1, records=b"")
