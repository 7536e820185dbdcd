"""One blocking connection to a broker, in frames: a client that says what it is told and hides nothing.

Real clients never send a stale generation or a cut-off body, nor do they show which request closed the
connection. This one sends the bytes it is given and tells three endings apart: an answer, a closed
connection, and silence. It knows the frame (int32 size, then that many bytes) and the request header; what
the body means is its caller's business.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeAlias

from ottla.protocol.headers import encode_request_header

_SIZE: Final = struct.Struct(">i")


#: What has arrived is taken even when the time is over; 0 would mean not to wait in another way.
_MOMENT_SECONDS: Final = 0.001

#: Is told of bytes: were they sent, and which.
Tap: TypeAlias = Callable[[bool, bytes], None]


class ConnectionClosedError(Exception):
    """The broker ended the connection where an answer was awaited, or before it could be asked."""


class SilenceError(Exception):
    """No answer and no end of the connection within the time given."""


class FrameSizeError(ValueError):
    """What came does not begin as a frame does."""


#: No answer is longer. What claims to be is no answer of a broker, and nobody waits for its end.
FRAME_BYTES_MAX: Final = 100 << 20


class Connection:
    """A connection to `host:port`. Not for use from several threads.

    Each call takes up to `timeout_seconds`, unless it is given a time of its own.
    """

    def __init__(self, bootstrap: str, *, timeout_seconds: float = 10.0, tap: Tap | None = None) -> None:
        self._timeout_seconds = timeout_seconds
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._correlation_id = 0
        self._tap = tap

    def send(self, data: bytes) -> None:
        """Put bytes on the wire just as they are."""
        if self._tap is not None:
            self._tap(True, data)
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ConnectionClosedError from error
        except TimeoutError as error:  # the broker takes nothing in any more
            raise SilenceError from error

    def send_request(
        self, api_key: int, api_version: int, body: bytes, *, flexible: bool, client_id: str | None = "wire"
    ) -> int:
        """Send one request and return its correlation id; a flexible one gets an empty header tag section."""
        self._correlation_id += 1
        header = encode_request_header(api_key, api_version, self._correlation_id, client_id, flexible)
        self.send(_SIZE.pack(len(header) + len(body)) + header + body)
        return self._correlation_id

    @property
    def has_received(self) -> bool:
        """Whether bytes, or the end of the connection, are there at this moment."""
        poll = select.poll()  # and not select(), which knows no descriptor above 1023
        poll.register(self._socket, select.POLLIN)
        return bool(self._received) or bool(poll.poll(0))

    def receive_frame(self, *, timeout_seconds: float | None = None) -> bytes:
        """The next frame without its size; raises `ConnectionClosedError`, `SilenceError` or `FrameSizeError`.

        A frame that begins and does not end in time is silence too.
        """
        deadline = time.monotonic() + (timeout_seconds or self._timeout_seconds)
        try:
            prefix = self._receive_exactly(_SIZE.size, deadline)
            size: int = _SIZE.unpack(prefix)[0]
            if not 0 <= size <= FRAME_BYTES_MAX:
                raise FrameSizeError(f"a frame claims {size} bytes")
            frame = self._receive_exactly(size, deadline)
        finally:
            self._socket.settimeout(self._timeout_seconds)
        if self._tap is not None:
            self._tap(False, prefix + frame)
        return frame

    def receive_bytes(self, count: int) -> bytes:
        """The next so many bytes, whatever they are of."""
        return self._receive_exactly(count)

    def receive_rest(self) -> tuple[bytes, bool]:
        """All bytes until the connection ends, and whether a reset ended it; raises `SilenceError`."""
        received, self._received = bytes(self._received), bytearray()
        try:
            while data := self._socket.recv(65_536):
                received += data
        except TimeoutError as error:
            raise SilenceError from error
        except ConnectionResetError:
            return received, True
        return received, False

    def until_answered(self) -> None:
        """Return when there is something to receive, and leave it where it is."""
        self._socket.recv(1, socket.MSG_PEEK)

    @property
    def port(self) -> int:
        """The port at our end."""
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        self._socket.close()

    def end(self) -> None:
        """Say that nothing more will be sent, and go on listening."""
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close as a process that crashes does: the broker gets a reset, and what is on its way is lost."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def _receive_exactly(self, count: int, deadline: float | None = None) -> bytes:
        while len(self._received) < count:
            if deadline is not None:
                self._socket.settimeout(max(deadline - time.monotonic(), _MOMENT_SECONDS))
            try:
                data = self._socket.recv(max(65_536, count - len(self._received)))
            except TimeoutError as error:
                raise SilenceError from error
            except ConnectionResetError as error:
                raise ConnectionClosedError from error
            if not data:
                raise ConnectionClosedError
            self._received += data
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
