"""HTTP/1.1 for the control API: h11 does the parsing, the `Gate` says which requests get in, this does the sockets.

Loaded with --control only. Bodies and headers are bounded, and so is the number of connections; one that says nothing
for a minute, or takes nothing, is closed. If there are too many, one without a request makes room for the next; if all
have one, the next is answered 503. Followers of events are counted apart. A request that is no HTTP gets a 400 with a
sentence, as JSON like all answers.

A request that fails ends alone, whatever has failed: the handler, the sending, or the connection. When the broker
stops, what is being answered gets its answer and the rest is closed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import h11

from ottla import __version__
from ottla.broker.network.listener import bind, listen
from ottla.control.api.control import Control
from ottla.control.api.feed import Feed
from ottla.control.api.gate import Gate, Headers
from ottla.control.api.http_refused import HttpRefused
from ottla.control.api.route import Answer
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.events.stream import Stream

CONNECTIONS_MAX: Final = 64
FOLLOWERS_MAX: Final = 64
HEAD_BYTES_MAX: Final = 16 * 1024
BODY_BYTES_MAX: Final = 64 * 1024
IDLE_SECONDS_MAX: Final = 60.0


class ControlListener:
    """The control API's server socket."""

    def __init__(self, control: Control, gate: Gate, tasks: asyncio.TaskGroup, events: Stream) -> None:
        self._control = control
        self._gate = gate
        self._tasks = tasks
        self._events = events
        self._server: asyncio.Server | None = None
        self._conversations: dict[asyncio.Task[None], Conversation] = {}

    async def open(self, host: str, port: int) -> int:
        """Bind; returns the port, which the machine chooses when `port` is 0. Raises OSError."""
        self._server, port = await bind(
            lambda port: asyncio.start_server(self._connected, host, port, start_serving=False), port
        )
        return port

    @property
    def is_for_this_machine(self) -> bool:
        """Whether no other machine can connect."""
        sockets = () if self._server is None else self._server.sockets
        return all(ip_address(opened.getsockname()[0].partition("%")[0]).is_loopback for opened in sockets)

    async def accept(self) -> None:
        """Let scripts in."""
        if self._server is not None:
            await listen(self._server)

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def close(self) -> None:
        """Close the socket, and every connection when what was asked there is answered."""
        self.stop_accepting()
        for conversation in self._conversations.values():
            conversation.finish()

    async def closed(self) -> None:
        """Return when the last connection is gone. For after `close`."""
        if self._conversations:
            await asyncio.wait(self._conversations)

    def abort(self) -> None:
        """Drop the connections that are left, and what they have asked."""
        for task, conversation in self._conversations.items():
            conversation.abort()
            task.cancel()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:
            writer.close()
            return
        conversation = Conversation(reader, writer)
        work = self._converse(conversation) if self._make_room() else self._turn_away(conversation)
        task = self._tasks.create_task(work, name="control")
        self._conversations[task] = conversation
        task.add_done_callback(self._conversations.pop)

    def _make_room(self) -> bool:
        """Whether one more connection may ask; the one that has been silent for longest may have to go for it."""
        asking = [one for one in self._conversations.values() if not one.is_following]
        if len(asking) < CONNECTIONS_MAX:
            return True
        silent = next((one for one in asking if not one.is_answering), None)
        if silent is not None:
            silent.finish()
        return silent is not None

    async def _turn_away(self, conversation: Conversation) -> None:
        """Answer 503, whatever is asked."""
        sentence = self._full("connections", CONNECTIONS_MAX, "close some, or ask one after the other")
        with suppress(OSError):
            await conversation.send(HTTPStatus.SERVICE_UNAVAILABLE, _encode({"error": sentence}))
            await conversation.end()
        conversation.abort()

    def _full(self, what: str, count_max: int, advice: str) -> str:
        self._events.tell(Kind.CONTROL_FULL, what=what, count=count_max)
        return f"the control API has {count_max} {what} already; {advice}"

    async def _converse(self, conversation: Conversation) -> None:
        """Answer one connection's requests until one side has enough."""
        try:
            while await self._answer_next(conversation):
                pass
            await conversation.end()
        except OSError:
            pass  # gone, or silent for too long
        except Exception as error:
            self._events.tell(Kind.CONTROL_FAILED, raised=error)
        finally:
            conversation.abort()

    async def _answer_next(self, conversation: Conversation) -> bool:
        """Answer the next request; False when there is none, or can be none after it."""
        try:
            request = await conversation.receive(self._gate.check)
            if request is None:
                return False
            answer = await self._answer(request)
        except HttpRefused as refused:
            return await conversation.send(refused.status, _encode({"error": str(refused)}), refused.headers)
        if isinstance(answer, Feed):
            try:
                await self._send_feed(conversation, answer)
            finally:
                answer.drop()
            return False
        return await conversation.send(HTTPStatus.OK, answer)

    async def _send_feed(self, conversation: Conversation, feed: Feed) -> None:
        if sum(one.is_following for one in self._conversations.values()) >= FOLLOWERS_MAX:
            sentence = self._full("followers of events", FOLLOWERS_MAX, "close some")
            await conversation.send(HTTPStatus.SERVICE_UNAVAILABLE, _encode({"error": sentence}))
        else:
            await conversation.send_feed(feed)

    async def _answer(self, request: Request) -> bytes | Feed:
        method, path, argument = request
        try:
            answer = await self._control.answer(method, path, argument)
            return answer if isinstance(answer, Feed) else _encode(answer)
        except HttpRefused:
            raise
        except Exception as error:
            self._events.tell(Kind.CONTROL_FAILED, raised=error, method=method, path=path)
            sentence = "the broker failed at this; its log says more"
            raise HttpRefused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence) from None


