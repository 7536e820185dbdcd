"""The purgatory over random orders of events, expiries, forces and cancels, with completions that cause further ones.

The world is a count of events for each of four keys. An operation waits until the keys it watches have seen some number
of events together; an event raises the count and checks the key, as whoever changes anything must. After every step
nobody may be parked whose condition is true, and the books must balance.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from ottla.purgatory import NEVER_MS, DelayedOperation, Purgatory, Timer, VirtualClock
from tests.purgatory.scene import Keys

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ["a", "b", "c", "d"]
KEY = st.sampled_from(KEYS)
SOME_KEYS = st.lists(KEY, min_size=1, max_size=4, unique=True)
DEADLINE_IN_MS = st.none() | st.integers(min_value=-2, max_value=60) | st.integers(min_value=0, max_value=100_000)

Reaction = tuple[str, str] | None
REACTION: st.SearchStrategy[Reaction] = st.none() | st.tuples(st.sampled_from(["event", "new", "force", "cancel"]), KEY)


class Wait(DelayedOperation):
    """Waits until its keys have seen `events_wanted` events in all; completing it may set off something else."""

    def __init__(
        self, world: World, keys: list[str], events_wanted: int, deadline_ms: int | None, reaction: Reaction
    ) -> None:
        super().__init__(deadline_ms)
        self.world = world
        self.keys = keys
        self.events_wanted = events_wanted
        self.reaction = reaction
        self.answers = self.expirations = 0
        self.is_cancelled = False

    @property
    def condition(self) -> bool:
        return sum(self.world.events[key] for key in self.keys) >= self.events_wanted

    def try_complete(self) -> bool:
        return self.condition and self.force_complete()

    def on_complete(self) -> None:
        assert self.is_completed
        self.answers += 1
        self.world.react(self.reaction)

    def on_expiration(self) -> None:
        assert self.answers == 1
        assert self.world.clock.now_ms() >= self.deadline_ms
        self.expirations += 1


class World(RuleBasedStateMachine):
    """All that can happen to operations, each in any order."""

    waits = Bundle("waits")

    @initialize(purge_interval=st.sampled_from([0, 1, 3, 1000]))
    def start(self, purge_interval: int) -> None:
        self.clock = VirtualClock(wall_ms=0)
        self.timer = Timer(self.clock)
        self.purgatory: Purgatory[Wait] = Purgatory("World", self.timer, purge_interval)
        self.events: Counter[str] = Counter()
        self.all_waits: list[Wait] = []
        self.completions_claimed = 0  # by whoever got a True, or counted it
        self.is_watching = False

    @rule(
        target=waits,
        keys=SOME_KEYS,
        more_events=st.integers(min_value=0, max_value=4),
        deadline_in_ms=DEADLINE_IN_MS,
        reaction=REACTION,
        event_after=st.none() | st.integers(min_value=0, max_value=4),
    )
    def watch(
        self,
        keys: list[str],
        more_events: int,
        deadline_in_ms: int | None,
        reaction: Reaction,
        event_after: int | None,
    ) -> Wait:
        """A new operation comes; possibly an event happens while it is being watched."""
        seen = sum(self.events[key] for key in keys)
        deadline_ms = None if deadline_in_ms is None else self.clock.now_ms() + deadline_in_ms
        wait = Wait(self, keys, seen + more_events, deadline_ms, reaction)
        self.all_waits.append(wait)
        watched: list[str] = keys
        if event_after is not None:
            watched = Keys(keys, min(event_after, len(keys)), lambda: self.event(keys[0]))
        self.is_watching = True
        self.claim(self.purgatory.try_complete_else_watch(wait, watched))
        self.is_watching = False
        return wait

    @rule(key=KEY)
    def event(self, key: str) -> None:
        self.events[key] += 1
        self.claim(self.purgatory.check_and_complete(key))

    @rule(key=KEY)
    def false_alarm(self, key: str) -> None:
        """Nothing happened, and a key is checked nevertheless."""
        self.claim(self.purgatory.check_and_complete(key))

    @rule(wait=waits)
    def force(self, wait: Wait) -> None:
        could = not wait.is_completed
        assert wait.force_complete() == could
        self.completions_claimed += could

    @rule(wait=waits)
    def try_again(self, wait: Wait) -> None:
        """Also after completion, when it must do nothing."""
        self.claim(wait.try_complete())

    @rule(key=KEY)
    def cancel(self, key: str) -> None:
        """Those who waited are the caller's, who looks at each of them: the purgatory completes nobody by this."""
        waiting = {wait for wait in self.all_waits if self.is_watched(wait) and key in wait.keys}
        cancelled = self.purgatory.cancel_for_key(key)
        assert len(cancelled) == len(waiting)
        assert set(cancelled) == waiting
        for wait in cancelled:
            wait.is_cancelled = True
            wait.keys = [each for each in wait.keys if each != key]
            wait.events_wanted -= self.events[key]
        for wait in cancelled:
            self.claim(wait.try_complete())  # from within a walk of `key` it may be one that was to be tried next

    @rule(by_ms=st.integers(min_value=0, max_value=70) | st.integers(min_value=0, max_value=200_000))
    def pass_time(self, by_ms: int) -> None:
        expirations_before = self.purgatory.expired
        self.timer.advance_sync(by_ms)
        self.completions_claimed += self.purgatory.expired - expirations_before
        assert self.purgatory.lingering <= self.purgatory.purge_interval

    def claim(self, completions: int) -> None:
        self.completions_claimed += completions

    def react(self, reaction: Reaction) -> None:
        """What completing an operation sets off, from within its `on_complete`."""
        if reaction is None:
            return
        kind, key = reaction
        if kind == "cancel" and self.is_watching:
            return  # it would reach an operation that is only half watched
        react: dict[str, Callable[[], object]] = {
            "event": lambda: self.event(key),
            "new": lambda: self.watch_again(key),
            "force": lambda: self.force(self.all_waits[0]),
            "cancel": lambda: self.cancel(key),
        }
        react[kind]()

    def watch_again(self, key: str) -> None:
        """A successor under the same key, as a postponed join has one."""
        wait = Wait(self, [key], self.events[key] + 1, self.clock.now_ms() + 30, None)
        self.all_waits.append(wait)
        self.claim(self.purgatory.try_complete_else_watch(wait, [key]))

    @staticmethod
    def is_watched(wait: Wait) -> bool:
        return not wait.is_completed and wait._watch_count > 0

    @invariant()
    def everybody_is_answered_once(self) -> None:
        for wait in self.all_waits:
            assert wait.answers == wait.is_completed
            assert wait.expirations <= wait.answers
        completed = sum(wait.is_completed for wait in self.all_waits)
        assert completed == self.completions_claimed, "exactly one caller was told of each"
        assert self.purgatory.expired == sum(wait.expirations for wait in self.all_waits)

    @invariant()
    def nobody_is_parked_whose_condition_is_true(self) -> None:
        assert not [wait for wait in self.all_waits if self.is_watched(wait) and wait.condition]

    @invariant()
    def nobody_is_parked_beyond_a_deadline(self) -> None:
        """Each one that has a deadline and is neither completed nor cancelled is armed for it, and counted."""
        delayed = [
            wait
            for wait in self.all_waits
            if not (wait.is_completed or wait.is_cancelled) and wait.deadline_ms != NEVER_MS
        ]
        assert all(wait.is_pending for wait in delayed)
        assert self.purgatory.delayed == len(delayed)
        assert len(delayed) <= self.timer.size <= len(delayed) + 1, "the reaper may be pending besides"
        self.timer.check()

    @invariant()
    def every_place_is_counted(self) -> None:
        places = Counter(key for wait in self.all_waits if not wait.is_completed for key in wait.keys)
        lingering = [wait for wait in self.all_waits if wait.is_completed and wait._watch_count]
        assert self.purgatory.lingering == len(lingering)
        assert self.purgatory.watched == places.total() + sum(wait._watch_count for wait in lingering)
        assert set(places) <= set(self.purgatory.watched_keys)

    def teardown(self) -> None:
        """When every key has been looked at, only the living are watched, and no key is left without any."""
        if not hasattr(self, "purgatory"):
            return
        for key in KEYS:
            self.false_alarm(key)
        self.every_place_is_counted()
        assert self.purgatory.lingering == 0
        assert set(self.purgatory.watched_keys) == {
            key for wait in self.all_waits if not wait.is_completed for key in wait.keys
        }


World.TestCase.settings = settings(stateful_step_count=50)
test_nobody_waits_in_vain_and_nobody_is_answered_twice = World.TestCase
