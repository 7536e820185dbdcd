"""Questions to any Kafka, in Ottla's own codec.

A request has the newest version that both sides know. A broker that is too old for it is named, with the release it
would need. After a retriable error everything is asked again, until the time is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.cli.admin import RETRY_SECONDS, CannotAnswer, NoAnswer, NotFound, Partition, UnreachableNode, converse
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import SIZE_BYTES, encode_request_header, has_tagged_response_header, skip_header_tags
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import DecodeError
from ottla.protocol.registry import Api, all_apis
from ottla.terminal.printable import printable

if TYPE_CHECKING:
    import argparse

    from ottla.protocol.primitives import Message
    from ottla.terminal.output import Item

T = TypeVar("T")

_CLIENT_ID: Final = "ottla-cli"
_CORRELATION_ID_BYTES: Final = 4
#: A longer answer is refused.
_ANSWER_BYTES_MAX: Final = 1 << 30
#: The timestamps by which ListOffsets knows the end of a log and its start.
_LATEST: Final = -1
_EARLIEST: Final = -2
_UNANSWERED: Final = (OSError, EOFError, DecodeError)


class AnswerRefused(Exception):
    """A broker answered with an error."""

    def __init__(self, code: int, what: str) -> None:
        try:
            self.error = ErrorCode(code)
        except ValueError:
            self.error = ErrorCode.UNKNOWN_SERVER_ERROR
        name = self.error.name if code == self.error else f"error {code}, which is not known here"
        super().__init__(f"{what}: {name}. {self.error.meaning}")


def check(code: int, what: str) -> None:
    """Raises `AnswerRefused` if this is an error."""
    if code != ErrorCode.NONE:
        raise AnswerRefused(code, what)


class _Connection:
    """A connection to one broker. One request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0
        self._turn = asyncio.Lock()
        #: Of each API the first and the last version.
        self.versions: dict[int, tuple[int, int]] = {}

    @classmethod
    async def open(cls, host: str, port: int) -> _Connection:
        """Connect, and learn what the broker knows. Raises one of `_UNANSWERED`."""
        connection = cls(*await asyncio.open_connection(host, port))
        try:
            answer = await connection.ask(_api_of(ApiVersionsRequest()), ApiVersionsRequest(), 0)
        except BaseException:
            await connection.close()
            raise
        connection.versions = {known.api_key: (known.min_version, known.max_version) for known in answer.api_keys}
        return connection

    async def ask(self, api: Api, request: Message, version: int) -> Any:
        """Send a request and wait for its answer. Raises one of `_UNANSWERED`."""
        async with self._turn:
            self._correlation_id += 1
            is_flexible = api.is_flexible(version)
            header = encode_request_header(api.key, version, self._correlation_id, _CLIENT_ID, is_flexible)
            frame = header + request.encode(version)
            self._writer.write(len(frame).to_bytes(SIZE_BYTES) + frame)
            await self._writer.drain()
            size = int.from_bytes(await self._reader.readexactly(SIZE_BYTES))
            if size > _ANSWER_BYTES_MAX:
                raise DecodeError(f"an answer claims {size} bytes")
            answer = await self._reader.readexactly(size)
        begins = _CORRELATION_ID_BYTES
        if has_tagged_response_header(api.key, is_flexible):
            begins = skip_header_tags(answer, begins)
        return api.response.decode(answer, version, begins)

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class ContactedCluster:
    """The brokers that are up, by node id, and the topics they have."""

    def __init__(self, connections: list[_Connection]) -> None:
        self._first = connections[0]
        self._connections = connections
        self._of_node: dict[int, _Connection] = {}
        self.brokers: dict[int, Item] = {}
        self._opening = asyncio.Lock()

    async def learn(self) -> None:
        """Ask which brokers there are. Raises `UnreachableNode` if none of them can be reached by its address."""
        answer = await self._ask(self._first, MetadataRequest([]), 1)
        known = self.brokers
        self.brokers = {
            broker.node_id: {"node_id": broker.node_id, "host": broker.host, "port": broker.port}
            for broker in sorted(answer.brokers, key=lambda broker: int(broker.node_id))
        }
        for node_id in known:
            if known[node_id] != self.brokers.get(node_id):
                self._of_node.pop(node_id, None)
        for node_id in self.brokers:
            with suppress(UnreachableNode):
                await self._connection(node_id)
                return
        raise UnreachableNode

    async def ask(self, node_id: int, request: Message, version_min: int = 0, version_max: int | None = None) -> Any:
        """Ask this node, in a version within these."""
        connection = await self._connection(node_id)
        try:
            return await self._ask(connection, request, version_min, version_max)
        except (OSError, EOFError):
            self._of_node.pop(node_id, None)
            raise UnreachableNode from None

    async def ask_all(self, request: Message, version_min: int = 0) -> dict[int, Any]:
        """Ask every node the same."""
        answers = await asyncio.gather(*(self.ask(node_id, request, version_min) for node_id in self.brokers))
        return dict(zip(self.brokers, answers, strict=True))

    async def topics(self) -> list[Item]:
        """Every topic and its partitions with their leaders and replicas. To ask for one by name might create it."""
        answer = await self._ask(self._first, MetadataRequest(None), 1)
        return [
            {
                "topic": topic.name,
                "is_internal": topic.is_internal,
                "partitions": [
                    {
                        "partition": partition.partition_index,
                        "leader": partition.leader_id,
                        "replicas": partition.replica_nodes,
                        "isr": partition.isr_nodes,
                    }
                    for partition in sorted(topic.partitions, key=lambda partition: int(partition.partition_index))
                ],
            }
            for topic in sorted(answer.topics, key=lambda topic: str(topic.name))
        ]

    async def topic(self, name: str) -> Item:
        """One topic. Raises `NotFound`."""
        found = next((topic for topic in await self.topics() if topic["topic"] == name), None)
        if found is None:
            raise NotFound(f"there is no topic {printable(name)}; `ottla topics` lists those there are")
        return found

    async def partitions(self, name: str | None = None) -> dict[Partition, Item]:
        """Every partition, or those of one topic. Raises `NotFound`."""
        topics = await self.topics() if name is None else [await self.topic(name)]
        return {(topic["topic"], one["partition"]): one for topic in topics for one in topic["partitions"]}

    async def log_starts(self, partitions: Mapping[Partition, Item]) -> dict[Partition, int]:
        """Where the logs of these partitions begin, of those with a leader."""
        return await self._offsets(partitions, _EARLIEST)

    async def log_ends(self, partitions: Mapping[Partition, Item]) -> dict[Partition, int]:
        """Where the logs of these partitions end, of those with a leader."""
        return await self._offsets(partitions, _LATEST)

    async def _offsets(self, partitions: Mapping[Partition, Item], timestamp: int) -> dict[Partition, int]:
        asked: dict[int, dict[str, ListOffsetsRequest.ListOffsetsTopic]] = {}
        for (name, index), partition in partitions.items():
            if partition["leader"] in self.brokers:
                topics = asked.setdefault(partition["leader"], {})
                topic = topics.setdefault(name, ListOffsetsRequest.ListOffsetsTopic(name, []))
                topic.partitions.append(ListOffsetsRequest.ListOffsetsPartition(index, -1, timestamp))
        found: dict[Partition, int] = {}
        for node_id, topics in asked.items():
            for topic in (await self.ask(node_id, ListOffsetsRequest(-1, 0, list(topics.values())), 1)).topics:
                for one in topic.partitions:
                    check(one.error_code, f"partition {one.partition_index} of {printable(topic.name)}")
                    found[topic.name, one.partition_index] = one.offset
        return found

    async def partition(self, place: Partition) -> Item:
        """The leader and the replicas of one partition. Raises `NotFound`."""
        topic, index = place
        partitions = await self.partitions(topic)
        if place not in partitions:
            raise NotFound(f"{printable(topic)} has no partition {index}; it has {len(partitions)}, from 0 on")
        return partitions[place]

    async def leader(self, place: Partition) -> int:
        """The node that leads a partition. Raises `NotFound` and `AnswerRefused`."""
        found: int = (await self.partition(place))["leader"]
        if found not in self.brokers:
            raise AnswerRefused(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {place[1]} of {place[0]}")
        return found

    async def _connection(self, node_id: int) -> _Connection:
        async with self._opening:
            if node_id not in self._of_node:
                broker = self.brokers[node_id]
                try:
                    connection = await _Connection.open(broker["host"], broker["port"])
                except _UNANSWERED:
                    raise UnreachableNode from None
                self._of_node[node_id] = connection
                self._connections.append(connection)
            return self._of_node[node_id]

    async def _ask(
        self, connection: _Connection, request: Message, version_min: int, version_max: int | None = None
    ) -> Any:
        api = _api_of(request)
        first, last = connection.versions.get(api.key, (0, -1))
        version = min(last, api.version_last if version_max is None else version_max)
        if version < max(first, version_min, api.version_first):
            needed = f"{api.name} v{max(version_min, api.version_first)}"
            known = f"ends at v{last}" if last >= 0 else "doesn't have it"
            raise CannotAnswer(f"it needs {needed}, and this Kafka {known}; it is older, or newer than this program")
        return await connection.ask(api, request, version)


def _api_of(request: Message) -> Api:
    name = type(request).__name__.removesuffix("Request")
    return next(api for api in all_apis() if api.name == name)


def ask(
    options: argparse.Namespace, question: Callable[[ContactedCluster], Awaitable[T]], show: Callable[[T], None]
) -> int:
    """Put a question to the cluster and show the answer; returns the exit code."""
    return converse(options, lambda bootstrap, seconds: _ask(bootstrap, seconds, question), show)


async def _ask(bootstrap: str, timeout_seconds: float, question: Callable[[ContactedCluster], Awaitable[T]]) -> T:
    """Ask until there is an answer, or an error that time won't mend. Raises what `converse` has a sentence for."""
    connections: list[_Connection] = []
    last_error: Exception | None = None
    try:
        async with asyncio.timeout(timeout_seconds):
            connections.append(await _first_of(bootstrap))
            cluster = ContactedCluster(connections)
            while True:
                try:
                    await cluster.learn()
                    return await question(cluster)
                except AnswerRefused as refused:
                    last_error = refused
                    if not refused.error.retriable:
                        raise CannotAnswer(str(refused)) from None
                except UnreachableNode as unreachable:
                    last_error = unreachable  # it may have stopped just now, and be gone from the next Metadata answer
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        if isinstance(last_error, AnswerRefused):
            raise CannotAnswer(f"for {timeout_seconds:g} s it has said {last_error}") from None
        if last_error is not None:
            raise last_error from None
        raise
    except _UNANSWERED as error:
        raise CannotAnswer(f"it gave no answer that can be read: {error}") from None
    finally:
        for connection in connections:
            await connection.close()


async def _first_of(bootstrap: str) -> _Connection:
    """A connection to the first of these that answers."""
    for address in bootstrap.split(","):
        host, _, port = address.rpartition(":")
        with suppress(*_UNANSWERED):
            return await _Connection.open(host.strip("[]"), int(port))
    raise NoAnswer
