"""One end of a connection in memory: a transport for whatever protocol stands on it.

    write ──▶ on its way, for a latency by seed ──▶ arrived ──▶ the other end's protocol, unless it has paused reading

What was written and the other protocol has not taken counts as written: beyond the high-water mark the writer is asked
to pause, as by a socket whose reader is slow. The order of bytes is kept, how they are cut is not: what waits for a
paused reader arrives in one piece.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ottla.testing.simulation.host import Host

#: As asyncio's own transports have them.
_HIGH_WATER_BYTES: Final = 64 * 1024

_END_OF_STREAM: Final = b""


class Wire(Protocol):
    """What lies between the two ends."""

    loop: asyncio.AbstractEventLoop
    #: Every end of a connection that is open.
    ends: dict[End, None]

    def send(self, end: End, arrive: Callable[[], None], context: Context) -> None:
        """Have something arrive from this end at the other, in that one's context."""


class End(asyncio.Transport):
    """One end; `peer` is the other one."""

    peer: End

    def __init__(self, network: Wire, host: Host | None, own: tuple[str, int], other: tuple[str, int]) -> None:
        """`own`, `other`: the addresses of the two ends. Callbacks run in the context of the caller."""
        super().__init__({"sockname": own, "peername": other, "socket": SocketOfEnd(self, own, other)})
        self._network = network
        #: Where it is.
        self.host = host
        self._context: Context = copy_context()
        self._protocol: Any = None
        self._arrived: deque[bytes] = deque()
        #: Written here, and not taken by the other end's protocol.
        self._unread_bytes = 0
        self._high_water_bytes, self._low_water_bytes = _HIGH_WATER_BYTES, _HIGH_WATER_BYTES // 4
        self._reading_is_paused = self._writing_is_paused = False
        self._has_ended = self._is_closing = self._is_lost = False
        #: When what was sent last arrives: nothing overtakes it.
        self.arrives_s = 0.0
        #: SO_LINGER for 0 seconds: closing resets the connection.
        self.ends_by_reset = False

    # --- for the network ---

    def open(self, protocol: asyncio.BaseProtocol) -> None:
        """From now on this protocol stands on it."""
        self._protocol = protocol
        self._network.ends[self] = None
        protocol.connection_made(self)
        self._deliver()

    def open_soon(self, make_protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """The same in the next turn, in its own context."""
        self._soon(lambda: self.open(make_protocol()))

    @property
    def hosts(self) -> tuple[Host | None, Host | None]:
        """Where it is, and where the other end is."""
        return self.host, self.peer.host

    def arrive(self, data: bytes) -> None:
        """So much has come from the other end."""
        if self._is_closing:
            if data:
                self._send(self.peer.break_off)  # as a machine answers that has no such connection
            return
        self._arrived.append(data)
        if self._protocol is not None:
            self._deliver()

    def break_off(self) -> None:
        """The other end has reset the connection."""
        if not self._is_lost:
            self._is_closing = True
            self._lose(ConnectionResetError(104, "Connection reset by peer"))

    # --- reading ---

    def pause_reading(self) -> None:
        self._reading_is_paused = True

    def resume_reading(self) -> None:
        if self._reading_is_paused:
            self._reading_is_paused = False
            self._soon(self._deliver)

    def is_reading(self) -> bool:
        return not (self._reading_is_paused or self._is_closing)

    def _deliver(self) -> None:
        """Hand what has arrived to the protocol, as long as it takes it."""
        arrived = self._arrived
        while arrived and not self._reading_is_paused and not self._is_closing:
            data = arrived.popleft()
            if data == _END_OF_STREAM:
                if not self._protocol.eof_received():
                    self.close()
                return
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                buffer = memoryview(self._protocol.get_buffer(len(data))).cast("B")
                taken = min(len(data), len(buffer))
                buffer[:taken] = data[:taken]
                if taken < len(data):
                    arrived.appendleft(data[taken:])
                self.peer._was_read(taken)
                self._protocol.buffer_updated(taken)
            else:
                self.peer._was_read(len(data))
                self._protocol.data_received(data)

    # --- writing ---

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data or self._is_closing or self._has_ended:
            return
        sent = bytes(data)
        self._unread_bytes += len(sent)
        self._send(self.peer.arrive, sent)
        if self._unread_bytes > self._high_water_bytes and not self._writing_is_paused:
            self._writing_is_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._send(self.peer.arrive, _END_OF_STREAM)

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return self._unread_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low_water_bytes, self._high_water_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high_water_bytes = _HIGH_WATER_BYTES if high is None else high
        self._low_water_bytes = self._high_water_bytes // 4 if low is None else low

    def _was_read(self, size: int) -> None:
        self._unread_bytes -= size
        if self._writing_is_paused and self._unread_bytes <= self._low_water_bytes:
            self._writing_is_paused = False
            if not self._is_lost:
                self._soon(self._protocol.resume_writing)

    # --- the end ---

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        if self.ends_by_reset:
            self._send(self.peer.break_off)
        else:
            self.write_eof()
        self._lose(None)

    def abort(self) -> None:
        self.close()

    def _lose(self, error: Exception | None) -> None:
        self._is_lost = True
        self._arrived.clear()
        self._network.ends.pop(self, None)
        if self._protocol is not None:
            self._soon(self._protocol.connection_lost, error)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol  # type: ignore[no-any-return]

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def _send(self, arrive: Callable[..., None], *data: bytes) -> None:
        self._network.send(self, lambda: arrive(*data), self.peer._context)

    def _soon(self, callback: Callable[..., object], *arguments: object) -> None:
        self._network.loop.call_soon(callback, *arguments, context=self._context)


class SocketOfEnd:
    """What protocols look for on a transport's socket. There is none."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, end: End, own: tuple[str, int], other: tuple[str, int]) -> None:
        self._end = end
        self._own = own
        self._other = other

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        """Only SO_LINGER means anything here."""
        if (level, option) == (socket.SOL_SOCKET, socket.SO_LINGER) and isinstance(value, bytes):
            is_on, seconds = struct.unpack("hh" if len(value) == struct.calcsize("hh") else "ii", value)
            self._end.ends_by_reset = bool(is_on) and not seconds

    def getsockname(self) -> tuple[str, int]:
        return self._own

    def getpeername(self) -> tuple[str, int]:
        return self._other

    def fileno(self) -> int:
        return -1
