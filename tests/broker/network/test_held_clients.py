"""Clients from whom nothing is taken up for a while, as while the virtual clock moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ottla.broker.network.connection import Connection
from ottla.broker.network.interception import InterceptedCall
from ottla.broker.network.limits import FRAME_BUFFER_BYTES_COUNTED
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


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    set_up = Stage()
    await set_up.listener.open("127.0.0.1", 0)
    yield set_up
    set_up.listener.stop_accepting()


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_comes_is_taken_up_afterwards(stage: Stage) -> None:
    """A loop may have read it before it heard that it was not to read."""
    stage.connect()
    stage.connection.hold()
    stage.receive(FRAME)
    await turn()
    assert (stage.transport.written, stage.transport.is_reading) == ([], False)
    stage.connection.let_go()
    await turn()
    assert (len(stage.transport.written), stage.transport.is_reading) == (1, True)


async def test_what_waits_behind_a_parked_request_waits_on(stage: Stage) -> None:
    """The parked one is answered; what is behind it would else be taken up in the middle of the move."""
    waits = Waits()
    stage.shared.routes.intercept(waits)
    stage.connect()
    stage.receive(FRAME + FRAME)
    stage.connection.hold()
    (first,) = waits.calls
    first.proceed()
    await turn()
    assert (len(stage.transport.written), len(waits.calls), stage.transport.is_reading) == (1, 1, False)
    stage.connection.let_go()
    await turn()
    assert len(waits.calls) == 2
    waits.calls[1].proceed()
    await turn()
    assert (len(stage.transport.written), stage.transport.is_reading) == (2, True)


async def test_a_large_request_waits_whole(stage: Stage) -> None:
    stage.connect()
    size = FRAME_BUFFER_BYTES_COUNTED + len(BODY)
    stage.receive(size.to_bytes(4, "big") + BODY + bytes(size - len(BODY)))
    stage.connection.hold()
    await turn()
    assert stage.transport.written == []
    stage.connection.let_go()
    while not stage.transport.written:
        await turn()
    assert stage.transport.is_reading


async def test_who_said_its_last_byte_is_closed_when_it_is_answered(stage: Stage) -> None:
    stage.connect()
    stage.connection.hold()
    stage.receive(FRAME)
    assert stage.connection.eof_received()
    await turn()
    assert not stage.transport.is_closed
    stage.connection.let_go()
    await turn()
    assert (len(stage.transport.written), stage.transport.is_closed) == (1, True)


async def test_who_connects_meanwhile_is_held_as_well(stage: Stage) -> None:
    stage.shared.are_clients_held = True
    stage.connect()
    stage.receive(FRAME)
    await turn()
    assert stage.transport.written == []
