"""One client's connection: bytes in, calls to their handlers, answers out in the order of the requests.

Reading. All connections of a process receive into one shared buffer, for the loop reads and hands over in one go. Whole
frames are cut out of it; the rest of one that is not there completely is received apart (`partial_frames`).

Order. As in Kafka a connection's next request is taken up when the last one is answered: what comes behind a parked
request is kept as it came, not even looked at, and reading stops. Requests that one group's task answers in turn are
the exception (`apis.Lane.GROUP`): they go into its inbox together. A request that is long to decode or to handle is
worked off in slices (`pacing`), and what comes behind it waits for that too; a small one is done at once.

Writing (`client_socket`). A client that does not read its answers is not read from either: when the socket's buffer is
full nothing more is taken up until it has drained.

End. What a client has asked before it said its last byte is answered. What cannot be understood closes the connection
after it was told why, once what was asked before it is answered; no other connection notices.
Kafka: core/.../network/SocketServer.scala, clients/.../requests/RequestContext.java.
"""

from __future__ import annotations

import asyncio
import struct
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.network.answer_queue import AnswerQueue
from ottla.broker.network.call import Call
from ottla.broker.network.foreign_protocols import looks_like
from ottla.broker.network.limits import REMEMBERED_REQUEST_BYTES_MAX, REQUESTS_PER_TURN_MAX
from ottla.broker.network.partial_frames import LargeFrame, Partial, begin_frame
from ottla.pacing import costs
from ottla.protocol.headers import REQUEST_FIXED_BYTES, skip_header_tags
from ottla.protocol.primitives import Buffer
from ottla.security.authorizer import ANONYMOUS

if TYPE_CHECKING:
    from ottla.broker.network.connection_listener import ConnectionListener
    from ottla.broker.network.route import Route
    from ottla.protocol.primitives import Message
    from ottla.security.authorizer import Principal

_read_size = struct.Struct(">i").unpack_from
_read_correlation_id_and_client_id_length = struct.Struct(">4xih").unpack_from
#: Where in a frame its client id begins, with its length; before it is what differs from request to request.
_CLIENT_ID_AT: Final = 8


