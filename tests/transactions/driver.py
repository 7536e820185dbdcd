"""One transaction, step by step, by a producer that looks for the right node and tries again until it is through.

It writes to two partitions and commits an offset. What it asks and how it takes errors is what clients do; it speaks
in messages, so that a test can stop between any two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import Message
from ottla.protocol.records import BatchHeader, batch_spans, read_header
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.error_codes import error_codes
from tests.support.fetched import records_in
from tests.support.patience import PATIENCE_SECONDS
from tests.support.wire import ConnectionClosedError, SilenceError

TOPIC: Final = "orders"
GROUP: Final = "group"
TRANSACTIONAL_ID: Final = "tx"
#: How many places there are at which something may go wrong: before each step, and after the last.
PLACES: Final = 7

_AGAIN: Final = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.LEADER_NOT_AVAILABLE,
    )
)
_TRANSACTIONAL: Final = 0x10
_READ_COMMITTED: Final = 1


class Driver:
    """Speaks to whichever node is the right one. `version`: 2, or 1 for a client of before KIP-890."""

    def __init__(self, bootstraps: Callable[[], list[str]], version: int = 2, replicas: int = 1) -> None:
        self._bootstraps = bootstraps
        self._clients: dict[str, Client] = {}
        self.version = version
        self._replicas = replicas
        self.producer_id = self.producer_epoch = -1
        self._sequences = [0, 0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients.values():
            client.close()

    # ── The transaction ───────────────────────────────────────────────────────────────────────────────────────────────

    def steps(self, value: bytes, offset: int, *, commit: bool) -> list[Callable[[], object]]:
        """What a transaction takes, in order."""
        return [
            self.begin,
            self.add,
            lambda: self.write(0, value),
            lambda: self.write(1, value),
            lambda: self.commit_offset(offset),
            lambda: self.end(commit=commit),
        ]

    def run(self, value: bytes, offset: int, *, commit: bool, between: Callable[[int], object] | None = None) -> None:
        """All of it; `between` is called before each step, and after the last, with its number."""
        for number, step in enumerate(self.steps(value, offset, commit=commit)):
            if between is not None:
                between(number)
            step()
        if between is not None:
            between(PLACES - 1)

    def begin(self) -> None:
        if self.producer_id >= 0:
            return
        answer = self._until_done(self._coordinator, InitProducerIdRequest(TRANSACTIONAL_ID, 60_000), 4)
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch

    def add(self) -> None:
        """Clients of today leave it to the partitions."""
        if self.version == 2:
            return
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(TOPIC, [0, 1])
        who = TRANSACTIONAL_ID, self.producer_id, self.producer_epoch
        self._until_done(self._coordinator, AddPartitionsToTxnRequest(None, *who, [topic]), 3)
        self._until_done(self._coordinator, AddOffsetsToTxnRequest(*who, GROUP), 3)

    def write(self, index: int, value: bytes) -> None:
        data = batch(
            ((b"k", value),),
            attributes=_TRANSACTIONAL,
            base_timestamp=int(time.time() * 1000),  # an old one would make the marker begin a segment
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self._sequences[index],
        )
        partition = ProduceRequest.PartitionProduceData(index, data)
        topic = ProduceRequest.TopicProduceData(TOPIC, partition_data=[partition])
        request = ProduceRequest(TRANSACTIONAL_ID, -1, 5_000, [topic])
        self._until_done(lambda: self._leader(index), request, 12 if self.version == 2 else 11)
        self._sequences[index] += 1

    def commit_offset(self, offset: int) -> None:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, offset)
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(TOPIC, partitions=[partition])
        request = TxnOffsetCommitRequest(
            TRANSACTIONAL_ID,
            GROUP,
            self.producer_id,
            self.producer_epoch,
            generation_id_or_member_epoch=-1,
            topics=[topic],
        )
        self._until_done(self._group_coordinator, request, 5 if self.version == 2 else 4)

    def end(self, *, commit: bool) -> None:
        request = EndTxnRequest(TRANSACTIONAL_ID, self.producer_id, self.producer_epoch, commit)
        answer = self._until_done(self._coordinator, request, 5 if self.version == 2 else 4)
        if self.version == 2:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
            self._sequences = [0, 0]

    def succeed(self) -> None:
        """Be a new producer of the same transactional id: what the one before has left open is aborted."""
        self.producer_id, self._sequences = -1, [0, 0]
        self.begin()

    # ── What is there ─────────────────────────────────────────────────────────────────────────────────────────────────

    def create_topic(self) -> None:
        topic = CreateTopicsRequest.CreatableTopic(TOPIC, 2, self._replicas)
        answer = self._client(self._bootstraps()[0]).ask(CreateTopicsRequest([topic], 10_000), 5)
        assert answer.topics[0].error_code == 0, answer

    def committed_values(self, index: int) -> list[bytes | None]:
        """What is committed in this partition, once nothing of it is open."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            partition = FetchRequest.FetchPartition(index, fetch_offset=0, partition_max_bytes=1 << 20)
            topic = FetchRequest.FetchTopic(TOPIC, partitions=[partition])
            request = FetchRequest(max_bytes=1 << 20, isolation_level=_READ_COMMITTED, session_epoch=-1, topics=[topic])
            fetched = self._until_done(lambda: self._leader(index), request, 11).responses[0].partitions[0]
            if fetched.last_stable_offset == fetched.high_watermark:
                return _committed(bytes(fetched.records or b""), fetched.aborted_transactions)
            assert time.monotonic() < deadline, "a transaction stays open"
            time.sleep(0.01)

    def committed_offset(self) -> int:
        """Once no transaction holds it back."""
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(TOPIC, [0])
        answer = self._until_done(self._group_coordinator, OffsetFetchRequest(GROUP, [topic], require_stable=True), 7)
        offset: int = answer.topics[0].partitions[0].committed_offset
        return offset

    # ── Nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _until_done(self, node: Callable[[], str], request: Message, version: int) -> Any:
        """Ask that node; if it is the wrong one, not ready or gone, look again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self._try(node, request, version)
            if answer is not None:
                refused = set(error_codes(answer)) - {0}
                if not refused:
                    return answer
                assert refused <= _AGAIN, f"{type(request).__name__} is answered {refused}"
            assert time.monotonic() < deadline, f"{type(request).__name__} is not done; last it was answered {answer}"
            time.sleep(0.01)

    def _try(self, node: Callable[[], str], request: Message, version: int) -> Any:
        address = ""
        try:
            address = node()
            return self._client(address).ask(request, version)
        except (OSError, ConnectionClosedError, SilenceError, LookupError):
            client = self._clients.pop(address, None)
            if client is not None:
                client.close()
            return None

    def _client(self, address: str) -> Client:
        if address not in self._clients:
            self._clients[address] = Client(address, timeout_seconds=5.0)
        return self._clients[address]

    def _ask_anybody(self, request: Message, version: int) -> Any:
        for address in self._bootstraps():
            answer = self._try(lambda address=address: address, request, version)  # type: ignore[misc]
            if answer is not None:
                return answer
        raise LookupError("no node is there")

    def _find(self, key: str, key_type: int) -> str:
        found = self._ask_anybody(FindCoordinatorRequest(key, key_type), 3)
        if found.error_code != 0:
            raise LookupError("nobody coordinates it")
        return f"{found.host}:{found.port}"

    def _coordinator(self) -> str:
        return self._find(TRANSACTIONAL_ID, 1)

    def _group_coordinator(self) -> str:
        return self._find(GROUP, 0)

    def _leader(self, index: int) -> str:
        topic = MetadataRequest.MetadataRequestTopic(name=TOPIC)
        metadata = self._ask_anybody(MetadataRequest([topic]), 8)
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers}
        (found,) = [p for p in metadata.topics[0].partitions if p.partition_index == index]
        return addresses[found.leader_id]


def _committed(fetched: bytes, aborted: Any) -> list[bytes | None]:
    """As consumers sort it out: what lies between an aborted transaction's beginning and its marker is passed over."""
    begins = {(one.first_offset, one.producer_id) for one in aborted or ()}
    ignored: set[int] = set()
    values = []
    for record, header in _records_with_headers(fetched):
        begun = {(offset, producer_id) for offset, producer_id in begins if offset <= header.base_offset}
        begins -= begun
        ignored |= {producer_id for _, producer_id in begun}
        if header.is_control:
            ignored.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in ignored):
            values.append(None if record.value is None else bytes(record.value))
    return values


def _records_with_headers(fetched: bytes) -> Iterator[tuple[Any, BatchHeader]]:
    for span in batch_spans(fetched):
        whole = bytes(fetched[span.position : span.position + span.size_bytes])
        header = read_header(whole)
        for record in records_in(whole):
            yield record, header
