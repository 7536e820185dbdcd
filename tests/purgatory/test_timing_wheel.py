"""The timing wheel by example: where entries lie, when they fire, what moving and cancelling them does."""

from __future__ import annotations

import gc
import random
import weakref

import pytest

from ottla.purgatory import TimerEntry, TimingWheel
from tests.purgatory.scene import Entry, fired_by, names

START_MS = 1000


@pytest.fixture
def wheel() -> TimingWheel:
    """Five buckets a wheel: 5 ms, 25 ms, 125 ms, ..."""
    return TimingWheel(START_MS, bucket_count=5)


def test_an_entry_fires_at_its_deadline_and_not_a_millisecond_before(wheel: TimingWheel) -> None:
    """Kafka: TimingWheelTest.testAddValidTask."""
    entry = Entry("valid")
    assert wheel.add(entry, START_MS + 2) == START_MS + 2
    assert (wheel.size, entry.is_pending, wheel.next_deadline_ms()) == (1, True, START_MS + 2)
    assert fired_by(wheel, START_MS + 1) == []
    assert fired_by(wheel, START_MS + 2) == ["valid"]
    assert (wheel.size, entry.is_pending, wheel.next_deadline_ms()) == (0, False, None)


def test_everybody_who_waits_is_told(wheel: TimingWheel) -> None:
    """In whichever wheel an entry lies, due or not; who was cancelled is not among them."""
    entries = {late_ms: Entry(str(late_ms)) for late_ms in (-3, 2, 40, 100_000)}
    for late_ms, entry in entries.items():
        wheel.add(entry, START_MS + late_ms)
    wheel.cancel(entries[40])
    assert sorted(names(wheel.pending())) == ["-3", "100000", "2"]
    next(wheel.due(START_MS + 2))
    assert sorted(names(wheel.pending())) == ["100000", "2"]


@pytest.mark.parametrize("late_ms", [0, 1, 5, 10_000])
def test_what_is_due_already_fires_the_next_time_the_wheel_is_looked_at(wheel: TimingWheel, late_ms: int) -> None:
    """Kafka: TimingWheelTest.testAddExpiredTask, testAddTaskInCurrentBucket; TimerTest.testAlreadyExpiredTask."""
    wheel.add(Entry("late"), START_MS - late_ms)
    wheel.add(Entry("on time"), START_MS + 1)
    assert wheel.next_deadline_ms() == START_MS, "there is something to do at once"
    assert fired_by(wheel, START_MS) == ["late"]
    assert fired_by(wheel, START_MS + 1) == ["on time"]


def test_a_cancelled_entry_never_fires_and_can_be_cancelled_again(wheel: TimingWheel) -> None:
    """Kafka: TimingWheelTest.testAddCancelledTask."""
    entry = Entry("cancelled")
    assert not wheel.cancel(entry), "it was in no wheel yet"
    wheel.add(entry, START_MS + 2)
    wheel.add(Entry("other"), START_MS + 2)
    assert wheel.cancel(entry)
    assert not wheel.cancel(entry)
    assert (wheel.size, entry.is_pending) == (1, False)
    assert fired_by(wheel, START_MS + 100) == ["other"]
    assert not wheel.cancel(entry), "cancelling what has had its time has no effect either"


def test_a_cancelled_entry_can_be_added_again(wheel: TimingWheel) -> None:
    """Cancel and add move an entry; it fires once, at the new deadline."""
    entry = Entry("moved")
    wheel.add(entry, START_MS + 2)
    wheel.cancel(entry)
    wheel.add(entry, START_MS + 3)
    assert fired_by(wheel, START_MS + 2) == []
    assert fired_by(wheel, START_MS + 3) == ["moved"]


def test_wheels_tick_in_multiples_of_their_ticks() -> None:
    """Each by itself, the coarser one only when its own tick has passed.

    Kafka: TimingWheelTest.testAdvanceClockWithinTick, testAdvanceClockToNextTick, testAdvanceClockWithOverflowWheel.
    """
    wheel = TimingWheel(START_MS, bucket_count=5)
    wheel.add(Entry("far"), START_MS + 6)
    assert [(each.tick_ms, each.clock_ms) for each in wheel.wheels] == [(1, 1000), (5, 1000)]
    assert fired_by(wheel, START_MS + 4) == []
    assert [each.clock_ms for each in wheel.wheels] == [1004, 1000], "the overflow wheel hasn't ticked"
    assert fired_by(wheel, START_MS + 6) == ["far"]
    assert [each.clock_ms for each in wheel.wheels] == [1006, 1005]
    assert fired_by(wheel, START_MS + 3) == []
    assert [each.clock_ms for each in wheel.wheels] == [1006, 1005], "time doesn't go back"


