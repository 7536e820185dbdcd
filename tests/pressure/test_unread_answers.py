"""A client that asks and asks and never reads: it is not read from either, and keeps nobody else waiting.

What the broker holds for it is what fits the socket's buffers and one answer. Kafka takes up a connection's next
request when the last answer has left, which comes to the same (SocketServer.processNewResponses, mute and unmute).
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import pytest

from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import Message
from tests.cli.terminal import serving
from tests.pressure.stage import create_topic, is_served, memory_mib
from tests.support.batches import batch
from tests.support.client import API, Client
from tests.support.patience import PATIENCE_SECONDS
from tests.support.running_broker import Loop, RunningBroker, every_loop

#: What the broker may hold for one client, besides one answer.
HELD_BYTES_MAX: Final = 2_000_000
RECORDS_BYTES: Final = 1_000_000
#: Who has not taken anything for so long takes no more. Too short, and the flood is a smaller one.
SATED_SECONDS: Final = 0.1

_NOWHERE: Final = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)
COMMITTED: Final = OffsetCommitRequest.OffsetCommitRequestTopic("t" * 2_000, partitions=[_NOWHERE])


def fill(client: Client, batches: int) -> None:
    """A topic of so many megabytes."""
    create_topic(client, "orders")
    data = ProduceRequest.PartitionProduceData(0, batch([(None, bytes(RECORDS_BYTES))]))
    for _ in range(batches):
        topic = ProduceRequest.TopicProduceData("orders", partition_data=[data])
        assert not client.ask(ProduceRequest(None, 1, 1_000, [topic]), 9).responses[0].partition_responses[0].error_code


def fetch(offset: int, max_bytes: int) -> FetchRequest:
    partition = FetchRequest.FetchPartition(0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(max_bytes=max_bytes, topics=[FetchRequest.FetchTopic("orders", partitions=[partition])])


class Flood:
    """A client that sends the same request as long as the broker takes more."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        self._socket.connect((host, int(port)))
        #: Of the request that could only be begun.
        self._rest = memoryview(b"")

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def send(self, name: str, version: int, request: Message, *, count: int) -> None:
        """Send so many, numbered from 0."""
        self._socket.sendall(b"".join(map(numbered(name, version, request), range(count))))

    def pour(self, name: str, version: int, request: Message, is_full: Callable[[], bool]) -> int:
        """Send until the broker is full and has taken nothing for a while; returns how many, the one that was begun
        included.
        """
        frame = numbered(name, version, request)
        self._socket.setblocking(False)
        count = 0
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (takes_more := select.select([], [self._socket], [], SATED_SECONDS)[1]) or not is_full():
            assert time.monotonic() < deadline, "the broker is never full"
            if not takes_more:
                continue
            if not self._rest:
                self._rest = memoryview(frame(count))
                count += 1
            self._rest = self._rest[self._socket.send(self._rest) :]
        return count

    def drink(self, count: int) -> list[int]:
        """Send what was begun, and read so many answers; returns their numbers."""
        numbers: list[int] = []
        received = bytearray()
        while len(numbers) < count:
            wishes = [self._socket] if self._rest else []
            readable, writable, _ = select.select([self._socket], wishes, [], 10)
            assert readable or writable, f"silence after {len(numbers)} of {count} answers"
            if writable:
                self._rest = self._rest[self._socket.send(self._rest) :]
            if readable:
                received += self._socket.recv(1 << 20)
            position = 0
            while len(received) - position >= 8:
                end = position + 4 + int.from_bytes(received[position : position + 4])
                if end > len(received):
                    break
                numbers.append(int.from_bytes(received[position + 4 : position + 8]))
                position = end
            del received[:position]
        return numbers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


def numbered(name: str, version: int, request: Message) -> Callable[[int], bytes]:
    """What makes frames of a request, given their correlation ids."""
    rest = b"\xff\xff" + request.encode(version)
    begin = struct.pack(">ihh", 8 + len(rest), API[name].key, version)
    assert not API[name].is_flexible(version)
    return lambda correlation_id: begin + correlation_id.to_bytes(4) + rest


def held_bytes(broker: RunningBroker, flood: Flood) -> int:
    """What the broker keeps for a client: answers that have not left, and requests it has not looked at."""
    connection = broker.connection_of(flood.port)
    assert connection is not None
    return connection._transport.get_write_buffer_size() + connection._out_bytes + len(connection._kept or b"")


@every_loop
@pytest.mark.parametrize(
    ("name", "version", "request_"),
    [
        ("DescribeGroups", 0, DescribeGroupsRequest(["g" * 2_000])),
        ("OffsetCommit", 2, OffsetCommitRequest("g", topics=[COMMITTED])),
    ],
    ids=["one by one", "many at once"],
)
def test_small_answers(loop: Loop, name: str, version: int, request_: Message) -> None:
    """Requests without end: the broker stops taking them. When their client reads, all are answered, in order."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo, Flood(broker.bootstrap) as flood:
        assert bo.ask(FindCoordinatorRequest("g", 0), 2).error_code == 0

        def held() -> int:
            return broker.look(lambda: held_bytes(broker, flood))

        count = flood.pour(name, version, request_, lambda: held() > 0)
        assert held() < HELD_BYTES_MAX
        assert is_served(bo)
        assert flood.drink(count) == list(range(count))


@every_loop
def test_large_answers(loop: Loop) -> None:
    """Fetches of nine megabytes: one answer is made and waits, not one for each request."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo, Flood(broker.bootstrap) as flood:
        fill(bo, 9)
        flood.send("Fetch", 4, fetch(0, 10_000_000), count=5)
        broker.wait_until("an answer waits", lambda: held_bytes(broker, flood) > HELD_BYTES_MAX)
        assert is_served(bo)
        assert broker.look(lambda: held_bytes(broker, flood)) < 9 * RECORDS_BYTES + HELD_BYTES_MAX
        assert flood.drink(5) == list(range(5))


def test_many_of_them_cost_no_memory() -> None:
    """A hundred clients ask for a gigabyte in all and read nothing. Answers are views of the log, not copies."""
    with serving() as broker, Client(broker.bootstrap) as bo:
        fill(bo, 1)
        before_mib = memory_mib(broker.process.pid)
        clients = [Client(broker.bootstrap) for _ in range(100)]
        for client in clients:
            for _ in range(10):
                client.send(fetch(0, 2_000_000), 4)
            client.connection.until_answered()
        assert is_served(bo)
        assert memory_mib(broker.process.pid) - before_mib < 50
        for client in clients:
            client.close()
        assert is_served(bo)
