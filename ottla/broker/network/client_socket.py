"""The socket of a connection: what leaves by it, and how it ends.

Answers that are ready in one turn of the loop leave in one write. Large ones that a client does not read are counted,
for all clients together may have so many bytes of them (`Holdings`).

A part that keeps something for a connection, or because of it, adds a callback for the end of the connection
(`add_closed_callback`).
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from ottla.broker.network.limits import JOINED_ANSWER_BYTES_MAX, UNSENT_ANSWER_BYTES_MAX
from ottla.broker.network.routes import NotServed
from ottla.events.kind import Kind
from ottla.events.kinds.event_kind import EventKind
from ottla.pacing import TooCostly, own_bytes
from ottla.protocol.primitives import Buffer, DecodeError

if TYPE_CHECKING:
    from ottla.broker.network.holdings import Holdings
    from ottla.broker.node.broker_node import BrokerNode

#: SO_LINGER: on, for 0 seconds.
_NO_LINGER: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
#: How much is told of a refused frame, and of a reason, which may name what the client sent.
_SHOWN_BYTES: Final = 64
_REASON_CHARACTERS_MAX: Final = 1_000


class ClientSocket(asyncio.BufferedProtocol):
    """What a connection writes to."""

    __slots__ = (
        "_closed_callbacks",
        "_is_closed",
        "_out",
        "_out_bytes",
        "_out_bytes_max",
        "_transport",
        "_unread",
        "_unread_bytes",
        "_writing_is_paused",
        "client_host",
        "client_port",
        "node",
    )

    def __init__(self, node: BrokerNode, unread: Holdings) -> None:
        """`unread`: of all clients, what they don't read."""
        self.node = node
        self.client_host = ""
        self.client_port = 0
        self._transport: asyncio.Transport
        #: Answers whose turn has come, and their size.
        self._out: list[Buffer] = []
        self._out_bytes = 0
        #: With so many bytes they leave at once.
        self._out_bytes_max = UNSENT_ANSWER_BYTES_MAX
        self._unread = unread
        #: Of what was written since the client had read everything: large answers that are our own memory.
        self._unread_bytes = 0
        self._writing_is_paused = False
        self._is_closed = False
        #: Called when the connection is gone, in this order; None: it is gone.
        self._closed_callbacks: tuple[Callable[[Any], object], ...] | None = ()

    # --- from the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        peer = transport.get_extra_info("peername")
        self.client_host, self.client_port = (f"/{peer[0]}", peer[1]) if peer else ("/", 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closed = True
        self._out.clear()
        callbacks, self._closed_callbacks = self._closed_callbacks, None
        for callback in callbacks or ():
            self._call_closed(callback)

    def pause_writing(self) -> None:
        self._writing_is_paused = True
        self._transport.pause_reading()
        self._unread.hold(self, self._unread_bytes)

    def resume_writing(self) -> None:
        self._writing_is_paused = False
        self._unread_bytes = 0
        self._unread.hold(self, 0)

    # --- writing ---

    def write_ready(self) -> None:
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
            self._unread.hold(self, self._unread_bytes)

    # --- closing ---

    def add_closed_callback(self, callback: Callable[[Any], object]) -> None:
        """Call this with the connection when it is gone, by whichever side; at once if it is gone already.

        Callbacks are called once each, in the order in which they were added. One that raises is told, and the others
        are called all the same.
        """
        if self._closed_callbacks is None:
            self._call_closed(callback)
        elif callback not in self._closed_callbacks:
            self._closed_callbacks += (callback,)

    def remove_closed_callback(self, callback: Callable[[Any], object]) -> None:
        """Do not call it any more, if it was to be called."""
        if self._closed_callbacks:
            self._closed_callbacks = tuple(one for one in self._closed_callbacks if one != callback)

    def _call_closed(self, callback: Callable[[Any], object]) -> None:
        try:
            callback(self)
        except Exception as error:
            node, client_host = self.node, self.client_host
            node.events.tell(
                Kind.CONNECTION_CALLBACK_FAILED, node_id=node.node_id, raised=error, client_host=client_host
            )

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will leave."""
        return self._is_closed

    @property
    def peer(self) -> tuple[str, int]:
        """The client's host and port; "" and 0 when it was gone before it was asked for."""
        host, port, *_ = self._transport.get_extra_info("peername") or ("", 0)
        return host, port

    def close(self) -> None:
        """Close when what is written has left. Requests that are not answered yet will not be."""
        self.write_ready()
        self._is_closed = True
        self._transport.close()

    def abort(self) -> None:
        """Close at once, whatever has not left yet."""
        self._is_closed = True
        self._transport.abort()

    def reset(self) -> None:
        """Break the connection off as a process that crashes does: the client gets a reset."""
        self._dont_linger()
        self.abort()

    def _dont_linger(self) -> None:
        """Have the socket's end be a reset."""
        with suppress(OSError):  # it is broken off already
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)

    def give_up(self, reason: str) -> None:
        """Close at once because the client has too much of what all clients share."""
        self._tell(Kind.CONNECTION_REFUSED, reason=reason, frame="")
        self.abort()

    def refuse(self, reason: str, frame: bytes = b"") -> None:
        """Close because of something the client sent, and say why."""
        shown = frame[:_SHOWN_BYTES].hex(" ")
        self._tell(Kind.CONNECTION_REFUSED, reason=reason[:_REASON_CHARACTERS_MAX], frame=shown)
        self.close()

    def refuse_foreign(self, reason: str) -> None:
        """Close because the client speaks another protocol."""
        self.node.events.tell(
            Kind.CONNECTION_FOREIGN, node_id=self.node.node_id, client_host=self.client_host, reason=reason
        )
        self.close()

    def _refuse_frame(self, frame: bytes, error: Exception) -> None:
        """Close because of what was raised by a frame."""
        if isinstance(error, NotServed):
            self.refuse(str(error), frame)
        elif isinstance(error, (DecodeError, TooCostly, struct.error, IndexError)):
            self.refuse(f"a frame of {len(frame)} bytes does not parse: {error}", frame)
        else:
            self._tell(Kind.CONNECTION_FAILED, raised=error, frame=frame[:_SHOWN_BYTES].hex(" "))
            self.close()

    def _tell(self, kind: EventKind, *, frame: str, reason: str | None = None, raised: Exception | None = None) -> None:
        node, client_host = self.node, self.client_host
        node.events.tell(kind, node_id=node.node_id, raised=raised, client_host=client_host, reason=reason, frame=frame)
