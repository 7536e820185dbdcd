"""A connection without a socket: what comes, what is written, and whether the loop reads, are the test's."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from ottla.broker.network.connection import Connection
from ottla.broker.network.interception import InterceptedCall
from ottla.broker.network.listener import Listener, Shared
from ottla.protocol.headers import API_VERSIONS_KEY
from ottla.protocol.primitives import Message
from tests.broker.scene import Scene

#: ApiVersions v0, of a client that says nothing of itself.
BODY = API_VERSIONS_KEY.to_bytes(2, "big") + bytes(2) + bytes(4) + b"\xff\xff"
FRAME = len(BODY).to_bytes(4, "big") + BODY


class Transport:
    """What is written, and whether the loop reads."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_reading = True
        self.is_closed = False

    def get_extra_info(self, _name: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.is_closed = True


class Waits:
    """Lets requests wait until the test goes on with them."""

    def __init__(self) -> None:
        self.calls: list[InterceptedCall] = []

    def request(self, call: InterceptedCall) -> None:
        self.calls.append(call)

    def answer(self, call: InterceptedCall, response: Message | None) -> None:
        call.leave(response)


class Stage:
    """A connection, and what happens at both of its ends."""

    def __init__(self) -> None:
        self.shared = Shared()
        self.listener = Listener(Scene().nodes[1], self.shared)
        self.transport = Transport()
        self.connection = Connection(self.listener)

    async def __aenter__(self) -> Self:
        await self.listener.open("127.0.0.1", 0)
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.listener.stop_accepting()

    def connect(self) -> None:
        transport: Any = self.transport
        self.connection.connection_made(transport)

    def receive(self, data: bytes) -> None:
        while data:
            room: Any = self.connection.get_buffer(-1)
            size = min(len(room), len(data))
            room[:size], data = data[:size], data[size:]
            del room
            self.connection.buffer_updated(size)


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)