class Connection(AnswerQueue):
    """One client's. It has slots, for without them Python has a quick way to thirty attributes of an object only."""

    __slots__ = (
        "_has_been_active",
        "_is_at_work",
        "_is_held",
        "_kept",
        "_last_bytes",
        "_last_end",
        "_last_request",
        "_last_route",
        "_moved",
        "_partial",
        "_receiving",
        "_routes",
        "_shared_buffer",
        "_unsent_bytes_seen",
        "client_id",
        "client_software",
        "listener",
        "new_call",
        "new_long_call",
        "pace",
        "principal",
    )

    def __init__(self, listener: ConnectionListener[Connection]) -> None:
        super().__init__(listener.node, listener.unread, listener.outbox)
        self.listener = listener
        self.principal: Principal = ANONYMOUS
        #: What the client has said of itself in ApiVersions.
        self.client_id: str | None = None
        self.client_software = ""
        self.new_call = listener.new_call
        self.new_long_call = listener.new_long_call
        self.pace = listener.pace
        self._routes = listener.routes
        self._shared_buffer = listener.receive_buffer
        self._moved = listener.node.moved
        #: A frame that is not there completely.
        self._partial: Partial | None = None
        self._receiving = listener.receiving
        #: What has to wait until all before it is answered, as it came. While there is any, reading is paused.
        self._kept: memoryview | None = None
        #: The last request of a kind that clients send again and again: its bytes from the client id on, or those that
        #: come again, and what they say. Heartbeats are the same for a whole generation, commits begin the same.
        self._last_route: Route | None = None
        self._last_end: int | None = None
        self._last_bytes = b""
        self._last_request: tuple[str, Any] = "", None
        #: Is a request being worked off that has not gone to its handler, or not come back from it?
        self._is_at_work = False
        #: While the virtual clock moves, for one.
        self._is_held = False
        #: For `is_idle`: has anything come since the last look, and what was still to be sent then.
        self._has_been_active = True
        self._unsent_bytes_seen = 0

    # --- from the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.listener.remember(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._partial = self._kept = None
        self._abandon_all()

    def get_buffer(self, sizehint: int) -> Buffer:
        return self._shared_buffer if self._partial is None else self._partial.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._has_been_active = True
        partial_frame = self._partial
        if partial_frame is None:
            self._take_up(self._shared_buffer, nbytes)
        elif partial_frame.fill(nbytes):
            self._partial = None
            if isinstance(partial_frame, LargeFrame):
                self._is_at_work = True  # what comes behind it waits
                self.listener.loop.call_soon(self._take_large, partial_frame)
            else:
                if partial_frame.bytes_counted:
                    self._receiving.hold(self, 0)
                self._take_up(memoryview(partial_frame.data), len(partial_frame.data))

    def eof_received(self) -> bool:
        """The client says no more, but may be listening. Returns whether the connection stays open for answers."""
        self._has_ended = True
        self._hasten()
        self.write_ready()
        return bool(self._unanswered) or self._is_at_work or self._kept is not None

    def resume_writing(self) -> None:
        super().resume_writing()
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
                or self._is_held
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
                    self._refuse_size(size)
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
        if self._moved:
            self.node.delayed_operations.look_at_one()
        if (outbox := self._outbox).senders:
            outbox.write()
        self.write_ready()

    def _refuse_size(self, size: int) -> None:
        """Close: no frame has as many bytes as the next one is to have, or it is none."""
        if (foreign := looks_like(size.to_bytes(4, "big", signed=True))) is not None:
            self.refuse_foreign(foreign)
        else:
            self.refuse(f"a frame claims {size} bytes; socket.request.max.bytes={self.listener.request_bytes_max}")

    def _begin_frame(self, beginning: memoryview, size: int) -> None:
        """Receive the rest of a frame of `size` bytes, prefix included; `beginning` is what is there of it."""
        self._partial = begun = begin_frame(beginning, size)
        if begun.bytes_counted:
            self._receiving.hold(self, begun.bytes_counted)

    def _take_large(self, large: LargeFrame) -> None:
        """Take up a large request. By now the loop has let go of its buffer, or to get its bytes would copy them."""
        self._is_at_work = False
        self._receiving.hold(self, 0)
        if self._is_closed:
            return
        frame = large.take()
        if self._writing_is_paused or self._is_held or not self._take(frame, self.new_call):
            behind = self._kept or b""
            self._keep(memoryview(b"".join((len(frame).to_bytes(4, "big"), frame, behind))))
        self._flush_soon()

    def _keep(self, rest: memoryview) -> None:
        """Leave for later what has come, and let nothing more come until then."""
        self._kept = memoryview(bytes(rest)) if rest.obj is self._shared_buffer.obj else rest
        self._transport.pause_reading()
        if not (self._unanswered or self._is_at_work or self._is_held or self._writing_is_paused):
            self._flush_soon()  # the others have their turn, then this goes on

    def _go_on(self) -> None:
        """Take up what was kept, as far as may be. When nothing of it is left, read on, or close if that was all."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._take_up(kept, len(kept))
            self._hasten()
        if self._kept is not None or self._is_held or self._writing_is_paused or self._is_closed:
            return
        if not self._has_ended:
            self._transport.resume_reading()
        elif not self._unanswered and not self._is_at_work:
            self.close()

    def _take(self, frame: bytes, new_call: type[Call]) -> bool:
        """Take up a request and return True, or False if others must be answered first.

        `new_call`: what becomes of it. A request that turns out to be long is begun once more, in a fiber.
        """
        unanswered = self._unanswered
        call: Call | None = None
        request: Any
        try:
            route = self._routes.get(frame[:4]) or self._routes.find(frame[:4])
            if unanswered and not route.is_in_group_lane:
                return False
            if len(frame) > route.brief_bytes_max and new_call is self.new_call:
                return self._take_long(frame)
            correlation_id, length = _read_correlation_id_and_client_id_length(frame)
            if route.answer_plain is not None and self._answer_plainly(frame, route, correlation_id, length, new_call):
                return True
            if route is self._last_route and frame[_CLIENT_ID_AT : self._last_end] == self._last_bytes:
                client_id, request = self._last_request
                if self._last_end is not None:
                    request = request.read(frame) or self._decode(route, frame, length)[1]
            else:
                client_id, request = self._decode(route, frame, length)
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
        elif not unanswered and self.is_closed:
            self._abandon(call)  # it was lost while a fiber handled this
        return True

    def _answer_plainly(
        self, frame: bytes, route: Route, correlation_id: int, client_id_length: int, new_call: type[Call]
    ) -> bool:
        """Answer a request with nothing unusual about it by its handler's short way; False: it is none."""
        if route.answer_plain is None or new_call.is_watched:
            return False
        position = REQUEST_FIXED_BYTES + max(client_id_length, 0)
        try:
            if route.flexible:
                position = skip_header_tags(frame, position)
            body = route.answer_plain(frame, position, route.version, self.node)
        except Exception as error:
            call = new_call(self, route, correlation_id, *route.decode(frame, client_id_length))
            self._unanswered.append(call)
            call.fail_by(error)
            return True
        if body is None:
            return False
        answer = route.pack_header(len(body) + route.header_bytes, correlation_id) + body
        self._out.append(answer)
        self._out_bytes += len(answer)
        if self._out_bytes >= self._out_bytes_max:
            self.write_ready()
        return True

    def _take_long(self, frame: bytes) -> bool:
        """Take up a request that may take long in a fiber, when nothing is before it."""
        if self._unanswered:
            return False
        self._is_at_work = True
        self.pace.run(partial(self._work_off, frame))
        return True

    def _work_off(self, frame: bytes) -> None:
        spent = costs()
        assert spent is not None, "a fiber does this"
        spent.begin(len(frame))
        try:
            self._take(frame, self.new_long_call)
        finally:
            self._is_at_work = False
            self._hasten()
            if not self._is_taking_up:
                self._flush_soon()

    def _decode(self, route: Route, frame: bytes, client_id_length: int) -> tuple[str, Message]:
        """Decode a request, and spare that if it comes again, or its beginning, if that does."""
        client_id, request = decoded = route.decode(frame, client_id_length)
        if not route.is_remembered or len(frame) > REMEMBERED_REQUEST_BYTES_MAX:
            return decoded
        if route.beginning_of is None:
            self._last_end, self._last_request = None, decoded
        elif (beginning := route.beginning_of(frame, request, route.version)) is not None:
            self._last_end, self._last_request = beginning.at, (client_id, beginning)
        else:
            return decoded
        self._last_route = route
        self._last_bytes = frame[_CLIENT_ID_AT : self._last_end]
        return decoded

    def flush(self) -> None:
        """Send what there is to send, and take up what was waiting for that."""
        self._flush_is_due = False
        self.write_ready()
        if not self._unanswered and not self._is_at_work and (self._kept is not None or self._has_ended):
            self._go_on()

    # --- idleness, and pauses ---

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is owed to a client that is still there."""
        is_owed = bool(self._unanswered) or self._is_at_work
        return is_owed and not self._has_ended and not self._is_closed

    def is_idle(self) -> bool:
        """Whether nothing came or left since this was last asked. A client that waits for an answer is not idle."""
        unsent_bytes = self._transport.get_write_buffer_size()
        is_idle = not (self.take_activity() or self.is_waiting or unsent_bytes < self._unsent_bytes_seen)
        self._unsent_bytes_seen = unsent_bytes
        return is_idle

    def take_activity(self) -> bool:
        """Whether anything came since this, or `is_idle`, was last asked."""
        was_active, self._has_been_active = self._has_been_active, False
        return was_active or self._is_at_work

    def hold(self) -> None:
        """Read nothing more, and take up nothing more, until `let_go`. Requests that wait are answered meanwhile."""
        self._is_held = True
        if not self._is_closed:
            self._transport.pause_reading()

    def let_go(self) -> None:
        """Take up what was kept, and read on, unless something else is in the way."""
        self._is_held = False
        if self._kept is None:
            self._go_on()
        else:
            self._flush_soon()

    def finish(self) -> None:
        """Close when everything that came is answered; what waits is answered now, as far as that is possible."""
        self._transport.pause_reading()
        if not self.eof_received() and not self._is_closed:
            self.close()
