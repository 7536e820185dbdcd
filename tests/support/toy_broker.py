"""A broker of some lines, whose Heartbeat v0 fails in a way that a test chooses; v1 answers as Kafka does.

with ToyBroker(ToyBroker.silent) as toy:
    main(["conformance", toy.bootstrap])
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeAlias

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsResponse
from ottla.protocol.messages.metadata import MetadataResponse

#: What is done with a Heartbeat v0: the toy, the connection, the correlation id.
Failure: TypeAlias = Callable[["ToyBroker", asyncio.StreamWriter, int], Awaitable[None]]

_METADATA, _HEARTBEAT, _API_VERSIONS = 3, 12, 18
_SERVED: Final = {_METADATA: (0, 1), _HEARTBEAT: (0, 1), _API_VERSIONS: (0, 0)}
_HEADER: Final = struct.Struct(">hhi")


class ToyBroker:
    """Runs in a thread of its own for the length of the `with`."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._is_deaf = False
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self.bootstrap = ""

    def be_deaf(self) -> None:
        """Answer nothing from now on."""
        self._is_deaf = True

    async def silent(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """No answer, and the connection stays."""

    async def closing(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        writer.close()

    async def cut_off(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """A frame with an answer that is too short."""
        writer.write(_framed(correlation_id, b"\0"))

    async def of_another(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """The answer to what nobody has asked."""
        writer.write(_framed(correlation_id + 1, struct.pack(">h", ErrorCode.UNKNOWN_MEMBER_ID)))

    async def in_html(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """What is no frame at all."""
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def beginning(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """A frame that never ends."""
        writer.write(struct.pack(">i", 1_000))

    async def deaf(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """From now on nothing is answered, on no connection."""
        self.be_deaf()

    async def gone(self, writer: asyncio.StreamWriter, correlation_id: int) -> None:
        """It ends as a process that crashes does."""
        self._stopping.set()

    async def _run(self) -> None:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        self.bootstrap = f"{host}:{port}"
        self._listens.set()
        await self._stopping.wait()
        server.close()
        talks = asyncio.all_tasks() - {asyncio.current_task()}
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)  # one may be cancelled before it began
        await server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                await self._answer(await reader.readexactly(size), writer)
        except (EOFError, ConnectionError, asyncio.CancelledError):
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, frame: bytes, writer: asyncio.StreamWriter) -> None:
        api_key, version, correlation_id = _HEADER.unpack_from(frame)
        if self._is_deaf:
            return
        match api_key, version:
            case (18, 0):
                rows = [ApiVersionsResponse.ApiVersion(key, *versions) for key, versions in _SERVED.items()]
                body = ApiVersionsResponse(api_keys=rows).encode(0)
            case (3, 1):
                broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=1)
                body = MetadataResponse(brokers=[broker]).encode(1)
            case (12, 1):
                start = _HEADER.size + 2 + int.from_bytes(frame[_HEADER.size : _HEADER.size + 2], "big")
                has_group = frame[start : start + 2] != b"\0\0"
                error = ErrorCode.UNKNOWN_MEMBER_ID if has_group else ErrorCode.INVALID_GROUP_ID
                body = struct.pack(">ih", 0, error)
            case _:
                await self._failure(self, writer, correlation_id)
                return
        writer.write(_framed(correlation_id, body))

    def __enter__(self) -> Self:
        self._thread.start()
        self._listens.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._loop.close()


def _framed(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body