def test_story_w5_overflow_wheels_are_made_on_demand(wheel: TimingWheel) -> None:
    """A delay beyond one wheel's span goes to the next one, which exists from then on.

    Kafka: TimingWheelTest.testOverflowWheelCreation.
    """
    assert len(wheel.wheels) == 1
    wheel.add(Entry("last of wheel 1"), START_MS + 4)
    assert len(wheel.wheels) == 1
    wheel.add(Entry("first of wheel 2"), START_MS + 5)
    overflow = wheel.wheels[1]
    wheel.add(Entry("last of wheel 2"), START_MS + 24)
    assert wheel.wheels[1:] == [overflow]
    wheel.add(Entry("in wheel 5"), START_MS + 5**4)
    assert [each.tick_ms for each in wheel.wheels] == [1, 5, 25, 125, 625]
    assert wheel.wheels[1] is overflow
    wheel.check()


def test_story_w5_a_session_drops_through_the_wheels_to_its_millisecond() -> None:
    """The example at the head of the module: wheel 4 until 40 000, wheel 3 until 46 000, fires at 46 005."""
    wheel = TimingWheel(1000)
    assert wheel.add(Entry("in wheel 1"), 1013) == 1013
    assert wheel.add(Entry("in wheel 2"), 1107) == 1100
    assert wheel.add(Entry("session"), 46_005) == 40_000
    assert [each.end_ms for each in wheel.wheels] == [1020, 1400, 8800, 160_000]
    looks = []
    while (next_ms := wheel.next_deadline_ms()) is not None:
        looks.append((next_ms, fired_by(wheel, next_ms)))
    assert looks == [
        (1013, ["in wheel 1"]),
        (1100, []),
        (1107, ["in wheel 2"]),
        (40_000, []),
        (46_000, []),
        (46_005, ["session"]),
    ]


