"""A test of a group, of any kind, reads as the story it tells: `>>` what happens, `<<` what comes of it, `At` when.

    assert (
        Playbook(group)
        >> bo.beats() << bo.is_answered(ErrorCode.NONE)
        >> At(10_000)                                           # the session of ana, who is silent, has run out
        >> bo.beats() << bo.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        << Is(GroupState.PREPARING_REBALANCE)
    )

What comes of an event is its effects, in order, all of them: one that nobody expected fails the test, as does one that
does not come. Both columns are printed then, the playbook's and what happened. After each event `group.check()` holds,
and the timers that were armed are those that the group's state says are running.

Time stands still but for `At`, which fires each timer that is due on the way, at its time. Unless a test is about them,
three kinds of effects need not be expected: timers are kept, appends succeed and go to `log`, notes are passed over.
With `writes=True` an append waits for `Written()` or `NotWritten(error)`, one for each, oldest first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from ottla.coordinator.groups.kinds import KINDS
from ottla.coordinator.notes import Note
from ottla.coordinator.runtime.effects import Append, Arm, Completion, Disarm, Ended
from ottla.coordinator.runtime.events import AppendCompleted, TimerExpired
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from enum import Enum

    from ottla.coordinator.kinds.kind import Group
    from ottla.coordinator.runtime.effects import Effect
    from ottla.coordinator.runtime.records import Record


@dataclass(frozen=True)
class At:
    """It becomes this late, and timers due by then run out."""

    now_ms: int


@dataclass(frozen=True)
class Written:
    """The oldest append that waits is in the log."""


@dataclass(frozen=True)
class NotWritten:
    """The oldest append that waits has failed."""

    error: ErrorCode


@dataclass(frozen=True)
class Is:
    """Expected: the group is in this state now."""

    state: Enum


class Expected(Protocol):
    """What an effect should look like, where comparing it as a whole says too much."""

    def matches(self, effect: Effect, /) -> bool: ...


#: An event, or what makes one when its time comes.
Cue: TypeAlias = "At | Written | NotWritten | Callable[[], object] | object"
_Line: TypeAlias = "tuple[str, Any]"


class Playbook:
    """A script of events and the effects they should have, played by its `assert`."""

    def __init__(
        self, group: Group, *, now_ms: int = 0, timers: bool = False, writes: bool = False, notes: bool = False
    ) -> None:
        """`timers`, `writes`, `notes`: whether the playbook expects each of these effects."""
        self.group = group
        self.now_ms = now_ms
        self.log: list[Record] = []
        self.timers = group.deadlines
        """When each timer that is armed will run out."""
        self.is_ended = False
        self._expects: dict[type, bool] = {Arm: timers, Disarm: timers, Append: writes, Note: notes}
        self._script: list[_Line] = []
        self._happened: list[_Line] = []
        self._came: list[Effect] = []
        self._appends: list[Completion] = []

    def __rshift__(self, cue: Cue) -> Self:
        self._script.append((">>", cue))
        return self

    def __lshift__(self, expected: Effect | Expected | Is) -> Self:
        self._script.append(("<<", expected))
        return self

    def __bool__(self) -> bool:
        """Play the script; raise an `AssertionError` where it goes wrong. The book can be written on afterwards."""
        script, self._script = self._script, []
        for number, (direction, line) in enumerate(script):
            if direction == ">>":
                if self._came:
                    self._fail(script, number, f"nobody expected {self._came[0]}")
                self._cue(line)
            elif isinstance(line, Is):
                if self.group.state is not line.state:
                    self._fail(script, number, f"the group is {self.group.state.value}")
            elif not self._came:
                self._fail(script, number, "nothing came")
            elif not _matches(line, self._came[0]):
                self._fail(script, number, f"there came {self._came[0]}")
            else:
                self._came.pop(0)
        if self._came:
            self._fail(script, len(script), f"nobody expected {self._came[0]}")
        return True

    def __del__(self) -> None:
        if getattr(self, "_script", None):
            raise AssertionError(f"a playbook was written and never played: {self._script}")

    def _cue(self, cue: Any) -> None:
        if isinstance(cue, At):
            self._advance(cue.now_ms)
        elif isinstance(cue, Written | NotWritten):
            error = cue.error if isinstance(cue, NotWritten) else ErrorCode.NONE
            self._happen(AppendCompleted(self._appends.pop(0), error))
        else:
            self._happen(cue() if callable(cue) else cue)

    def _advance(self, now_ms: int) -> None:
        assert now_ms >= self.now_ms, "time does not go back"
        while due := [(deadline_ms, key) for key, deadline_ms in self.timers.items() if deadline_ms <= now_ms]:
            deadline_ms, timer_key = min(due)
            del self.timers[timer_key]
            self.now_ms = max(self.now_ms, deadline_ms)
            self._happen(TimerExpired(timer_key))
        self.now_ms = now_ms

    def _happen(self, event: object) -> None:
        self._happened.append((f"{self.now_ms:>7}", event))
        done: list[Completion] = []
        for effect in KINDS[type(self.group)].runtime.step(self.group, self.now_ms, event):
            self._happened.append(("", effect))
            if self._expects.get(effect.__class__, True):
                self._came.append(effect)
            self._keep(effect)
            if isinstance(effect, Append):
                self.log += effect.records
                (self._appends if self._expects[Append] else done).append(effect.completion)
        self.group.check()
        assert self.timers == self.group.deadlines, "the timers that were armed are those the group waits for"
        for completion in done:
            self._happen(AppendCompleted(completion, ErrorCode.NONE))

    def _keep(self, effect: Effect) -> None:
        if isinstance(effect, Arm):
            self.timers[effect.timer_key] = effect.deadline_ms
        elif isinstance(effect, Disarm):
            del self.timers[effect.timer_key]
        elif isinstance(effect, Ended):
            self.is_ended = True
            self.timers.clear()

    def _fail(self, script: list[_Line], number: int, problem: str) -> None:
        book = [f"{'->' if n == number else '  '} {direction} {line}" for n, (direction, line) in enumerate(script)]
        if number == len(script):
            book.append("-> (the end)")
        story = [f"{when:>7} {'   ' if not when else ''}{what}" for when, what in self._happened]
        self._came.clear()
        text = "\n".join([problem, "", "The playbook:", *book, "", "What happened:", *story])
        raise AssertionError(text)


def _matches(expected: Any, effect: Effect) -> bool:
    matches = getattr(expected, "matches", None)
    return bool(matches(effect)) if matches is not None else expected == effect
