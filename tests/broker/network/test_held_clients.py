"""Clients from whom nothing is taken up for a while, as while the virtual clock moves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ottla.broker.network.limits import FRAME_BUFFER_BYTES_COUNTED
from tests.broker.network.stage import BODY, FRAME, Stage, Waits, turn


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with Stage() as set_up:
        yield set_up


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
