"""A transactional producer of frames: what it sends is encoded before the clock starts, so the broker is what is timed.

One request follows the answer to the one before, as in every client: the producer id and epoch, sequence numbers and
offsets of so many transactions to come are known before the first is sent.

    before KIP-890   AddPartitionsToTxn v1, Produce v8, EndTxn v1         the epoch stays, sequence numbers go on
    KIP-890          Produce v12, EndTxn v5                               the epoch rises, sequence numbers begin anew
    … of a group     Fetch v11, Produce v12, TxnOffsetCommit v5, EndTxn v5

Who is told CONCURRENT_TRANSACTIONS, or that a coordinator is not there yet, asks again after a millisecond; clients do
so after 20 and more.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from bench.broker import Broker, UnableError
from bench.frames import request_frame
from ottla.protocol.headers import has_tagged_response_header, skip_header_tags
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import Message
from tests.support.batches import batch
from tests.support.client import api_of

#: The versions of before KIP-890, those of it, and what both read by.
_ADD, _PRODUCE_BEFORE, _END_BEFORE = 1, 8, 1
_PRODUCE, _COMMIT, _END = 12, 5, 5
_FETCH = 11

_NOT_YET: Final = frozenset((14, 15, 16, 51))
_RETRY_SECONDS: Final = 0.001
_ANSWER_SECONDS_MAX: Final = 10.0
#: So many transactions are encoded at a time.
_CHUNK: Final = 100
#: An epoch may rise so often.
_EPOCH_MAX: Final = 30_000
_TRANSACTIONAL: Final = 0x10
_TRANSACTION_COORDINATOR: Final = 1
_FETCH_BYTES_MAX: Final = 1  # which the first batch may exceed


@dataclass(frozen=True, slots=True)
class Shape:
    """What each transaction writes, and by which requests."""

    topic: str
    partitions: int
    records: int
    """In each partition."""
    is_bumping: bool
    """Whether the epoch rises with each end (KIP-890)."""
    source: str | None = None
    """A topic of batches of as many records, each of which is read and committed with a transaction; None: none is."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run came to."""

    transactions: int
    seconds: float
    broker_cpu_seconds: float | None


class Transactor:
    """One producer on one connection."""

    def __init__(self, broker: Broker, transactional_id: str, value: bytes) -> None:
        self._broker = broker
        host, _, port = broker.bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), _ANSWER_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._id = transactional_id
        self._value = value
        self._sequence = self._offset = 0
        self._ask(FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION_COORDINATOR), 2)
        init = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        answer = self._ask(init, 4)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def close(self) -> None:
        self._socket.close()

    def run(self, shape: Shape, *, seconds: float = float("inf"), transactions_max: int = _EPOCH_MAX) -> Run:
        """Commit so many transactions, or as many as there is time for, not counting what encoding them takes."""
        transactions, elapsed = 0, 0.0
        cpu = None if self._broker.pid is None else self._broker.cpu_seconds()
        while elapsed < seconds and (count := min(_CHUNK, transactions_max - transactions)):
            frames = [frame for _ in range(count) for frame in self._transaction(shape)]
            started = time.perf_counter()
            for frame, request, version in frames:
                self._exchange(frame, request, version)
            elapsed += time.perf_counter() - started
            transactions += count
        return Run(transactions, elapsed, None if cpu is None else self._broker.cpu_seconds() - cpu)

    def _transaction(self, shape: Shape) -> Iterator[tuple[bytes, Message, int]]:
        for request, version in self._requests(shape):
            yield request_frame(request, version), request, version
        if shape.is_bumping:
            self._epoch, self._sequence = self._epoch + 1, 0
        else:
            self._sequence += shape.records
        self._offset += shape.records

    def _requests(self, shape: Shape) -> Iterable[tuple[Message, int]]:
        if shape.source is not None:
            yield _fetch(shape.source, self._offset), _FETCH
        if not shape.is_bumping:
            yield self._add_partitions(shape), _ADD
        yield self._produce(shape), _PRODUCE if shape.is_bumping else _PRODUCE_BEFORE
        if shape.source is not None:
            yield self._commit_offset(shape.source, self._offset + shape.records), _COMMIT
        yield EndTxnRequest(self._id, self._producer_id, self._epoch, True), _END if shape.is_bumping else _END_BEFORE

    def _add_partitions(self, shape: Shape) -> AddPartitionsToTxnRequest:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(shape.topic, list(range(shape.partitions)))
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[topic],
        )

    def _produce(self, shape: Shape) -> ProduceRequest:
        data = batch(
            [(None, self._value)] * shape.records,
            attributes=_TRANSACTIONAL,
            base_timestamp=int(time.time() * 1000),
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
        )
        listed = [ProduceRequest.PartitionProduceData(index, data) for index in range(shape.partitions)]
        topic = ProduceRequest.TopicProduceData(shape.topic, partition_data=listed)
        return ProduceRequest(self._id, acks=-1, timeout_ms=10_000, topic_data=[topic])

    def _commit_offset(self, source: str, offset: int) -> TxnOffsetCommitRequest:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, offset)
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(source, partitions=[partition])
        return TxnOffsetCommitRequest(self._id, source, self._producer_id, self._epoch, topics=[topic])

    def _ask(self, request: Message, version: int) -> Any:
        return self._exchange(request_frame(request, version), request, version)

    def _exchange(self, frame: bytes, request: Message, version: int) -> Any:
        """The answer, when it is one of success."""
        deadline = time.monotonic() + _ANSWER_SECONDS_MAX
        while True:
            self._socket.sendall(frame)
            answer = _decoded(self._receive(), request, version)
            error = next((error for error in _errors(answer) if error), 0)
            if not error:
                return answer
            if error not in _NOT_YET or time.monotonic() > deadline:
                raise UnableError(f"{api_of(request).name} v{version} was answered with error {error}")
            time.sleep(_RETRY_SECONDS)

    def _receive(self) -> bytes:
        while len(self._buffer) < 4 or len(self._buffer) < 4 + int.from_bytes(self._buffer[:4], "big"):
            data = self._socket.recv(1 << 20)
            if not data:
                raise UnableError("the broker closed the connection")
            self._buffer += data
        end = 4 + int.from_bytes(self._buffer[:4], "big")
        frame, self._buffer = self._buffer[4:end], self._buffer[end:]
        return frame


def _fetch(topic: str, offset: int) -> FetchRequest:
    """Of the one batch there."""
    partition = FetchRequest.FetchPartition(0, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES_MAX)
    return FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=_FETCH_BYTES_MAX,
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic, partitions=[partition])],
    )


def _decoded(frame: bytes, request: Message, version: int) -> Any:
    api, start = api_of(request), 4
    if has_tagged_response_header(api.key, api.is_flexible(version)):
        start = skip_header_tags(frame, start)
    return api.response.decode(frame, version, start)


def _errors(answer: Any) -> Iterator[int]:
    """All error codes of an answer, wherever that API has them."""
    if hasattr(answer, "error_code"):
        yield answer.error_code
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        yield from (partition.partition_error_code for partition in topic.results_by_partition)
    for topic in getattr(answer, "topics", ()):
        yield from (partition.error_code for partition in topic.partitions)
    for topic in getattr(answer, "responses", ()):
        if hasattr(topic, "partition_responses"):
            yield from (partition.error_code for partition in topic.partition_responses)
        else:
            yield from (partition.error_code for partition in topic.partitions)