class Request(NamedTuple):
    """What is asked."""

    method: str
    path: str
    argument: bytes
    """The body of a POST; of all others what stands behind the question mark."""


class Conversation:
    """One connection, in requests and answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        sockname = writer.get_extra_info("sockname")
        self._local_host: str = sockname[0] if sockname else ""  # a connection that is gone already has none
        #: Whether only the head of the answer is wanted.
        self._is_head = False
        #: Whether a request is there that has no answer yet.
        self.is_answering = False
        #: Whether nothing is to come after that.
        self._is_last = False
        #: What is being sent as it happens.
        self._feed: Feed | None = None

    @property
    def is_following(self) -> bool:
        """Whether it is sent events as they happen."""
        return self._feed is not None

    async def receive(self, check: Callable[[str, Headers, str], None]) -> Request | None:
        """The next request that `check` lets in; None: there is none. Raises `HttpRefused`, or OSError if gone."""
        self._is_head = self.is_answering = False
        try:
            request = await self._next_event()
            if not isinstance(request, h11.Request):
                return None
            method = request.method.decode()
            self._is_head = method == "HEAD"
            try:
                check(method, list(request.headers), self._local_host)
            except HttpRefused:
                if not self._http.they_are_waiting_for_100_continue:
                    await self._read_body()  # and the connection is good for another request
                raise
            body = await self._read_body()
        except h11.RemoteProtocolError as error:
            raise HttpRefused(HTTPStatus(error.error_status_hint), f"this is not HTTP/1.1: {error}") from None
        self.is_answering = True
        path, _, query = request.target.partition(b"?")
        return Request("GET" if self._is_head else method, path.decode(), body if method == "POST" else query)

    async def _read_body(self) -> bytes:
        body = bytearray()
        while isinstance(part := await self._next_event(), h11.Data):
            body += part.data
            if len(body) > BODY_BYTES_MAX:
                raise HttpRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {BODY_BYTES_MAX} bytes")
        return bytes(body)

    async def send(self, status: HTTPStatus, body: bytes, more_headers: Mapping[str, str] | None = None) -> bool:
        """Send an answer; False when the connection ends with it. Raises OSError when the client does not take it."""
        http = self._http
        headers: list[tuple[str, Any]] = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Server", f"ottla/{__version__}"),
            *(more_headers or {}).items(),
        ]
        if self._is_last or http.their_state is not h11.DONE:  # the client has more to say, which is not read
            headers.append(("Connection", "close"))
        events = (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=b"" if self._is_head else body),
            h11.EndOfMessage(),
        )
        await self._write(b"".join([http.send(event) or b"" for event in events]))
        if self._is_last or http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            return False
        http.start_next_cycle()
        return True

    async def send_feed(self, feed: Feed) -> None:
        """Send what comes until the client goes, or the broker stops; the connection ends with it. Raises OSError."""
        headers = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("Connection", "close")]
        response = h11.Response(status_code=HTTPStatus.OK, headers=[*headers, ("Server", f"ottla/{__version__}")])
        await self._write(self._http.send(response) or b"")
        self._feed = feed
        if self._is_head or self._is_last:
            feed.close()

        async def watch() -> None:
            with suppress(OSError):
                await self._reader.read(1)  # the client's end, for it has no more to say here
            feed.close()

        gone = asyncio.ensure_future(watch())
        try:
            while text := await feed.next():
                await self._write(self._http.send(h11.Data(data=text)) or b"")
            await self._write(self._http.send(h11.EndOfMessage()) or b"")
        finally:
            self._feed = None
            gone.cancel()
            await asyncio.wait([gone])

    def finish(self) -> None:
        """Close when what was asked is answered; now, if nothing was."""
        self._is_last = True
        if self._feed is not None:
            self._feed.close()
        if not self.is_answering:
            self._writer.close()

    async def end(self) -> None:
        """Close when what is written has left. Raises OSError when the client does not take it."""
        self._writer.close()
        async with asyncio.timeout(IDLE_SECONDS_MAX):
            await self._writer.wait_closed()

    def abort(self) -> None:
        """Break it off."""
        self._writer.transport.abort()

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            async with asyncio.timeout(IDLE_SECONDS_MAX):
                self._http.receive_data(await self._reader.read(HEAD_BYTES_MAX))
        return event

    async def _write(self, data: bytes) -> None:
        if self._writer.is_closing():  # a reset that came meanwhile; a transport that is closed takes no more
            raise ConnectionResetError
        self._writer.write(data)
        async with asyncio.timeout(IDLE_SECONDS_MAX):
            await self._writer.drain()


def _encode(answer: Answer) -> bytes:
    return json.dumps(answer, indent=2).encode() + b"\n"
