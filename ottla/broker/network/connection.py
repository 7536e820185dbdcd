"""One client's socket: bytes in, calls to their handlers, answers out in the order of the requests.

Reading. All connections of a process receive into one shared buffer, for the loop reads and hands over in one go. Whole
frames are cut out of it; a frame that is not there completely gets a buffer of its own, into which the rest is then
received. A length is checked before anything is made, and the buffer of a large frame grows only as bytes arrive; its
last one becomes the request's bytes as it is, for a copy would cost as much memory again.

Order. As in Kafka a connection's next request is taken up when the last one is answered: what comes behind a parked
request is kept as it came, not even looked at, and reading stops. Requests that one group's task answers in turn are
the exception (`apis.Lane.GROUP`): they go into its inbox together. A request that is long to decode or to handle is
worked off in slices (`pacing`), and what comes behind it waits for that too; a small one is done at once.

Writing. Answers that are ready in one turn of the loop leave in one write. A client that does not read its answers is
not read from either: when the socket's buffer is full nothing more is taken up until it has drained.

End. What a client has asked before it said its last byte is answered. What cannot be understood closes the connection
after one log line that says why, once what was asked before it is answered; no other connection notices.
Kafka: core/.../network/SocketServer.scala, clients/.../requests/RequestContext.java.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections import deque
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, cast

from ottla.broker.authorizer import ANONYMOUS
from ottla.broker.network.call import Call
from ottla.broker.network.limits import (
    FRAME_BUFFER_BYTES_COUNTED,
    FRAME_BUFFER_BYTES_FIRST,
    FRAME_BUFFER_GROWTH,
    JOINED_ANSWER_BYTES_MAX,
    REMEMBERED_REQUEST_BYTES_MAX,
    REQUESTS_PER_TURN_MAX,
    UNSENT_ANSWER_BYTES_MAX,
)
from ottla.broker.network.routes import NotServed
from ottla.events.kind import Kind
from ottla.pacing import TooCostly, costs, own_bytes
from ottla.protocol.primitives import Buffer, DecodeError

if TYPE_CHECKING:
    from ottla.broker.network.listener import Listener
    from ottla.broker.network.routes import Route
    from ottla.protocol.primitives import Message

_SIZE: Final = struct.Struct(">i")
_read_size = _SIZE.unpack_from
_read_correlation_id_and_client_id_length = struct.Struct(">4xih").unpack_from
#: Where in a frame its client id begins, with its length; before it is what differs from request to request.
_CLIENT_ID_AT: Final = 8

#: SO_LINGER: on, for 0 seconds.
_NO_LINGER: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
#: How much the log shows of a refused frame, and of a reason, which may name what the client sent.
_SHOWN_BYTES: Final = 64
_REASON_CHARACTERS_MAX: Final = 1_000


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket.

    It has slots for speed: Python has a quick way to the attributes of an object without them up to the thirtieth only.
    """

    __slots__ = (
        "_body",
        "_body_bytes",
        "_ends_by_reset",
        "_flush_is_due",
        "_frame",
        "_frame_filled",
        "_group_id",
        "_has_been_active",
        "_has_ended",
        "_is_at_work",
        "_is_closed",
        "_is_taking_up",
        "_kept",
        "_last_bytes",
        "_last_request",
        "_last_route",
        "_out",
        "_out_bytes",
        "_out_bytes_max",
        "_routes",
        "_shared_buffer",
        "_transport",
        "_unanswered",
        "_unread_bytes",
        "_unsent_bytes_seen",
        "_writing_is_paused",
        "client_host",
        "client_id",
        "client_port",
        "client_software",
        "listener",
        "new_call",
        "new_long_call",
        "node",
        "pace",
        "principal",
    )

    def __init__(self, listener: Listener) -> None:
        self.node = listener.node
        self.client_host = ""
        self.client_port = 0
        #: What the client has said of itself in ApiVersions.
        self.client_id: str | None = None
        self.client_software = ""
        self.principal = ANONYMOUS
        self.listener = listener
        self._routes = listener.routes
        self.new_call = listener.new_call
        self.new_long_call = listener.new_long_call
        self._shared_buffer = listener.receive_buffer
        self.pace = listener.pace
        self._transport: asyncio.Transport
        #: A frame not yet complete, size prefix included, and how much of it is there.
        self._frame: bytearray | None = None
        self._frame_filled = 0
        #: Of a large one all but the prefix, in a buffer that becomes its bytes without being copied.
        self._body: BytesIO | None = None
        self._body_bytes = 0
        #: What has to wait until all before it is answered, as it came. While there is any, reading is paused.
        self._kept: memoryview | None = None
        #: Calls not yet answered, in order.
        self._unanswered: deque[Call] = deque()
        #: The group whose task has all of `_unanswered` in its inbox; None: they are not of that kind.
        self._group_id: str | None = None
        #: The last request of a kind that clients send again and again: its bytes from the client id on, and what they
        #: say. Heartbeats are the same for a whole generation.
        self._last_route: Route | None = None
        self._last_bytes = b""
        self._last_request: tuple[str, Any] = "", None
        #: Answers whose turn has come, and their size.
        self._out: list[Buffer] = []
        self._out_bytes = 0
        #: With so many bytes they leave at once.
        self._out_bytes_max = UNSENT_ANSWER_BYTES_MAX
        #: Whether the connection ends behind the last of `_unanswered`, and how; None: it does not.
        self._ends_by_reset: bool | None = None
        #: Of what was written since the client had read everything: large answers that are our own memory.
        self._unread_bytes = 0
        self._is_taking_up = False
        #: Is a request being worked off that has not gone to its handler, or not come back from it?
        self._is_at_work = False
        self._flush_is_due = False
        self._writing_is_paused = False
        self._has_ended = False
        self._is_closed = False
        #: For `is_idle`: has anything come since the last look, and what was still to be sent then.
        self._has_been_active = True
        self._unsent_bytes_seen = 0

    # --- from the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        peer = transport.get_extra_info("peername")
        self.client_host, self.client_port = (f"/{peer[0]}", peer[1]) if peer else ("/", 0)
        self.listener.remember(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closed = True
        self.listener.forget(self)
        self.listener.receiving.hold(self, 0)
        self.listener.unread.hold(self, 0)
        self._frame = self._body = self._kept = None
        self._out.clear()
        while self._unanswered:
            self._abandon(self._unanswered.popleft())

    def _abandon(self, call: Call) -> None:
        if call.on_abandoned is not None:
            call.on_abandoned()

    def get_buffer(self, sizehint: int) -> Buffer:
        if self._frame is not None:
            return memoryview(self._frame)[self._frame_filled :]
        if self._body is not None:
            return self._body.getbuffer()[self._frame_filled :]
        return self._shared_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._has_been_active = True
        frame = self._frame
        if frame is None:
            if self._body is None:
                self._take_up(self._shared_buffer, nbytes)
            else:
                self._receive_body(self._body, nbytes)
            return
        self._frame_filled += nbytes
        if self._frame_filled == len(frame):
            self._frame = None
            if len(frame) > FRAME_BUFFER_BYTES_COUNTED:
                self.listener.receiving.hold(self, 0)
            self._take_up(memoryview(frame), len(frame))

    def eof_received(self) -> bool:
        """The client says no more, but may be listening. Returns whether the connection stays open for answers."""
        self._has_ended = True
        self._hasten()
        self._write()
        return bool(self._unanswered) or self._is_at_work or self._kept is not None

    def pause_writing(self) -> None:
        self._writing_is_paused = True
        self._transport.pause_reading()
        self.listener.unread.hold(self, self._unread_bytes)

    def resume_writing(self) -> None:
        self._writing_is_paused = False
        self._unread_bytes = 0
        self.listener.unread.hold(self, 0)
        self._go_on()

    # --- taking up requests ---

    def _take_up(self, buffer: memoryview, end: int) -> None:
        """Take up the requests in `buffer` before `end`; what has to wait is kept, what is cut off begins a frame."""
        self._is_taking_up = True
        position = 0
        requests_left = REQUESTS_PER_TURN_MAX
        while position < end and not self._is_closed:
            if (
                self._writing_is_paused
                or self._is_at_work
                or (self._unanswered and self._group_id is None)
                or not requests_left
            ):
                self._keep(buffer[position:end])
                break
            if end - position < 4:
                self._begin_frame(buffer[position:end], 4)
                break
            (size,) = _read_size(buffer, position)
            frame_end = position + 4 + size
            if not 0 <= size <= self.listener.request_bytes_max:
                if self._unanswered:
                    self._keep(buffer[position:end])
                else:
                    limit = self.listener.request_bytes_max
                    self.refuse(f"a frame claims {size} bytes; socket.request.max.bytes={limit}")
                break
            if frame_end > end:
                self._begin_frame(buffer[position:end], 4 + size)
                break
            if not self._take(buffer[position + 4 : frame_end].tobytes(), self.new_call):
                self._keep(buffer[position:end])
                break
            position = frame_end
            requests_left -= 1
        self._is_taking_up = False
        self._write()

    def _begin_frame(self, beginning: memoryview, size: int) -> None:
        """Give a frame of `size` bytes, prefix included, a buffer of its own; `beginning` is what is there of it."""
        filled = len(beginning)
        if FRAME_BUFFER_BYTES_COUNTED < size <= FRAME_BUFFER_GROWTH * filled:
            self._begin_body(beginning[4:], size - 4)
            return
        self._frame = bytearray(min(size, max(FRAME_BUFFER_GROWTH * filled, FRAME_BUFFER_BYTES_FIRST)))
        self._frame[:filled] = beginning
        self._frame_filled = filled
        if len(self._frame) > FRAME_BUFFER_BYTES_COUNTED:
            self.listener.receiving.hold(self, len(self._frame))

    def _begin_body(self, beginning: memoryview, size: int) -> None:
        """The rest of a large frame is received into what is going to be its bytes."""
        self._body = BytesIO(bytes(size))  # which nobody else has, so neither this nor `getvalue` copies it
        self._body_bytes, self._frame_filled = size, len(beginning)
        self._body.getbuffer()[: len(beginning)] = beginning
        self.listener.receiving.hold(self, 4 + size)

    def _receive_body(self, body: BytesIO, nbytes: int) -> None:
        self._frame_filled += nbytes
        if self._frame_filled < self._body_bytes:
            return
        self._body = None
        self._is_at_work = True  # what comes behind it waits
        self.listener.loop.call_soon(self._take_body, body)

    def _take_body(self, body: BytesIO) -> None:
        """Take up a large request. By now the loop has let go of its buffer, or to get its bytes would copy them."""
        self._is_at_work = False
        self.listener.receiving.hold(self, 0)
        if self._is_closed:
            return
        frame = body.getvalue()
        if self._writing_is_paused or not self._take(frame, self.new_call):
            behind = self._kept or b""
            self._keep(memoryview(b"".join((_SIZE.pack(len(frame)), frame, behind))))
        self._flush_soon()

    def _keep(self, rest: memoryview) -> None:
        """Leave for later what has come, and let nothing more come until then."""
        is_shared = rest.obj is self._shared_buffer.obj
        self._kept = memoryview(bytes(rest)) if is_shared else rest
        self._transport.pause_reading()
        if not (self._unanswered or self._is_at_work or self._writing_is_paused):
            self._flush_soon()  # the others have their turn, then this goes on

    def _go_on(self) -> None:
        """Take up what was kept, as far as may be. When nothing of it is left, read on, or close if that was all."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._take_up(kept, len(kept))
            self._hasten()
        if self._kept is not None or self._writing_is_paused or self._is_closed:
            return
        if not self._has_ended:
            self._transport.resume_reading()
        elif not self._unanswered and not self._is_at_work:
            self.close()

    def _hasten(self) -> None:
        """Who has said its last byte is told now what it would wait for: most who have are not there any more."""
        if self._has_ended:
            for call in list(self._unanswered):
                if call.on_ended is not None:
                    call.on_ended()

    def _take(self, frame: bytes, new_call: type[Call]) -> bool:
        """Take up a request and return True, or False if others must be answered first.

        `new_call`: what becomes of it. A request that turns out to be long is begun once more, by a worker.
        """
        unanswered = self._unanswered
        call: Call | None = None
        try:
            route = self._routes.get(frame[:4]) or self._routes.find(frame[:4])
            if unanswered and not route.is_in_group_lane:
                return False
            if len(frame) > route.brief_bytes_max and new_call is self.new_call:
                return self._take_long(frame)
            correlation_id, length = _read_correlation_id_and_client_id_length(frame)
            if route is self._last_route and frame[_CLIENT_ID_AT:] == self._last_bytes:
                client_id, request = self._last_request
            else:
                client_id, request = route.decode(frame, length)
                if route.repeats and len(frame) <= REMEMBERED_REQUEST_BYTES_MAX:
                    self._remember(route, frame, client_id, request)
            if route.is_long is not None and new_call is self.new_call and route.is_long(request, self.node):
                return self._take_long(frame)
            if self._is_closed:
                return True  # while it was decoded
            if not route.is_in_group_lane:
                self._group_id = None
            elif not unanswered:
                self._group_id = request.group_id
            elif request.group_id != self._group_id:
                return False
            call = new_call(self, route, correlation_id, client_id, request)
            unanswered.append(call)
            response = route.handle(request, call)
        except Exception as error:
            if call is not None:
                call.fail_by(error)
            elif not unanswered:
                self._refuse_frame(frame, error)
            else:
                return False
            return True
        if response is not None:
            call.answer(response)
        return True

    def _take_long(self, frame: bytes) -> bool:
        """Have a worker take up a request that may take long, when nothing is before it."""
        if self._unanswered:
            return False
        self._is_at_work = True
        self.pace.run(partial(self._work_off, frame))
        return True

    def _work_off(self, frame: bytes) -> None:
        spent = costs()
        assert spent is not None, "a worker does this"
        spent.begin(len(frame))
        try:
            self._take(frame, self.new_long_call)
        finally:
            self._is_at_work = False
            self._hasten()
            if not self._is_taking_up:
                self._flush_soon()

    def _remember(self, route: Route, frame: bytes, client_id: str, request: Message) -> None:
        """Spare decoding the request if it comes again."""
        self._last_route = route
        self._last_bytes = frame[_CLIENT_ID_AT:]
        self._last_request = client_id, request

    # --- answering ---

    def emit(self, answered: Call) -> None:
        """A call has its answer: send it, and those behind it that have theirs, if it is its turn."""
        unanswered = self._unanswered
        if not unanswered or unanswered[0] is not answered:
            return
        while unanswered and (parts := unanswered[0].answered) is not None:
            self._out_bytes += unanswered.popleft().answer_bytes
            self._out += parts
        if self._out_bytes >= self._out_bytes_max:
            self._write()
            if self._ends_by_reset is not None:
                self._end_behind_last()
        if not (self._is_taking_up or self._flush_is_due):
            self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self.listener.loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Send what there is to send, and take up what was waiting for that."""
        self._flush_is_due = False
        self._write()
        if not self._unanswered and not self._is_at_work and (self._kept is not None or self._has_ended):
            self._go_on()

    def _write(self) -> None:
        """Hand the answers whose turn has come to the socket."""
        out = self._out
        if not out or self._is_closed:
            return
        size, self._out, self._out_bytes = self._out_bytes, [], 0
        if size >= JOINED_ANSWER_BYTES_MAX:
            self._count_unread(out)
        if len(out) == 1:
            self._transport.write(out[0])
        elif size < JOINED_ANSWER_BYTES_MAX:
            self._transport.write(b"".join(out))
        else:
            self._transport.writelines(out)

    def _count_unread(self, out: list[Buffer]) -> None:
        """A large answer goes out, or waits in our memory until the client reads; records wait in the log."""
        if not self._writing_is_paused and not self._transport.get_write_buffer_size():
            self._unread_bytes = 0
        self._unread_bytes += own_bytes(out)
        if self._writing_is_paused:
            self.listener.unread.hold(self, self._unread_bytes)

    def send_ahead(self, call: Call, part: bytes) -> bool:
        """Send the beginning of an answer that is not given yet; False: it is not its turn, or nobody is there."""
        if self._is_closed or not self._unanswered or self._unanswered[0] is not call:
            return False
        self._write()
        self._transport.write(part)
        return True

    # --- closing ---

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will leave."""
        return self._is_closed

    @property
    def peer(self) -> tuple[str, int]:
        """The client's host and port; "" and 0 when it was gone before anybody asked."""
        host, port, *_ = self._transport.get_extra_info("peername") or ("", 0)
        return host, port

    @property
    def is_waiting(self) -> bool:
        """Is an answer owed to somebody who is still there?"""
        is_owed = bool(self._unanswered) or self._is_at_work
        return is_owed and not self._has_ended and not self._is_closed

    def is_idle(self) -> bool:
        """Whether nothing came or left since this was last asked. Who waits for an answer is not idle."""
        unsent_bytes = self._transport.get_write_buffer_size()
        is_idle = not (self._has_been_active or self.is_waiting or unsent_bytes < self._unsent_bytes_seen)
        self._has_been_active = False
        self._unsent_bytes_seen = unsent_bytes
        return is_idle

    def close(self) -> None:
        """Close when what is written has left. Requests that are not answered yet will not be."""
        self._write()
        self._is_closed = True
        self._transport.close()

    def abort(self) -> None:
        """Close at once, whatever has not left yet."""
        self._is_closed = True
        self._transport.abort()

    def wait_for_answers(self) -> None:
        """Take up nothing more until all that was taken up is answered, whatever its lane."""
        self._group_id = None

    def end_behind(self, last: Call, *, reset: bool) -> None:
        """Close, or break off, when what is given of this call's answer has left; those behind it get none."""
        if last not in self._unanswered:
            return
        while self._unanswered[-1] is not last:
            self._abandon(self._unanswered.pop())
        self.wait_for_answers()
        self._out_bytes_max = 0  # so every answer leaves at once, and the last one ends it
        self._ends_by_reset = reset
        self.emit(last)

    def _end_behind_last(self) -> None:
        if self._unanswered or self._is_closed:
            return
        if self._ends_by_reset:
            self._dont_linger()
        self.close()

    def give_up(self, reason: str) -> None:
        """Close at once because the client has too much of what all clients share."""
        self._tell(Kind.CONNECTION_REFUSED, reason=reason, frame="")
        self.abort()

    def finish(self) -> None:
        """Close when everything that came is answered; who waits is answered now, as far as that is possible."""
        self._transport.pause_reading()
        if not self.eof_received() and not self._is_closed:
            self.close()

    def reset(self) -> None:
        """Break the connection off as a process that crashes does: the client gets a reset."""
        self._dont_linger()
        self.abort()

    def _dont_linger(self) -> None:
        """Have the socket's end be a reset."""
        with suppress(OSError):  # it is broken off already
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)

    def refuse(self, reason: str, frame: bytes = b"") -> None:
        """Close because of something the client sent, and say why in the log."""
        shown = frame[:_SHOWN_BYTES].hex(" ")
        reason = reason[:_REASON_CHARACTERS_MAX]
        self._tell(Kind.CONNECTION_REFUSED, reason=reason, frame=shown)
        self.close()

    def _refuse_frame(self, frame: bytes, error: Exception) -> None:
        """Close because of what was raised by a frame; for `except` blocks."""
        if isinstance(error, NotServed):
            self.refuse(str(error), frame)
        elif isinstance(error, (DecodeError, TooCostly, struct.error, IndexError)):
            self.refuse(f"a frame of {len(frame)} bytes does not parse: {error}", frame)
        else:
            shown = frame[:_SHOWN_BYTES].hex(" ")
            self._tell(Kind.CONNECTION_FAILED, raised=error, frame=shown)
            self.close()

    def _tell(self, kind: Kind, *, frame: str, reason: str | None = None, raised: Exception | None = None) -> None:
        node, client_host = self.node, self.client_host
        node.events.tell(kind, node_id=node.node_id, raised=raised, client_host=client_host, reason=reason, frame=frame)
