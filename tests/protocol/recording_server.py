"""A server that understands just enough for clients to go on, and keeps every request frame as it came.

One node, one topic partition, one group member: ApiVersions offers everything, Metadata names this server alone, who
joins a group leads it, what is produced first is what is fetched. An API without a line in `_ANSWERS` gets the answer
that its class gives when nothing is said.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from ottla.protocol.headers import (
    RESPONSE_HEADER,
    RESPONSE_HEADER_TAGGED,
    has_tagged_response_header,
    read_client_id,
    read_fixed_part,
    skip_header_tags,
)
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from ottla.protocol.messages.api_versions import ApiVersionsResponse
from ottla.protocol.messages.create_topics import CreateTopicsResponse
from ottla.protocol.messages.fetch import FetchResponse
from ottla.protocol.messages.find_coordinator import FindCoordinatorResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupResponse
from ottla.protocol.messages.list_offsets import ListOffsetsResponse
from ottla.protocol.messages.metadata import MetadataResponse
from ottla.protocol.messages.offset_commit import OffsetCommitResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse
from ottla.protocol.messages.produce import ProduceResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from ottla.protocol.primitives import DecodeError, Message
from ottla.protocol.registry import Api, all_apis, api

TOPIC: Final = "orders"
TOPIC_ID: Final = bytes(range(16))
GROUP: Final = "readers"
NODE_ID: Final = 1

_SIZE: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came: the header's fields and what followed it."""

    api: Api
    version: int
    correlation_id: int
    client_id: str
    body: bytes

    def decode(self) -> Any:
        return self.api.request.decode(self.body, self.version)