@pytest.mark.parametrize("span_ms", [20, 400, 8000, 160_000, 3_200_000, 2**40])
@pytest.mark.parametrize("offset_ms", [-1, 0, 1])
@pytest.mark.parametrize("start_ms", [0, 1, 19, 7_999, 123_456_789])
def test_deadlines_at_the_edge_of_a_wheel_fire_on_time(span_ms: int, offset_ms: int, start_ms: int) -> None:
    """A deadline exactly at, just below or above a wheel's span, counted from now or from zero, is met exactly."""
    wheel = TimingWheel(start_ms)
    after = Entry("after")
    wheel.add(after, start_ms + span_ms + offset_ms)
    at = Entry("at")
    wheel.add(at, (start_ms // span_ms + 1) * span_ms + offset_ms)
    met_ms: dict[TimerEntry, int] = {}
    while (next_ms := wheel.next_deadline_ms()) is not None:
        met_ms.update((entry, next_ms) for entry in wheel.due(next_ms))
    assert met_ms == {after: after.deadline_ms, at: at.deadline_ms}


def test_what_is_added_after_a_long_idle_time_fires_on_time(wheel: TimingWheel) -> None:
    """With no bucket due the wheel's clock lags behind; a deadline set then is met as any other."""
    now_ms = START_MS + 3_600_000
    wheel.add(Entry("soon"), now_ms + 3)
    wheel.add(Entry("at once"), now_ms)
    wheel.add(Entry("long ago"), START_MS + 1)
    assert fired_by(wheel, now_ms) == ["long ago", "at once"]
    assert fired_by(wheel, now_ms + 2) == []
    assert fired_by(wheel, now_ms + 3) == ["soon"]


def test_every_entry_fires_once_and_in_order_of_deadlines(wheel: TimingWheel) -> None:
    """Single and double entries near and far, added in any order, in one great advance.

    Kafka: TimerTest.testTaskExpiration.
    """
    deadlines = [*range(5), *range(10, 100), *range(10, 100), *range(100, 500)]
    shuffled = random.Random(7).sample(deadlines, len(deadlines))
    for deadline_ms in shuffled:
        wheel.add(Entry(str(deadline_ms)), START_MS + deadline_ms)
    assert fired_by(wheel, START_MS + 2000) == [str(deadline_ms) for deadline_ms in sorted(deadlines)]


def test_entries_of_one_millisecond_fire_in_the_order_they_were_added(wheel: TimingWheel) -> None:
    """First added, first fired, as long as they were added to the same wheel."""
    for name in ("first", "second", "third"):
        wheel.add(Entry(name), START_MS + 90)
    assert fired_by(wheel, START_MS + 90) == ["first", "second", "third"]


def test_an_entry_that_comes_down_from_a_coarser_wheel_fires_before_younger_ones(wheel: TimingWheel) -> None:
    """Of one millisecond too: the elder was too far for wheel 1, the younger was added to it straight away."""
    wheel.add(Entry("elder"), START_MS + 10)
    assert fired_by(wheel, START_MS + 8) == []
    wheel.add(Entry("younger"), START_MS + 10)
    assert fired_by(wheel, START_MS + 10) == ["elder", "younger"]


def test_adding_an_entry_again_moves_it_and_counts_it_once(wheel: TimingWheel) -> None:
    """Kafka: TimerTaskListTest.testAll."""
    entries = [Entry(str(number)) for number in range(10)]
    for number, entry in enumerate(entries, 1):
        wheel.add(entry, START_MS + 1)
        assert wheel.size == number
    for entry in entries[:4]:
        wheel.add(entry, START_MS + 2)
        assert wheel.size == 10
    for entry in entries[4:]:
        wheel.add(entry, START_MS + 3)
        assert wheel.size == 10
    wheel.check()
    assert fired_by(wheel, START_MS + 1) == []
    assert fired_by(wheel, START_MS + 2) == names(entries[:4])
    for left, entry in enumerate(reversed(entries[4:]), 1):
        assert wheel.cancel(entry)
        assert wheel.size == 6 - left
    assert fired_by(wheel, START_MS + 3) == []


def test_the_next_deadline_is_that_of_the_earliest_bucket_in_use(wheel: TimingWheel) -> None:
    """None when idle, also when all of a bucket's entries were cancelled: nobody is woken for an empty bucket.

    Kafka: TimerTaskListTest.testGetDelay.
    """
    assert wheel.next_deadline_ms() is None
    far, near = Entry("far"), Entry("near")
    wheel.add(far, START_MS + 4)
    wheel.add(near, START_MS + 2)
    assert wheel.next_deadline_ms() == START_MS + 2
    wheel.cancel(near)
    assert wheel.next_deadline_ms() == START_MS + 4
    wheel.add(near, START_MS + 2)
    assert wheel.next_deadline_ms() == START_MS + 2, "the bucket is in use again"
    wheel.cancel(near)
    wheel.cancel(far)
    assert wheel.next_deadline_ms() is None
    wheel.check()


class TestPostponing:
    """A later deadline is only stored; the entry stays in its bucket and is put away again when that is due."""

    def test_a_postponed_entry_stays_where_it_is_and_fires_at_its_last_deadline(self) -> None:
        """A session of 45 s beats each 3 s for an hour: it is looked at each 40 s or so, and fires 45 s after."""
        wheel = TimingWheel(0)
        session = Entry("session")
        wheel.add(session, 45_000)
        looks = 0
        for beat_ms in range(3000, 3_600_000, 3000):
            while (next_ms := wheel.next_deadline_ms()) is not None and next_ms <= beat_ms:
                assert fired_by(wheel, next_ms) == []
                looks += 1
            wheel.postpone(session, beat_ms + 45_000)
            assert (session.deadline_ms, wheel.size) == (beat_ms + 45_000, 1)
        assert 3600 // 45 <= looks <= 3600 // 37
        last_ms = 3_597_000 + 45_000
        assert fired_by(wheel, last_ms - 1) == []
        assert fired_by(wheel, last_ms) == ["session"]

    def test_postponing_relinks_nothing(self, wheel: TimingWheel) -> None:
        """The next deadline to look at remains that of the old bucket, however far the new one is."""
        entry = Entry("postponed")
        wheel.add(entry, START_MS + 3)
        wheel.postpone(entry, START_MS + 90)
        assert wheel.next_deadline_ms() == START_MS + 3
        assert len(wheel.wheels) == 1
        assert fired_by(wheel, START_MS + 3) == []
        assert (wheel.next_deadline_ms(), wheel.size) == (START_MS + 75, 1)

    def test_a_deadline_may_come_back_as_far_as_its_bucket_without_being_relinked(self, wheel: TimingWheel) -> None:
        """Later and then earlier again: the bucket's own deadline decides, not the last one stored."""
        entry = Entry("to and fro")
        wheel.add(entry, START_MS + 3)
        wheel.postpone(entry, START_MS + 90)
        wheel.postpone(entry, START_MS + 4)
        assert fired_by(wheel, START_MS + 3) == []
        assert fired_by(wheel, START_MS + 4) == ["to and fro"]

    @pytest.mark.parametrize("from_ms", [3, 4, 75, 90])
    def test_a_deadline_moved_ahead_of_its_bucket_is_met(self, wheel: TimingWheel, from_ms: int) -> None:
        """Earlier than the bucket is due, by a millisecond or many: it is relinked, and the next deadline with it."""
        entry = Entry("hurried")
        wheel.add(entry, START_MS + from_ms)
        wheel.postpone(entry, START_MS + 2)
        assert (wheel.next_deadline_ms(), wheel.size) == (START_MS + 2, 1)
        assert fired_by(wheel, START_MS + 2) == ["hurried"]

    def test_in_a_great_advance_a_postponed_entry_fires_at_its_new_place(self, wheel: TimingWheel) -> None:
        """Not at the place of its old deadline, although both are passed in one go."""
        postponed = Entry("postponed")
        wheel.add(postponed, START_MS + 1)
        wheel.add(Entry("between"), START_MS + 3)
        wheel.postpone(postponed, START_MS + 4)
        wheel.add(Entry("last"), START_MS + 90)
        assert fired_by(wheel, START_MS + 100) == ["between", "postponed", "last"]

    def test_postponing_what_is_not_pending_adds_it(self, wheel: TimingWheel) -> None:
        """So a session can be re-armed without asking whether it is armed."""
        entry = Entry("new")
        wheel.postpone(entry, START_MS + 2)
        assert (entry.is_pending, wheel.size) == (True, 1)
        assert fired_by(wheel, START_MS + 2) == ["new"]


class TestWhileFiring:
    """Entries leave one by one, so what one of them does still counts for those behind it."""

    def test_an_entry_whose_turn_has_not_come_can_be_cancelled(self, wheel: TimingWheel) -> None:
        """Cancelled by the one before it, it doesn't fire, though both were due."""
        second = Entry("second")
        for each in (Entry("first"), second, Entry("third")):
            wheel.add(each, START_MS + 1)
        fired = []
        for entry in wheel.due(START_MS + 1):
            fired.append(repr(entry))
            wheel.cancel(second)
        assert fired == ["first", "third"]
        assert wheel.size == 0
        wheel.check()

    def test_an_entry_whose_turn_has_not_come_can_be_postponed(self, wheel: TimingWheel) -> None:
        """It stays in the wheel for its new deadline."""
        first, second = Entry("first"), Entry("second")
        wheel.add(first, START_MS + 1)
        wheel.add(second, START_MS + 1)
        for _ in wheel.due(START_MS + 1):
            wheel.postpone(second, START_MS + 7)
        assert wheel.size == 1
        assert fired_by(wheel, START_MS + 6) == []
        assert fired_by(wheel, START_MS + 7) == ["second"]

    def test_an_entry_that_keeps_adding_itself_holds_up_nobody(self, wheel: TimingWheel) -> None:
        """Added when due already, it fires with the next look: this one ends."""
        eager = Entry("eager")
        wheel.add(eager, START_MS + 1)
        wheel.add(Entry("patient"), START_MS + 1)
        fired = []
        for entry in wheel.due(START_MS + 1):
            fired.append(repr(entry))
            wheel.add(eager, START_MS)
        assert fired == ["eager", "patient"]
        assert wheel.next_deadline_ms() == START_MS + 1, "it wants to be looked at again at once"
        assert fired_by(wheel, START_MS + 1) == ["eager"]

    def test_what_a_caller_leaves_is_there_the_next_time(self, wheel: TimingWheel) -> None:
        """A caller that fails at the first entry loses none of the others, and nobody is looked for too late."""
        for name in ("first", "second", "third"):
            wheel.add(Entry(name), START_MS + 1)
        assert repr(next(wheel.due(START_MS + 1))) == "first"
        assert (wheel.size, wheel.next_deadline_ms()) == (2, START_MS + 1)
        assert fired_by(wheel, START_MS + 1) == ["second", "third"]


def test_a_dead_entry_keeps_no_other_alive(wheel: TimingWheel) -> None:
    """Who holds on to a cancelled or fired entry doesn't hold on to those that were beside it in its bucket."""
    kept, beside = Entry("kept"), Entry("beside")
    wheel.add(beside, START_MS + 1)
    wheel.add(kept, START_MS + 1)
    gone = weakref.ref(beside)
    wheel.cancel(kept)
    wheel.cancel(beside)
    del beside
    gc.collect()
    assert gone() is None


def test_story_w5_one_million_pending_timers() -> None:
    """A million deadlines within a minute: some postponed, some cancelled, the rest fired once and in order."""
    random_source = random.Random(1)
    wheel = TimingWheel(0)
    entries = [Entry() for _ in range(1_000_000)]
    for entry in entries:
        wheel.add(entry, int(random_source.random() * 60_000))
    assert wheel.size == 1_000_000
    for entry in entries[::2]:
        wheel.postpone(entry, entry.deadline_ms + 45_000)
    for entry in entries[::3]:
        wheel.cancel(entry)
    expected_ms = sorted(entry.deadline_ms for entry in entries if entry.is_pending)
    assert wheel.size == len(expected_ms) == 666_666
    assert [entry.deadline_ms for entry in wheel.due(105_000)] == expected_ms
    assert (wheel.size, wheel.next_deadline_ms()) == (0, None)
