"""Tasks, rounds and services of which one fails and the others go on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from ottla.broker.upkeep.periodic_task import PAUSE_MS_MIN, PeriodicTask
from ottla.broker.upkeep.supervision import SupervisedTasks
from ottla.log.job import Job
from tests.broker.log_scene import LogScene
from tests.broker.scene import Scene
from tests.support.told import Told


async def test_a_task_that_raises_ends_no_other() -> None:
    """Nor the group of tasks; its result is None. What is raised by a task can be awaited by nobody."""
    log, go_on = Told(), asyncio.Event()

    async def sick() -> int:
        raise ZeroDivisionError("on purpose")

    async def sound() -> int:
        await go_on.wait()
        return 7

    async with SupervisedTasks(log) as tasks:
        ended, living = tasks.create_task(sick(), name="sick"), tasks.create_task(sound())
        assert await ended is None
        go_on.set()
        assert await living == 7
    assert log.named("task.failed") == [{"task": "sick", "reason": "ZeroDivisionError: on purpose"}]


async def test_a_task_can_be_cancelled() -> None:
    """That is no failure."""
    log = Told()
    async with SupervisedTasks(log) as tasks:
        task = tasks.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
    assert not log.events


async def test_what_the_body_raises_is_not_wrapped() -> None:
    """So who serves can refuse in a line; the tasks that are left end with it."""
    left: list[asyncio.Task[Any]] = []

    async def fail() -> None:
        async with SupervisedTasks(Told()) as tasks:
            left.append(tasks.create_task(asyncio.Event().wait()))
            raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        await fail()
    assert left[0].cancelled()


def test_each_service_is_closed() -> None:
    """The last one first, whichever of them fails at it."""
    scene, closed = Scene(), list[str]()

    class Sound:
        is_settled = True

        def close(self) -> None:
            closed.append(type(self).__name__)

    class Sick(Sound):
        def close(self) -> None:
            super().close()
            raise ZeroDivisionError("on purpose")

    for service in (Sound(), Sick(), Sound()):
        scene.services.enter(service)
    scene.services.close()
    assert closed == ["Sound", "Sick", "Sound"]
    (told,) = scene.log.named("close.failed")
    assert isinstance(told.pop("exc_info"), ZeroDivisionError)
    assert told == {"service": "Sick", "reason": "ZeroDivisionError: on purpose"}


class TestRounds:
    def test_a_pause_is_never_shorter_than_it_has_to_be(self) -> None:
        """However short the interval is set, but for the first round."""
        scene, begun = LogScene(), []
        PeriodicTask(
            scene.timer,
            scene.services.background,
            scene.events,
            "work",
            lambda: begun.append(scene.clock.now_ms()),
            lambda: 0,
        ).start()
        scene.advance(3 * PAUSE_MS_MIN)
        assert begun == [0, PAUSE_MS_MIN, 2 * PAUSE_MS_MIN, 3 * PAUSE_MS_MIN]

    def test_a_pause_without_end_is_none(self) -> None:
        """Nothing is armed."""
        scene = LogScene()
        PeriodicTask(
            scene.timer,
            scene.services.background,
            scene.events,
            "work",
            lambda: pytest.fail("never"),
            lambda: 2**63 - 1,
        ).start()
        assert scene.timer.size == 0

    async def test_no_round_begins_before_the_one_before_it_is_over(self) -> None:
        """A round may take longer than the interval; then the pause comes after it."""
        async with SupervisedTasks(Told()) as tasks:
            scene = Scene(tasks=tasks, loop=asyncio.get_running_loop())
            timer, background = scene.timer, scene.services.background
            begun, is_over = 0, False

            def work() -> Job:
                nonlocal begun
                begun += 1
                while not is_over:
                    yield

            PeriodicTask(timer, background, scene.events, "work", work, lambda: 1_000).start()
            await timer.advance(10_000)
            assert begun == 1
            is_over = True
            await timer.advance(999, lambda: background.is_settled)
            assert begun == 1
            await timer.advance(1, lambda: background.is_settled)
            assert begun == 2
            timer.close()
