"""HTTP/1.1 for the control API: h11 does the parsing, this does the sockets.

Loaded with --control only. Bodies and headers are bounded, and so is the number of connections; who says nothing for a
minute is closed. A request that is no HTTP gets a 400 with a sentence, as JSON like all answers.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import h11

from ottla import __version__
from ottla.broker.control.control import Answer, Control, Refused
from ottla.broker.network.listener import bind

if TYPE_CHECKING:
    from ottla.broker.cluster.cluster import Cluster

CONNECTIONS_MAX: Final = 64
HEAD_BYTES_MAX: Final = 16 * 1024
BODY_BYTES_MAX: Final = 64 * 1024
IDLE_SECONDS_MAX: Final = 60.0


class ControlListener:
    """The control API's server socket."""

    def __init__(self, control: Control, cluster: Cluster) -> None:
        self._control = control
        self._cluster = cluster
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self, host: str, port: int) -> int:
        """Bind; returns the port, which the machine chooses when `port` is 0. Raises OSError."""
        self._server, port = await bind(
            lambda port: asyncio.start_server(self._connected, host, port, start_serving=False), port
        )
        return port

    async def accept(self) -> None:
        """Let scripts in."""
        if self._server is not None:
            await self._server.start_serving()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def close(self) -> None:
        """Close the socket and every connection."""
        self.stop_accepting()
        for writer in self._writers:
            writer.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._writers) >= CONNECTIONS_MAX or self._server is None:
            writer.close()
            return
        self._writers.add(writer)
        self._cluster.tasks.create_task(self._converse(reader, writer), name="control")

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until one side has enough."""
        conversation = Conversation(reader, writer)
        try:
            while await self._answer_next(conversation):
                pass
        except OSError:
            pass  # gone, or silent for too long
        except h11.LocalProtocolError:
            # What we said was no HTTP. The broker is not to suffer for it.
            self._cluster.log.exception("control.failed")
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer_next(self, conversation: Conversation) -> bool:
        """Answer the next request; False when there is none, or can be none after it."""
        try:
            request = await conversation.receive()
            if request is None:
                return False
            method, path, body = request
            status, answer = HTTPStatus.OK, await self._answer(method, path, body)
        except Refused as refused:
            status, answer = refused.status, {"error": str(refused)}
        return await conversation.send(status, answer)

    async def _answer(self, method: str, path: str, body: bytes) -> Answer:
        try:
            return await self._control.answer(method, path, body)
        except Refused:
            raise
        except Exception:
            self._cluster.log.exception("control.failed", method=method, path=path)
            sentence = "the broker failed at this; its log says more"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence) from None


class Conversation:
    """One connection, in requests and answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        #: Whether only the head of the answer is wanted.
        self._is_head = False

    async def receive(self) -> tuple[str, str, bytes] | None:
        """The next request's method, path and body; None: there is none. Raises `Refused`."""
        self._is_head = False
        try:
            request = await self._next_event()
            if not isinstance(request, h11.Request):
                return None
            body = bytearray()
            while isinstance(part := await self._next_event(), h11.Data):
                body += part.data
                if len(body) > BODY_BYTES_MAX:
                    raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {BODY_BYTES_MAX} bytes")
        except h11.RemoteProtocolError as error:
            raise Refused(HTTPStatus(error.error_status_hint), f"this is not HTTP/1.1: {error}") from None
        method = request.method.decode()
        self._is_head = method == "HEAD"
        return "GET" if self._is_head else method, request.target.decode().partition("?")[0], bytes(body)

    async def send(self, status: HTTPStatus, answer: Answer) -> bool:
        """Send an answer; False when the connection ends with it."""
        http = self._http
        body = json.dumps(answer, indent=2).encode() + b"\n"
        headers: list[tuple[str, Any]] = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Server", f"ottla/{__version__}"),
        ]
        if http.their_state is not h11.DONE:  # they have more to say, which nobody will read
            headers.append(("Connection", "close"))
        for event in (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=b"" if self._is_head else body),
            h11.EndOfMessage(),
        ):
            self._writer.write(http.send(event) or b"")
        await self._writer.drain()
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            return False
        http.start_next_cycle()
        return True

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                self._writer.write(self._http.send(go_on) or b"")
            async with asyncio.timeout(IDLE_SECONDS_MAX):
                self._http.receive_data(await self._reader.read(HEAD_BYTES_MAX))
        return event
