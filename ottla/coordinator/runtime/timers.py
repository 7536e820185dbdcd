"""The timers of one machine: delayed operations, each in the purgatory that its kind says.

A timer completes when the machine lets go of it, or expires and puts itself into the machine's inbox. By the time it is
taken out it may have been armed anew or stopped; then another operation has its place, or none, and it means nothing.
Moving a deadline, as each heartbeat does, is `Timer.postpone`: next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

from ottla.purgatory import DelayedOperation, Purgatory, Timer


@final
class MachineTimer(DelayedOperation):
    """A timer of a machine. It completes when the machine lets go of it, and tells the machine when it expires."""

    __slots__ = ("is_released", "post", "purgatory", "timer_key")

    def __init__(
        self,
        post: Callable[[MachineTimer], None],
        timer_key: str,
        deadline_ms: int,
        purgatory: Purgatory[MachineTimer],
    ) -> None:
        super().__init__(deadline_ms)
        self.post = post
        self.timer_key = timer_key
        self.purgatory = purgatory
        self.is_released = False

    def try_complete(self) -> bool:
        return self.is_released and self.force_complete()

    def on_complete(self) -> None:
        """Nothing is to be done: answers leave by the machine's own doing."""

    def on_expiration(self) -> None:
        self.post(self)


class Timers:
    """The timers that a machine has armed."""

    __slots__ = ("_armed", "_key", "_post", "_purgatories", "_timer", "purgatory_of")

    def __init__(
        self,
        key: str,
        timer: Timer,
        purgatories: Mapping[str, Purgatory[MachineTimer]],
        purgatory_of: Callable[[str], str],
        post: Callable[[MachineTimer], None],
    ) -> None:
        """`key`: the machine's, under which its timers are watched; `post`: what an expired timer is given to."""
        self.purgatory_of = purgatory_of
        """The name of the purgatory that the timer of this key is to wait in."""
        self._key = key
        self._timer = timer
        self._purgatories = purgatories
        self._post = post
        self._armed: dict[str, MachineTimer] = {}

    def arm(self, timer_key: str, deadline_ms: int) -> None:
        """Let it run out at this instant of the timers' clock; if it runs already, move it there."""
        timer = self._armed.get(timer_key)
        if timer is not None and not timer.is_completed:
            self._timer.postpone(timer, deadline_ms)
            return
        purgatory = self._purgatories[self.purgatory_of(timer_key)]
        timer = self._armed[timer_key] = MachineTimer(self._post, timer_key, deadline_ms, purgatory)
        purgatory.try_complete_else_watch(timer, [(self._key, timer_key)])

    def disarm(self, timer_key: str) -> None:
        """Stop it, if it runs."""
        timer = self._armed.pop(timer_key, None)
        if timer is not None:
            self._release(timer)

    @property
    def armed(self) -> Mapping[str, MachineTimer]:
        """Those that run, by key. To look at."""
        return self._armed

    def let_expire(self, timer: MachineTimer) -> bool:
        """Whether an expired timer still matters: it does if nothing has taken its place since."""
        is_current = self._armed.get(timer.timer_key) is timer
        if is_current:
            del self._armed[timer.timer_key]
        self._release(timer)
        return is_current

    def disarm_all(self) -> None:
        """Stop all that run."""
        while self._armed:
            self._release(self._armed.popitem()[1])

    def _release(self, timer: MachineTimer) -> None:
        timer.is_released = True
        timer.purgatory.check_and_complete((self._key, timer.timer_key))
