"""One client's socket: bytes in, calls to their handlers, answers out in the order of the requests.

Reading. All connections of a process receive into one shared buffer, for the loop reads and hands over in one go. Whole
frames are cut out of it; a frame that is not there completely gets a buffer of its own, into which the rest is then
received. A length is checked before anything is made, and the buffer of a large frame grows only as bytes arrive.

Order. As in Kafka a connection's next request is taken up when the last one is answered: what comes behind a parked
request is kept as it came, and reading stops. Requests that one group's task answers in turn are the exception
(`apis.Lane.GROUP`): they go into its inbox together.

Writing. Answers that are ready in one turn of the loop leave in one write. A client that does not read its answers is
not read from either: when the socket's buffer is full nothing more is taken up until it has drained.

Whatever cannot be understood closes the connection after one log line that says why; no other connection notices.
Kafka: core/.../network/SocketServer.scala, clients/.../requests/RequestContext.java.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from ottla.broker.apis import Lane
from ottla.broker.call import Call, CloseConnection
from ottla.broker.limits import FRAME_BUFFER_BYTES_FIRST, JOINED_ANSWER_BYTES_MAX
from ottla.broker.routes import NotServed, Route
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import API_VERSIONS_KEY, read_client_id, skip_header_tags
from ottla.protocol.primitives import Buffer, DecodeError

if TYPE_CHECKING:
    from ottla.broker.listener import Listener

_SIZE: Final = struct.Struct(">i")
_read_size = _SIZE.unpack_from
_read_correlation_id_and_client_id_length = struct.Struct(">4xih").unpack_from


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket."""

    def __init__(self, listener: Listener) -> None:
        self.node = listener.node
        self.log = listener.log
        self.client_host = ""
        self.has_been_active = True
        self._listener = listener
        self._routes = listener.routes
        self._new_call = listener.new_call
        self._shared_buffer = listener.receive_buffer
        self._transport: asyncio.Transport
        #: A frame not yet complete, size prefix included; how much of it is there, and how long it will be.
        self._frame: bytearray | None = None
        self._frame_filled = 0
        self._frame_size = 0
        #: Calls not yet answered, in order; and the frames that have to wait until they are.
        self._unanswered: deque[Call] = deque()
        self._held: deque[bytes] = deque()
        #: The group whose task has all of `_unanswered` in its inbox; None: they are not of that kind.
        self._group_id: str | None = None
        self._out: list[Buffer] = []
        self._is_reading = False
        self._flush_is_due = False
        self._writing_is_paused = False
        self._is_closed = False

    @property
    def is_waiting(self) -> bool:
        """Is an answer owed? Such a connection is not idle, however quiet."""
        return bool(self._unanswered)

    # --- from the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        peer = transport.get_extra_info("peername")
        self.client_host = f"/{peer[0]}" if peer else "/"
        self._listener.remember(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closed = True
        self._listener.forget(self)
        self._held.clear()
        self._out.clear()
        while self._unanswered:
            abandoned = self._unanswered.popleft().on_abandoned
            if abandoned is not None:
                abandoned()

    def get_buffer(self, sizehint: int) -> Buffer:
        if self._frame is None:
            return self._shared_buffer
        return memoryview(self._frame)[self._frame_filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self.has_been_active = True
        self._is_reading = True
        try:
            if self._frame is None:
                self._cut_frames(nbytes)
            else:
                self._frame_filled += nbytes
                self._grow_or_take_frame()
        finally:
            self._is_reading = False
        if self._out:
            self.flush()

    def pause_writing(self) -> None:
        self._writing_is_paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._writing_is_paused = False
        self._take_held()

    # --- reading ---

    def _cut_frames(self, received: int) -> None:
        """Take every whole frame out of the shared buffer, and start a buffer for one that is cut off."""
        buffer = self._shared_buffer
        position = 0
        while received - position >= 4:
            (size,) = _read_size(buffer, position)
            if not self._check_size(size):
                return
            end = position + 4 + size
            if end > received:
                break
            self._take(bytes(buffer[position + 4 : end]))
            if self._is_closed:
                return
            position = end
        if position < received:
            self._start_frame(buffer[position:received])

    def _start_frame(self, beginning: memoryview) -> None:
        """Give a frame its own buffer; `beginning` is what is there of it, perhaps not even its whole size."""
        self._frame_filled = len(beginning)
        self._frame_size = 4 if len(beginning) < 4 else 4 + _read_size(beginning)[0]
        self._frame = bytearray(min(self._frame_size, FRAME_BUFFER_BYTES_FIRST))
        self._frame[: len(beginning)] = beginning

    def _grow_or_take_frame(self) -> None:
        """The frame's buffer has got more bytes: when it is full, it is complete, or it must grow."""
        frame = self._frame
        assert frame is not None
        if self._frame_filled < len(frame):
            return
        self._frame = None
        if self._frame_size == 4 and not self._check_size(_read_size(frame)[0]):
            return
        if self._frame_size == 4 and _read_size(frame)[0] > 0:
            self._start_frame(memoryview(frame))
        elif self._frame_filled < self._frame_size:
            self._frame = bytearray(min(self._frame_size, 2 * len(frame)))
            self._frame[: len(frame)] = frame
        else:
            self._take(bytes(memoryview(frame)[4:]))

    def _check_size(self, size: int) -> bool:
        if 0 <= size <= self._listener.request_bytes_max:
            return True
        self._close(f"a frame claims {size} bytes; socket.request.max.bytes={self._listener.request_bytes_max}")
        return False

    # --- taking up requests ---

    def _take(self, frame: bytes) -> None:
        """Take up a request, or keep it for later when others must be answered first."""
        if self._held or self._writing_is_paused:
            self._hold(frame)
            return
        try:
            route = self._routes.get(frame[:4]) or self._routes.find(frame[:4])
            if self._unanswered and (route.lane is not Lane.GROUP or self._group_id is None):
                self._hold(frame)
                return
            correlation_id, length = _read_correlation_id_and_client_id_length(frame)
            client_id, position = read_client_id(frame, length)
            if route.flexible:
                position = skip_header_tags(frame, position)
            request, end = route.read(frame, position)
            if end > len(frame):
                raise DecodeError(f"the body claims {end - len(frame)} bytes more than the frame has")
        except NotServed as refusal:
            self._refuse_version(frame, str(refusal))
            return
        except (DecodeError, struct.error, IndexError) as error:
            self._close(f"a frame of {len(frame)} bytes does not parse: {error}", frame)
            return
        call = self._new_call(self, route, correlation_id, client_id)
        if route.lane is Lane.GROUP:
            if self._unanswered and request.group_id != self._group_id:
                self._hold(frame)
                return
            self._group_id = request.group_id
        else:
            self._group_id = None
        self._unanswered.append(call)
        self._handle(route, request, call)

    def _handle(self, route: Route, request: object, call: Call) -> None:
        try:
            response = route.handle(request, call)
        except CloseConnection as close:
            self._close(str(close))
            return
        except Exception:
            self.log.exception("request.failed", api=route.name, api_version=route.version)
            response = route.refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
        if response is not None:
            call.answer(response)

    def _refuse_version(self, frame: bytes, reason: str) -> None:
        """No such route: ApiVersions alone gets an answer, in the form every client can read (KIP-511)."""
        if len(frame) >= 8 and int.from_bytes(frame[:2]) == API_VERSIONS_KEY:
            if self._unanswered:
                self._hold(frame)
                return
            route = self._routes.find(API_VERSIONS_KEY.to_bytes(2) + bytes(2))
            call = self._new_call(self, route, int.from_bytes(frame[4:8], signed=True), "")
            self._unanswered.append(call)
            call.answer(route.refuse(None, ErrorCode.UNSUPPORTED_VERSION))
        else:
            self._close(reason, frame)

    def _hold(self, frame: bytes) -> None:
        if not self._held and not self._writing_is_paused:
            self._transport.pause_reading()
        self._held.append(frame)

    def _take_held(self) -> None:
        """Take up what was kept, as far as it goes; when nothing is left, read on."""
        held, self._held = self._held, deque()
        while held and not self._held and not self._writing_is_paused and not self._is_closed:
            self._take(held.popleft())
        self._held.extend(held)
        if not self._held and not self._writing_is_paused and not self._is_closed:
            self._transport.resume_reading()

    # --- answering ---

    def emit(self, answered: Call) -> None:
        """A call has its answer: send it, and those behind it that have theirs, if it is its turn."""
        unanswered = self._unanswered
        if not unanswered or unanswered[0] is not answered:
            return
        while unanswered and unanswered[0].answered is not None:
            self._out += unanswered.popleft().answered or ()
        if not self._is_reading and not self._flush_is_due:
            self._flush_is_due = True
            self._listener.loop.call_soon(self._flush_later)

    def _flush_later(self) -> None:
        self._flush_is_due = False
        self.flush()

    def flush(self) -> None:
        """Hand the answers to the socket, and take up what was waiting for them."""
        out = self._out
        if out and not self._is_closed:
            self._out = []
            if len(out) == 1:
                self._transport.write(out[0])
            elif sum(map(len, out)) < JOINED_ANSWER_BYTES_MAX:
                self._transport.write(b"".join(out))
            else:
                self._transport.writelines(out)
        if self._held and not self._unanswered:
            self._take_held()

    # --- closing ---

    def close(self) -> None:
        """Close after what is written has left. Requests that are kept are not taken up any more."""
        self._held.clear()
        self.flush()
        self._is_closed = True
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._is_closed = True
        self._transport.abort()

    def _close(self, reason: str, frame: bytes = b"") -> None:
        self.log.warning("connection.refused", client_host=self.client_host, reason=reason, frame=frame[:64].hex(" "))
        self.close()
