"""What runs without a client waiting for it, and what becomes of it when a bug of ours ends it: nothing else does.

    tasks        an exception ends the task and no other; the group of tasks goes on
    timer        an alarm that fails is over, and the other alarms ring
    listeners    who hears of a change and fails at it keeps nobody else from hearing

Each is said in the log, with the traceback, and once as long as it is for the same reason. The broker ends for nothing
but a signal. What runs again and again is a `Round`, what is done a little at a time a job of `Background`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.broker.setbacks import Setbacks, reason_of

if TYPE_CHECKING:
    from types import TracebackType

    from ottla.broker.log import Log
    from ottla.purgatory import Clock, TimerEntry

T = TypeVar("T")

#: What failed so long ago is told again.
_QUIET_MS: Final = 3_600_000


class SupervisedTasks(asyncio.TaskGroup):
    """A group of tasks in which an exception ends one task: its result is None then, and the log has the traceback.

    What the body of the `async with` raises leaves it as it is, not in an ExceptionGroup.
    """

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

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
            self._log.exception("task.failed", task=name, reason=reason_of(error))
            return None


class TimerErrors:
    """Takes the errors of what the timer calls, and of who waits in a purgatory, while they are being handled."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._setbacks: Setbacks[str] = Setbacks(clock, _QUIET_MS)

    def __call__(self, error: Exception, entry: TimerEntry) -> None:
        if self._setbacks.failed(entry.name, error):
            self._log.exception("timer.failed", timer=entry.name, reason=reason_of(error))


def tell(log: Log, listeners: Iterable[Callable[..., object]], *what: object) -> None:
    """Call every listener. For those to whom nobody would listen if they failed."""
    for listener in listeners:
        try:
            listener(*what)
        except Exception as error:
            name = getattr(listener, "__qualname__", repr(listener))
            log.exception("change.failed", listener=name, reason=reason_of(error))