class RecordingServer(socketserver.ThreadingTCPServer):
    """Serves on a free port of 127.0.0.1. `until_seen` waits for requests of the APIs named."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.port: int = self.server_address[1]
        self.requests: list[Request] = []
        self.records: bytes | None = None
        self._news = threading.Condition()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def record(self, request: Request) -> None:
        with self._news:
            self.requests.append(request)
            self._news.notify_all()

    def seen(self) -> set[str]:
        """The names of the APIs asked for so far."""
        return {request.api.name for request in self.requests.copy()}

    def until_seen(self, *names: str, within_seconds: float = 20.0) -> None:
        """Return once each of these APIs has been asked for; fails when that takes too long."""
        with self._news:
            self._news.wait_for(lambda: set(names) <= self.seen(), within_seconds)
            assert set(names) <= self.seen()

    def answer(self, request: Request) -> Message:
        """What to say to this request."""
        make = _ANSWERS.get(request.api.name)
        return make(self, request.decode(), request.version) if make else request.api.response()


class _Connection(socketserver.StreamRequestHandler):
    """One client connection: a thread that answers frame after frame."""

    server: RecordingServer

    def handle(self) -> None:
        try:
            while len(size := self.rfile.read(_SIZE.size)) == _SIZE.size:
                request = split(self.rfile.read(_SIZE.unpack(size)[0]))
                self.server.record(request)
                try:
                    body = self.server.answer(request).encode(request.version)
                except DecodeError:
                    return  # the test, which decodes it once more, will say what was wrong
                tagged = has_tagged_response_header(request.api.key, request.api.is_flexible(request.version))
                header = RESPONSE_HEADER_TAGGED if tagged else RESPONSE_HEADER
                if request.api.name != "Produce" or request.decode().acks:
                    self.wfile.write(header.pack(header.size - 4 + len(body), request.correlation_id) + body)
        except ConnectionError:
            return


def split(frame: bytes) -> Request:
    """A request frame cut into header and body."""
    key, version, correlation_id, client_id_length = read_fixed_part(frame)
    client_id, position = read_client_id(frame, client_id_length)
    if api(key).is_flexible(version):
        position = skip_header_tags(frame, position)
    return Request(api(key), version, correlation_id, client_id, frame[position:])


@contextmanager
def recording_server() -> Iterator[RecordingServer]:
    """A server for the length of the `with`."""
    with RecordingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _api_versions(server: RecordingServer, request: Any, version: int) -> Message:
    ranges = [ApiVersionsResponse.ApiVersion(a.key, a.version_first, a.version_last) for a in all_apis()]
    return ApiVersionsResponse(api_keys=ranges)


def _metadata(server: RecordingServer, request: Any, version: int) -> Message:
    partition = MetadataResponse.MetadataResponsePartition(
        leader_id=NODE_ID, leader_epoch=0, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
    )
    names = [TOPIC] if not request.topics else [topic.name or TOPIC for topic in request.topics]
    return MetadataResponse(
        brokers=[MetadataResponse.MetadataResponseBroker(NODE_ID, "127.0.0.1", server.port)],
        cluster_id="recorded",
        controller_id=NODE_ID,
        topics=[
            MetadataResponse.MetadataResponseTopic(name=name, topic_id=TOPIC_ID, partitions=[partition])
            for name in names
        ],
    )


def _find_coordinator(server: RecordingServer, request: Any, version: int) -> Message:
    coordinators = [
        FindCoordinatorResponse.Coordinator(key, NODE_ID, "127.0.0.1", server.port) for key in request.coordinator_keys
    ]
    return FindCoordinatorResponse(node_id=NODE_ID, host="127.0.0.1", port=server.port, coordinators=coordinators)


def _join_group(server: RecordingServer, request: Any, version: int) -> Message:
    protocol = request.protocols[0]
    return JoinGroupResponse(
        generation_id=1,
        protocol_type=request.protocol_type,
        protocol_name=protocol.name,
        leader="m",
        member_id="m",
        members=[JoinGroupResponse.JoinGroupResponseMember("m", metadata=protocol.metadata)],
    )


def _sync_group(server: RecordingServer, request: Any, version: int) -> Message:
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=request.assignments[0].assignment,
    )


def _leave_group(server: RecordingServer, request: Any, version: int) -> Message:
    return LeaveGroupResponse(members=[LeaveGroupResponse.MemberResponse("m")])


def _offset_commit(server: RecordingServer, request: Any, version: int) -> Message:
    return OffsetCommitResponse(topics=_echo(OffsetCommitResponse, request.topics))


def _txn_offset_commit(server: RecordingServer, request: Any, version: int) -> Message:
    return TxnOffsetCommitResponse(topics=_echo(TxnOffsetCommitResponse, request.topics))


def _echo(kind: Any, topics: Any) -> list[Any]:
    """No error for each partition of a commit."""
    topic_class = getattr(kind, f"{kind.__name__}Topic")
    partition_class = getattr(kind, f"{kind.__name__}Partition")
    return [
        topic_class(name=topic.name, partitions=[partition_class(p.partition_index) for p in topic.partitions])
        for topic in topics
    ]


def _offset_fetch(server: RecordingServer, request: Any, version: int) -> Message:
    partition, partitions = (
        OffsetFetchResponse.OffsetFetchResponsePartition,
        OffsetFetchResponse.OffsetFetchResponsePartitions,
    )
    topics = [
        OffsetFetchResponse.OffsetFetchResponseTopic(t.name, [partition(i, -1) for i in t.partition_indexes])
        for t in request.topics or ()
    ]
    groups = [
        OffsetFetchResponse.OffsetFetchResponseGroup(
            group.group_id,
            [
                OffsetFetchResponse.OffsetFetchResponseTopics(
                    t.name, t.topic_id, [partitions(i, -1) for i in t.partition_indexes]
                )
                for t in group.topics or ()
            ],
        )
        for group in request.groups
    ]
    return OffsetFetchResponse(topics=topics, groups=groups)


def _list_offsets(server: RecordingServer, request: Any, version: int) -> Message:
    partition = ListOffsetsResponse.ListOffsetsPartitionResponse
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                t.name, [partition(p.partition_index, offset=0, leader_epoch=0) for p in t.partitions]
            )
            for t in request.topics
        ]
    )


def _produce(server: RecordingServer, request: Any, version: int) -> Message:
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    server.records = server.records or bytes(partition.records)
    done = ProduceResponse.PartitionProduceResponse(partition.index, base_offset=0)
    return ProduceResponse(responses=[ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id, [done])])


def _fetch(server: RecordingServer, request: Any, version: int) -> Message:
    return FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                t.topic,
                t.topic_id,
                [
                    FetchResponse.PartitionData(
                        p.partition,
                        high_watermark=1,
                        last_stable_offset=1,
                        log_start_offset=0,
                        records=server.records if p.fetch_offset == 0 else b"",
                    )
                    for p in t.partitions
                ],
            )
            for t in request.topics
        ]
    )


def _init_producer_id(server: RecordingServer, request: Any, version: int) -> Message:
    return InitProducerIdResponse(producer_id=7, producer_epoch=0)


def _add_partitions_to_txn(server: RecordingServer, request: Any, version: int) -> Message:
    result = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(t.name, [result(p) for p in t.partitions])
            for t in request.v3_and_below_topics
        ]
    )


def _create_topics(server: RecordingServer, request: Any, version: int) -> Message:
    return CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(t.name) for t in request.topics])


_ANSWERS: Final[dict[str, Callable[[RecordingServer, Any, int], Message]]] = {
    "AddPartitionsToTxn": _add_partitions_to_txn,
    "ApiVersions": _api_versions,
    "CreateTopics": _create_topics,
    "Fetch": _fetch,
    "FindCoordinator": _find_coordinator,
    "InitProducerId": _init_producer_id,
    "JoinGroup": _join_group,
    "LeaveGroup": _leave_group,
    "ListOffsets": _list_offsets,
    "Metadata": _metadata,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "Produce": _produce,
    "SyncGroup": _sync_group,
    "TxnOffsetCommit": _txn_offset_commit,
}
