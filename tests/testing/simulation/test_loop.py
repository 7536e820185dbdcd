"""The loop of a simulation: time passes where nobody has anything to do, and nothing gets out of it."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ottla.testing import Simulation
from ottla.testing.simulation.refused import NothingWillHappen, NotSimulated
from ottla.testing.simulation.simulated_broker import SimulatedBroker

Check = Callable[[asyncio.AbstractEventLoop], Coroutine[Any, Any, object]]


def tell(story: Callable[[SimulatedBroker], Coroutine[Any, Any, Any]], seed: int = 0, **options: Any) -> Any:
    return Simulation(seed, **options).run(story)


def test_an_hour_takes_no_time_and_every_clock_knows() -> None:
    """The loop's, `time`'s two, the date in 2026, and the broker's."""

    async def story(kafka: SimulatedBroker) -> tuple[float, ...]:
        began = asyncio.get_running_loop().time(), time.monotonic(), time.time(), kafka.now_ms / 1000
        await asyncio.sleep(3_000)
        ended = asyncio.get_running_loop().time(), time.monotonic(), time.time(), kafka.now_ms / 1000
        assert time.gmtime(time.time()).tm_year == 2026
        return tuple(end - begin for begin, end in zip(began, ended, strict=True))

    assert tell(story) == pytest.approx((3_000,) * 4, abs=0.01)


def test_outside_everything_is_as_it_was() -> None:
    """Other threads never see it, and afterwards nothing is left of it: not in `time`, `os` or `random`."""
    functions = time.time, time.monotonic, time.time_ns, time.monotonic_ns, time.sleep, os.urandom
    random.seed(1)
    expected = random.random()
    random.seed(1)

    async def story(_: SimulatedBroker) -> float:
        assert not gc.isenabled()
        seen: list[float] = []
        thread = threading.Thread(target=lambda: seen.append(time.time()))
        thread.start()
        thread.join()
        random.random()
        return seen[0] - time.time()

    assert abs(tell(story)) > 86_400
    assert (time.time, time.monotonic, time.time_ns, time.monotonic_ns, time.sleep, os.urandom) == functions
    assert random.random() == expected
    assert gc.isenabled()


def test_time_passes_for_who_looks_at_the_clock_again_and_again() -> None:
    """A loop of `sleep(0)` until some instant comes to an end, and `time.sleep` holds everybody up."""

    async def story(_: SimulatedBroker) -> float:
        until = time.monotonic() + 0.05
        while time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0)
        time.sleep(2)  # noqa: ASYNC251
        return time.monotonic() - until

    assert tell(story) == pytest.approx(2, abs=0.01)


def test_the_seed_decides_what_is_left_to_chance() -> None:
    """Dice, uuids, and who of those that are ready goes first."""

    async def story(_: SimulatedBroker) -> list[object]:
        order: list[object] = []

        async def say(name: str) -> None:
            order.append(name)

        async with asyncio.TaskGroup() as tasks:
            for name in "abcdef":
                tasks.create_task(say(name))
        return [*order, random.random(), str(uuid.uuid4())]

    first = tell(story, 1)
    assert tell(story, 1) == first
    others = [tell(story, seed) for seed in range(2, 6)]
    assert all(a != b for other in others for a, b in zip(first[-2:], other[-2:], strict=True))
    assert len({tuple(other[:6]) for other in others}) > 1


def test_callbacks_keep_their_order() -> None:
    """`call_soon` promises it: first come, first served."""

    async def story(_: SimulatedBroker) -> list[int]:
        order: list[int] = []
        for number in range(20):
            asyncio.get_running_loop().call_soon(order.append, number)
        await asyncio.sleep(0.001)
        return order

    assert tell(story, 3) == list(range(20))


def test_who_waits_for_ever_is_told() -> None:
    """By name, after limit_s; the broker's own rounds go on, so it would never end."""

    async def lonely() -> None:
        await asyncio.Event().wait()

    async def story(_: SimulatedBroker) -> None:
        await asyncio.create_task(lonely(), name="ana")

    with pytest.raises(NothingWillHappen, match=r"not over after 60 s: .*ana \(.*lonely\)"):
        tell(story, limit_s=60)


def test_a_function_for_an_executor_runs_at_once() -> None:
    """In the same thread; what it raises comes to who awaits it."""

    async def story(_: SimulatedBroker) -> None:
        assert await asyncio.to_thread(threading.get_ident) == threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)

    tell(story)


@pytest.mark.parametrize(
    "leave",
    [
        lambda loop: loop.create_connection(asyncio.Protocol, "127.0.0.1", 9092, ssl=True),
        lambda loop: loop.create_datagram_endpoint(asyncio.DatagramProtocol),
        lambda _: asyncio.create_subprocess_exec("true"),
    ],
    ids=["TLS", "UDP", "process"],
)
def test_nothing_gets_out(leave: Check) -> None:
    """What is not simulated is refused, with what to do instead."""

    async def story(_: SimulatedBroker) -> None:
        with pytest.raises(NotSimulated, match=r"ottla\.testing\.Broker"):
            await leave(asyncio.get_running_loop())

    tell(story)


def test_another_thread_is_refused() -> None:
    """It would come at a moment that no seed decides."""

    async def story(_: SimulatedBroker) -> None:
        loop, refused = asyncio.get_running_loop(), list[Exception]()

        def disturb() -> None:
            try:
                loop.call_soon_threadsafe(print)
            except NotSimulated as error:
                refused.append(error)

        thread = threading.Thread(target=disturb)
        thread.start()
        thread.join()
        assert refused

    tell(story)


def test_who_overhears_that_it_is_cancelled_is_told_again() -> None:
    """A program that goes on after the first time does not hold up the end, and what it starts then ends too."""
    said: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            said.append("no")
        await asyncio.gather(asyncio.Event().wait())

    async def story(kafka: SimulatedBroker) -> None:
        kafka.host("ana").run(stubborn())
        await asyncio.sleep(1)

    tell(story)
    assert said == ["no"]
