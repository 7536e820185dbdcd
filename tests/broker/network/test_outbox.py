"""When answers leave that were not given in the turn of their own connection: in which order, and with what."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ottla.broker.network.outbox import WRITTEN_TOGETHER, Outbox
from tests.broker.network.stage import turn


class Sender:
    """A connection that tells what is done with it."""

    def __init__(self, told: list[str], name: str, *, raises: bool = False) -> None:
        self._told = told
        self._name = name
        self._raises = raises

    def write_ready(self) -> None:
        self._told.append(f"write {self._name}")
        if self._raises:
            raise RuntimeError(self._name)

    def flush(self) -> None:
        self._told.append(f"flush {self._name}")
        if self._raises:
            raise RuntimeError(self._name)


def in_loop(tell: Callable[[Outbox, list[str]], Awaitable[None]]) -> list[str]:
    """What was done with the connections, in order."""
    told: list[str] = []
    asyncio.run(_run(tell, told))
    return told


async def _run(tell: Callable[[Outbox, list[str]], Awaitable[None]], told: list[str]) -> None:
    await tell(Outbox(), told)
    await turn()


def test_all_are_flushed_in_the_next_turn_in_the_order_they_came() -> None:
    async def put(outbox: Outbox, told: list[str]) -> None:
        for name in "abc":
            outbox.put(Sender(told, name))

    assert in_loop(put) == ["flush a", "flush b", "flush c"]


def test_who_wants_it_earlier_has_them_written_to_and_they_still_go_on_in_the_next_turn() -> None:
    async def put(outbox: Outbox, told: list[str]) -> None:
        outbox.put(Sender(told, "a"))
        outbox.write()
        outbox.write()
        outbox.put(Sender(told, "b"))
        outbox.write()

    assert in_loop(put) == ["write a", "write b", "flush a", "flush b"]


def test_of_many_the_first_are_written_to_while_others_are_still_put_in() -> None:
    """All but the last, for which there may be more to come."""

    async def put(outbox: Outbox, told: list[str]) -> None:
        for number in range(WRITTEN_TOGETHER):
            outbox.put(Sender(told, f"{number}"))
        assert not told
        outbox.put(Sender(told, "last"))
        assert told == [f"write {number}" for number in range(WRITTEN_TOGETHER)]
        told.clear()

    assert in_loop(put)[-1] == "flush last"


def test_one_that_raises_leaves_the_others_their_turn(caplog: pytest.LogCaptureFixture) -> None:
    async def put(outbox: Outbox, told: list[str]) -> None:
        for name in "abc":
            outbox.put(Sender(told, name, raises=name == "a"))

    assert in_loop(put) == ["flush a", "flush b", "flush c"]
    assert "RuntimeError: a" in caplog.text


def test_nor_does_one_that_can_not_be_written_to_keep_the_others_from_it(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever is answered just then has no part in it either, and has its turn as ever."""

    async def put(outbox: Outbox, told: list[str]) -> None:
        for number in range(WRITTEN_TOGETHER):
            outbox.put(Sender(told, f"{number}", raises=number == 0))
        outbox.put(Sender(told, "last"))
        outbox.write()

    told = in_loop(put)
    names = [*map(str, range(WRITTEN_TOGETHER)), "last"]
    assert told == [f"write {name}" for name in names] + [f"flush {name}" for name in names]
    assert "RuntimeError: 0" in caplog.text


def test_what_is_put_in_while_others_are_flushed_has_its_own_turn() -> None:
    async def put(outbox: Outbox, told: list[str]) -> None:
        class Again(Sender):
            def flush(self) -> None:
                super().flush()
                outbox.put(Sender(told, "b"))
                told.append("end of a")

        outbox.put(Again(told, "a"))

    assert in_loop(put) == ["flush a", "end of a", "flush b"]
