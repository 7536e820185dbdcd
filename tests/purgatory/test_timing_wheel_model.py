"""The timing wheel against a dict of deadlines, over random adds, cancels, postponements and passages of time.

The wheel has 2, 3 or 20 buckets: the small ones reach many overflow wheels and every edge within few steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.purgatory import TimingWheel
from tests.purgatory.scene import Entry

if TYPE_CHECKING:
    from ottla.purgatory import TimerEntry

NEAR_MS = st.integers(min_value=-2, max_value=25)
EDGE_MS = st.builds(
    lambda buckets, level, times, offset_ms: times * buckets**level + offset_ms,
    st.sampled_from([2, 3, 20]),
    st.integers(min_value=0, max_value=6),
    st.integers(min_value=1, max_value=3),
    st.integers(min_value=-1, max_value=1),
)
FAR_MS = st.integers(min_value=0, max_value=2**45)
DELAY_MS = NEAR_MS | NEAR_MS | EDGE_MS | FAR_MS


class WheelAndDict(RuleBasedStateMachine):
    """Every step is done to the wheel and to `deadlines_ms`, and both must say the same of who fires when."""

    entries = Bundle("entries")

    @initialize(start_ms=st.integers(min_value=0, max_value=10_000), bucket_count=st.sampled_from([2, 3, 20]))
    def start(self, start_ms: int, bucket_count: int) -> None:
        self.wheel = TimingWheel(start_ms, bucket_count)
        self.now_ms = start_ms
        self.deadlines_ms: dict[TimerEntry, int] = {}
        self.added = self.fired = self.cancelled = 0

    @rule(target=entries, delay_ms=DELAY_MS)
    def add_new(self, delay_ms: int) -> Entry:
        entry = Entry()
        self.add(entry, delay_ms)
        return entry

    @rule(entry=entries, delay_ms=DELAY_MS)
    def add(self, entry: Entry, delay_ms: int) -> None:
        deadline_ms = self.now_ms + delay_ms
        self.added += entry not in self.deadlines_ms
        self.deadlines_ms[entry] = deadline_ms
        due_ms = self.wheel.add(entry, deadline_ms)
        assert due_ms <= max(deadline_ms, self.now_ms), "its bucket is due in time"

    @rule(entry=entries, delay_ms=DELAY_MS)
    def postpone(self, entry: Entry, delay_ms: int) -> None:
        deadline_ms = self.now_ms + delay_ms
        self.added += entry not in self.deadlines_ms
        self.deadlines_ms[entry] = deadline_ms
        self.wheel.postpone(entry, deadline_ms)

    @rule(entry=entries, by_ms=st.sampled_from([-2, -1, 1, 2, 3, 20, 45]))
    def postpone_a_little(self, entry: Entry, by_ms: int) -> None:
        """From wherever its deadline is now, as a heartbeat does."""
        self.postpone(entry, entry.deadline_ms + by_ms - self.now_ms)

    @rule(entry=entries)
    def cancel(self, entry: Entry) -> None:
        was_pending = self.deadlines_ms.pop(entry, None) is not None
        self.cancelled += was_pending
        assert self.wheel.cancel(entry) == was_pending

    @rule(by_ms=st.integers(min_value=0, max_value=60) | EDGE_MS.filter(lambda ms: ms > 0) | FAR_MS)
    def jump(self, by_ms: int) -> None:
        """Time passes in one go: all due by then fire, in the order of deadlines, and nobody else."""
        self.now_ms += by_ms
        due = [deadline_ms for deadline_ms in self.deadlines_ms.values() if deadline_ms <= self.now_ms]
        overdue_ms = self.wheel.clock_ms  # what was due before the wheel was last looked at has no order
        fired_ms = [max(self.take(entry), overdue_ms) for entry in self.wheel.due(self.now_ms)]
        assert fired_ms == sorted(max(deadline_ms, overdue_ms) for deadline_ms in due)

    @precondition(lambda self: self.deadlines_ms)
    @rule(looks_max=st.integers(min_value=1, max_value=20))
    def sleep(self, looks_max: int) -> None:
        """Time passes from one due bucket to the next, as it does for a sleeper: everybody fires exactly on time."""
        for _ in range(looks_max):
            next_ms = self.wheel.next_deadline_ms()
            if next_ms is None:
                assert not self.deadlines_ms
                return
            slept_ms, self.now_ms = self.now_ms, max(next_ms, self.now_ms)
            for entry in self.wheel.due(self.now_ms):
                deadline_ms = self.take(entry)
                assert deadline_ms == self.now_ms or deadline_ms <= slept_ms

    @rule(by_ms=st.integers(min_value=0, max_value=60) | FAR_MS, data=st.data())
    def jump_and_react(self, by_ms: int, data: st.DataObject) -> None:
        """As `jump`, but each entry that fires may cancel, postpone or add another one, or itself again."""
        self.now_ms += by_ms
        touched: set[TimerEntry] = set()
        due = {entry for entry, deadline_ms in self.deadlines_ms.items() if deadline_ms <= self.now_ms}
        fired = set()
        for entry in self.wheel.due(self.now_ms):
            self.take(entry)
            fired.add(entry)
            other = data.draw(st.sampled_from([entry, *self.deadlines_ms]))
            reaction = data.draw(st.sampled_from(["none", "cancel", "postpone", "add"]))
            if reaction != "none":
                touched.add(other)
            if reaction == "cancel":
                self.cancel(other)
            elif reaction == "postpone":
                self.postpone(other, data.draw(DELAY_MS))
            elif reaction == "add":
                self.add(other, data.draw(DELAY_MS))
        assert due - touched <= fired <= due | touched

    @invariant()
    def everybody_is_accounted_for(self) -> None:
        self.wheel.check()
        assert self.wheel.size == len(self.deadlines_ms) == self.added - self.fired - self.cancelled

    @invariant()
    def nobody_is_looked_at_too_late(self) -> None:
        next_ms = self.wheel.next_deadline_ms()
        assert (next_ms is None) == (not self.deadlines_ms)
        if next_ms is not None:
            assert next_ms <= max(min(self.deadlines_ms.values()), self.wheel.clock_ms)

    def take(self, entry: TimerEntry) -> int:
        """An entry fires: it was waiting, and its time has come. Return its deadline."""
        deadline_ms = self.deadlines_ms.pop(entry)
        assert deadline_ms == entry.deadline_ms <= self.now_ms
        self.fired += 1
        return deadline_ms


WheelAndDict.TestCase.settings = settings(max_examples=4 * settings().max_examples, stateful_step_count=50)
test_the_wheel_equals_a_dict_of_deadlines = WheelAndDict.TestCase
