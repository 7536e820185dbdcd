"""What runs without a client waiting for it, and what becomes of it when a bug of ours ends it: nothing else does.

    tasks    an exception ends the task and no other; the group of tasks goes on
    timer    an alarm that fails is over, and the other alarms ring

Each is told, with the traceback, and once as long as it is for the same reason. The broker ends for nothing but a
signal. A reader of events that fails at one keeps no other reader from it: the stream sees to that. What runs again
and again is a `PeriodicTask`, what is done a little at a time a job of `Background`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of

if TYPE_CHECKING:
    from types import TracebackType

    from ottla.events.stream import Stream
    from ottla.purgatory import TimerEntry

T = TypeVar("T")

#: What failed so long ago is told again.
_QUIET_MS: Final = 3_600_000


class SupervisedTasks(asyncio.TaskGroup):
    """A group of tasks in which an exception ends one task: its result is None then, and the traceback is told.

    What the body of the `async with` raises leaves it as it is, not in an ExceptionGroup.
    """

    def __init__(self, events: Stream) -> None:
        super().__init__()
        self._events = events

    def create_task(self, coro: Coroutine[Any, Any, T], **keys: Any) -> asyncio.Task[T | None]:  # type: ignore[override]
        task = super().create_task(self._supervise(coro, keys.get("name")), **keys)
        task.add_done_callback(lambda _task: coro.close())  # one that is cancelled before its first step has not begun
        return task

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, traceback)
        except BaseExceptionGroup:
            if error is None:
                raise
            raise error from None

    async def _supervise(self, coro: Coroutine[Any, Any, T], name: str | None) -> T | None:
        try:
            return await coro
        except Exception as error:
            self._events.tell(Kind.TASK_FAILED, raised=error, task=name, reason=reason_of(error))
            return None


class TimerErrors:
    """Takes the errors of alarms and of operations in purgatories, while they are being handled."""

    def __init__(self, events: Stream) -> None:
        self._events = events
        self._setbacks: Setbacks[str] = Setbacks(events.now_ms, _QUIET_MS)

    def __call__(self, error: Exception, entry: TimerEntry) -> None:
        if self._setbacks.failed(entry.name, error):
            self._events.tell(Kind.TIMER_FAILED, raised=error, timer=entry.name, reason=reason_of(error))
