"""The cast of the purgatory's tests: entries that note when they fire, operations with a switch for their condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.purgatory import DelayedOperation, Purgatory, Timer, TimerEntry, TimingWheel, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator


class Entry(TimerEntry):
    """A timer entry with a name."""

    __slots__ = ("__weakref__", "_name")

    def __init__(self, name: str = "entry") -> None:
        super().__init__()
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name

    def expire(self) -> None:
        raise AssertionError("whoever drives a bare wheel takes the entries out and expires none")


def names(entries: Iterable[TimerEntry]) -> list[str]:
    return [repr(entry) for entry in entries]


def fired_by(wheel: TimingWheel, now_ms: int) -> list[str]:
    """Move the wheel to `now_ms` and name what fires, in order; the wheel is checked before and after."""
    wheel.check()
    fired = names(wheel.due(now_ms))
    wheel.check()
    return fired


class Request(DelayedOperation):
    """An operation that can be completed once `is_ready`, and notes in `story` what became of it."""

    __slots__ = ("_name", "is_ready", "story", "tests", "then")

    def __init__(
        self,
        name: str = "request",
        deadline_ms: int | None = 100_000,
        *,
        story: list[str] | None = None,
        then: Callable[[], object] | None = None,
    ) -> None:
        """`then` is called by `on_complete`; `story` may be shared by several requests."""
        super().__init__(deadline_ms)
        self._name = name
        self.is_ready = False
        self.tests = 0
        self.story: list[str] = [] if story is None else story
        self.then = then

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self.name

    def try_complete(self) -> bool:
        self.tests += 1
        return self.is_ready and self.force_complete()

    def on_complete(self) -> None:
        self.story.append(f"{self.name} completed")
        if self.then is not None:
            self.then()

    def on_expiration(self) -> None:
        self.story.append(f"{self.name} expired")


class Scene:
    """A purgatory on a virtual clock at 0 ms, with no loop."""

    def __init__(self, purge_interval: int = 1000) -> None:
        self.clock = VirtualClock(wall_ms=0)
        self.timer = Timer(self.clock)
        self.purgatory: Purgatory[Request] = Purgatory("Scene", self.timer, purge_interval)
        self.story: list[str] = []

    def request(
        self, name: str, deadline_ms: int | None = 100_000, then: Callable[[], object] | None = None
    ) -> Request:
        return Request(name, deadline_ms, story=self.story, then=then)

    def wait(
        self,
        name: str,
        *keys: Hashable,
        deadline_ms: int | None = 100_000,
        then: Callable[[], object] | None = None,
    ) -> Request:
        """A request that waits under `keys`."""
        request = self.request(name, deadline_ms, then)
        assert not self.purgatory.try_complete_else_watch(request, keys)
        return request

    def pass_time(self, by_ms: int) -> None:
        self.timer.advance_sync(by_ms)


class Keys(list[str]):
    """Keys that let something happen after the first `after` of them have been gone through."""

    def __init__(self, keys: Iterable[str], after: int, event: Callable[[], object]) -> None:
        super().__init__(keys)
        self.after = after
        self.event = event

    def __iter__(self) -> Iterator[str]:
        for index, key in enumerate(super().__iter__()):
            if index == self.after:
                self.event()
            yield key
        if self.after >= len(self):
            self.event()
