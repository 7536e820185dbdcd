"""Operations, watchers and the purgatory by example: who completes whom, once, and what is left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ottla.purgatory import Purgatory
from tests.purgatory.scene import Keys, Request, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.purgatory import TimerEntry


@pytest.fixture
def scene() -> Scene:
    return Scene()


class TestTryCompleteElseWatch:
    """Story W1: try; if not complete watch under every key; try again; if still not complete arm the timer."""

    def test_story_w1_what_can_be_completed_at_once_is_neither_watched_nor_armed(self, scene: Scene) -> None:
        """Tested once, completed, and no trace of it in the purgatory."""
        request = scene.request("ready")
        request.is_ready = True
        assert scene.purgatory.try_complete_else_watch(request, ["a", "b"])
        assert (request.tests, scene.story) == (1, ["ready completed"])
        assert (scene.purgatory.watched, scene.purgatory.delayed, scene.timer.size) == (0, 0, 0)

    def test_story_w1_what_cannot_waits_under_every_key_until_its_deadline(self, scene: Scene) -> None:
        """Tested, watched, tested again, and only then armed. Kafka: DelayedOperationTest.testSafeTryCompleteOrElse."""
        request = scene.request("waiting", deadline_ms=500)
        assert not scene.purgatory.try_complete_else_watch(request, ["a", "b"])
        assert request.tests == 2
        assert scene.purgatory.watched_keys == ["a", "b"]
        assert (scene.purgatory.watched, scene.purgatory.delayed, request.deadline_ms) == (2, 1, 500)
        assert request.is_pending

    @pytest.mark.parametrize("after", [0, 1, 2])
    def test_story_w1_an_event_between_the_tests_is_not_lost(self, scene: Scene, after: int) -> None:
        """The condition comes true while the operation is being watched, and nobody looks at its key: it completes.

        Before the second test sees it the operation is on none, one or all of its lists; either way no deadline runs.
        """
        request = scene.request("waiting")
        keys = Keys(["a", "b"], after, lambda: setattr(request, "is_ready", True))
        assert scene.purgatory.try_complete_else_watch(request, keys)
        assert (request.tests, scene.story) == (2, ["waiting completed"])
        assert (scene.purgatory.delayed, scene.timer.size, scene.purgatory.lingering) == (0, 0, 1)

    def test_story_w1_completed_meanwhile_by_somebody_else_it_is_not_armed(self, scene: Scene) -> None:
        """Another event completes it while it is being watched: False, no timer, and no further key is watched.

        Kafka: DelayedOperationTest.testLockInTryCompleteElseWatch; there a lock keeps others out meanwhile, here
        whoever comes in between does no harm.
        """
        request = scene.request("waiting")
        counts = []

        def event() -> None:
            request.is_ready = True
            counts.append(scene.purgatory.check_and_complete("a"))

        assert not scene.purgatory.try_complete_else_watch(request, Keys(["a", "b", "c"], 1, event))
        assert (counts, scene.story) == ([1], ["waiting completed"])
        assert scene.purgatory.watched_keys == []
        assert (scene.purgatory.delayed, scene.timer.size) == (0, 0)

    def test_story_w1_completion_cancels_the_timer(self, scene: Scene) -> None:
        """Once it is completed, by an event or by force, no deadline of it is pending and none ever fires."""
        by_event = scene.wait("by event", "a", deadline_ms=500)
        by_force = scene.wait("by force", "b", deadline_ms=500)
        by_event.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 1
        assert by_force.force_complete()
        assert (scene.purgatory.delayed, scene.timer.size) == (0, 0)
        scene.pass_time(1000)
        assert scene.story == ["by event completed", "by force completed"]
        assert scene.purgatory.expired == 0

    def test_an_operation_needs_a_key(self, scene: Scene) -> None:
        """Without a key no event could ever complete it: the caller's mistake, and nothing is tested."""
        request = scene.request("keyless")
        with pytest.raises(ValueError, match="at least one key"):
            scene.purgatory.try_complete_else_watch(request, [])
        assert request.tests == 0

    def test_a_completed_operation_is_not_watched(self, scene: Scene) -> None:
        """Completed before it came: False, for it wasn't this call that did it, and nothing is left behind."""
        request = scene.request("completed before")
        assert request.force_complete()
        assert not scene.purgatory.try_complete_else_watch(request, ["a"])
        assert (scene.purgatory.watched, scene.timer.size, scene.story) == (0, 0, ["completed before completed"])

    def test_without_a_deadline_it_waits_for_ever(self, scene: Scene) -> None:
        """No timer is armed and it doesn't count as delayed; an event completes it as any other."""
        request = scene.wait("patient", "a", deadline_ms=None)
        assert (scene.purgatory.watched, scene.purgatory.delayed, scene.timer.size) == (1, 0, 0)
        scene.pass_time(2**40)
        assert not request.is_completed
        request.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 1

    @pytest.mark.parametrize("deadline_ms", [0, -1, -1000])
    def test_with_a_deadline_that_is_past_it_expires_at_once(self, scene: Scene, deadline_ms: int) -> None:
        """Not from within the call, so that the caller can finish, but with no time passing."""
        scene.wait("hopeless", "a", deadline_ms=deadline_ms)
        assert scene.story == []
        scene.pass_time(0)
        assert scene.story == ["hopeless completed", "hopeless expired"]


class TestOnceOnly:
    """Story W2: completed exactly once, by whichever of event, force and expiry comes first."""

    def test_story_w2_expiry_completes_and_then_adds_what_belongs_to_it(self, scene: Scene) -> None:
        """At its deadline, not before: `on_complete`, then `on_expiration`; others go on waiting.

        Kafka: DelayedOperationTest.testRequestExpiry.
        """
        first = scene.wait("first", "a", deadline_ms=20)
        second = scene.wait("second", "b", deadline_ms=200_000)
        scene.pass_time(19)
        assert (scene.story, scene.purgatory.expired) == ([], 0)
        scene.pass_time(1)
        assert scene.story == ["first completed", "first expired"]
        assert (first.is_completed, second.is_completed) == (True, False)
        assert (scene.purgatory.expired, scene.purgatory.delayed) == (1, 1)

    @pytest.mark.parametrize("first", ["event", "force", "expiry"])
    def test_story_w2_whoever_comes_first_completes_it_and_nobody_after(self, scene: Scene, first: str) -> None:
        """Every way to complete it is tried twice, each in its turn the first: one answer, and one True."""
        request = scene.wait("request", "a", deadline_ms=20)
        request.is_ready = True
        ways: dict[str, Callable[[], int | None]] = {
            "event": lambda: scene.purgatory.check_and_complete("a"),
            "force": request.force_complete,
            "expiry": lambda: scene.pass_time(20),
        }
        results = [ways[way]() for way in [first, *ways, *ways]]
        assert scene.story.count("request completed") == 1
        assert scene.story.count("request expired") == scene.purgatory.expired == (first == "expiry")
        assert sum(result for result in results if result) == (first != "expiry")

    def test_story_w2_an_operation_completed_in_time_never_expires(self, scene: Scene) -> None:
        """Completed a millisecond before its deadline, also when expiry is called by hand."""
        request = scene.wait("request", "a", deadline_ms=20)
        scene.pass_time(19)
        request.force_complete()
        scene.pass_time(100)
        request.expire()
        assert (scene.story, scene.purgatory.expired) == (["request completed"], 0)

    def test_story_w2_it_is_completed_before_its_answer_leaves(self, scene: Scene) -> None:
        """What `on_complete` calls finds it completed, so completing it again from there does nothing."""
        seen = []

        def again() -> None:
            seen.append((request.is_completed, request.force_complete(), scene.purgatory.check_and_complete("a")))

        request = scene.wait("request", "a", then=again)
        assert request.force_complete()
        assert (seen, scene.story) == ([(True, False, 0)], ["request completed"])

    def test_an_answer_that_fails_is_not_tried_again(self, scene: Scene) -> None:
        """`on_complete` raises: its caller learns it, the operation stays completed and its deadline is stopped."""

        def fail() -> None:
            raise ConnectionResetError

        request = scene.wait("request", "a", deadline_ms=20, then=fail)
        with pytest.raises(ConnectionResetError):
            request.force_complete()
        assert not request.force_complete()
        scene.pass_time(100)
        assert (scene.story, scene.purgatory.delayed) == (["request completed"], 0)

    def test_many_attempts_complete_each_once(self, scene: Scene) -> None:
        """A hundred operations, twenty attempts each of which the last one finds it ready, the attempts interleaved.

        Kafka: DelayedOperationTest.testTryCompleteWithMultipleThreads.
        """
        requests = [scene.wait(f"request {number}", number) for number in range(100)]
        completed = 0
        for attempt in range(1, 21):
            for number, request in enumerate(requests):
                request.is_ready = attempt == 20
                completed += scene.purgatory.check_and_complete(number)
        assert completed == 100
        assert scene.story == [f"{request} completed" for request in requests]

    def test_an_operation_may_do_without_a_purgatory(self) -> None:
        """One that never has to wait is completed like any other."""
        request = Request("request")
        request.expire()
        assert request.story == ["request completed", "request expired"]


class TestCheckAndComplete:
    """Story W3: an event on a key completes what can be, and cleans up that key's list."""

    def test_story_w3_an_event_completes_who_waits_under_its_key(self, scene: Scene) -> None:
        """Only those, only if they can be, once; the number is returned. Kafka: testRequestSatisfaction."""
        check = scene.purgatory.check_and_complete
        assert check("a") == 0, "nobody waits"
        first = scene.wait("first", "a")
        assert check("a") == 0, "first can't be completed yet"
        second = scene.wait("second", "b")
        assert check("b") == 0
        first.is_ready = True
        assert check("b") == 0, "first waits under another key"
        assert (check("a"), check("a")) == (1, 0)
        second.is_ready = True
        assert (check("b"), check("b")) == (1, 0)
        assert scene.story == ["first completed", "second completed"]

    def test_story_w3_first_come_first_served(self, scene: Scene) -> None:
        """Under one key those who can be completed are, in the order they came; the others keep their places."""
        requests = [scene.wait(name, "a") for name in ("one", "two", "three", "four")]
        for request in requests[::2]:
            request.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 2
        for request in requests:
            request.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 2
        assert scene.story == [f"{name} completed" for name in ("one", "three", "two", "four")]

    def test_story_w3_a_key_goes_away_with_its_last_operation(self, scene: Scene) -> None:
        """Completed operations are dropped from the list that is looked at, uncounted, and an empty list's key too."""
        first, second = scene.wait("first", "a", "b"), scene.wait("second", "a")
        first.force_complete()
        assert scene.purgatory.watched_keys == ["a", "b"]
        assert scene.purgatory.check_and_complete("b") == 0
        assert scene.purgatory.watched_keys == ["a"]
        second.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 1
        assert (scene.purgatory.watched_keys, scene.purgatory.watched, scene.purgatory.lingering) == ([], 0, 0)

    def test_one_that_fails_does_not_hold_up_the_others(self, scene: Scene) -> None:
        """Three wait, the second raises: all are completed and counted, and the error goes to the timer's hook."""
        errors: list[str] = []

        def note(error: Exception, entry: TimerEntry) -> None:
            errors.append(f"{entry}: {error!r}")

        def fail() -> None:
            raise ConnectionResetError

        scene.timer.on_error = note

        requests = [scene.wait("one", "a"), scene.wait("two", "a", then=fail), scene.wait("three", "a")]
        for request in requests:
            request.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 3
        assert scene.story == ["one completed", "two completed", "three completed"]
        assert errors == ["two: ConnectionResetError()"]
        assert scene.purgatory.watched == 0


class TestReentrancy:
    """Completing runs code that may come back under the same key: it neither loops nor makes the walk skip anybody."""

    def test_on_complete_may_check_the_same_key(self, scene: Scene) -> None:
        """The first to complete checks the key again: the inner walk completes the rest, the outer finds them done."""
        counts = []
        requests = [scene.wait("one", "a", then=lambda: counts.append(scene.purgatory.check_and_complete("a")))]
        requests += [scene.wait("two", "a"), scene.wait("three", "a")]
        for request in requests:
            request.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 1
        assert counts == [2]
        assert scene.story == ["one completed", "two completed", "three completed"]
        assert scene.purgatory.watched_keys == []

    def test_on_complete_may_watch_a_new_one_under_the_same_key(self, scene: Scene) -> None:
        """As a postponed delayed join does: the new one stays, is not looked at by this walk, and nobody is lost."""
        postponed = scene.request("postponed")

        def postpone() -> None:
            assert not scene.purgatory.try_complete_else_watch(postponed, ["a"])
            postponed.is_ready = True

        first, second = scene.wait("first", "a", then=postpone), scene.wait("second", "a")
        first.is_ready = second.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 2
        assert scene.story == ["first completed", "second completed"]
        assert (scene.purgatory.watched, scene.purgatory.watched_keys) == (1, ["a"])
        assert scene.purgatory.check_and_complete("a") == 1
        assert scene.story[-1] == "postponed completed"

    def test_each_completion_may_add_the_next_without_end(self, scene: Scene) -> None:
        """Every one adds another that is ready at once: each event completes one, so the walk ends."""

        def add_another() -> None:
            successor = scene.wait("successor", "a", then=add_another)
            successor.is_ready = True

        add_another()
        assert [scene.purgatory.check_and_complete("a") for _ in range(5)] == [1] * 5
        assert scene.purgatory.watched == 1

    def test_on_complete_may_empty_the_list_and_start_it_anew(self, scene: Scene) -> None:
        """The inner walk drops the key, a new operation makes it anew, and the outer walk leaves that list alone."""

        def start_anew() -> None:
            scene.purgatory.check_and_complete("a")
            scene.wait("newcomer", "a")

        first, second = scene.wait("first", "a", then=start_anew), scene.wait("second", "a")
        first.is_ready = second.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 1
        assert scene.story == ["first completed", "second completed"]
        assert (scene.purgatory.watched_keys, scene.purgatory.watched) == (["a"], 1)

    def test_on_complete_may_cancel_the_key(self, scene: Scene) -> None:
        """Whoever is cancelled by the one before it is not completed, though it could be."""
        cancelled: list[Request] = []
        first = scene.wait("first", "a", then=lambda: cancelled.extend(scene.purgatory.cancel_for_key("a")))
        second = scene.wait("second", "a")
        first.is_ready = second.is_ready = True
        assert scene.purgatory.check_and_complete("a") == 1
        assert (cancelled, scene.story) == ([second], ["first completed"])
        assert (scene.purgatory.watched, scene.purgatory.delayed, scene.purgatory.lingering) == (0, 0, 0)

    def test_two_purgatories_may_complete_each_other(self, scene: Scene) -> None:
        """A fetch completes a produce, whose completion checks the fetches again: each is completed once."""
        produces: Purgatory[Request] = Purgatory("Produce", scene.timer)
        fetches = scene.purgatory
        produce = scene.request("produce", then=lambda: fetches.check_and_complete("a"))
        assert not produces.try_complete_else_watch(produce, ["a"])
        one = scene.wait("fetch one", "a", then=lambda: produces.check_and_complete("a"))
        two = scene.wait("fetch two", "a", then=lambda: produces.check_and_complete("a"))
        one.is_ready = two.is_ready = produce.is_ready = True
        assert fetches.check_and_complete("a") == 1, "the other one was completed through the produce"
        assert scene.story == ["fetch one completed", "produce completed", "fetch two completed"]
        assert (fetches.watched, produces.watched, scene.timer.size) == (0, 0, 0)


class TestReaper:
    """Story W4: what lingers under other keys is swept once enough has piled up."""

    def test_story_w4_the_numbers_tell_who_waits_and_what_lingers(self, scene: Scene) -> None:
        """Completing stops the deadline at once; a place in a list is given up when that list is looked at.

        Kafka: DelayedOperationTest.testRequestPurge.
        """
        purgatory = scene.purgatory
        scene.wait("one", "a")
        two, three = scene.wait("two", "a", "b"), scene.wait("three", "a", "b", "c")
        assert (purgatory.delayed, purgatory.watched, purgatory.lingering) == (3, 6, 0)
        two.is_ready = three.is_ready = True
        two.try_complete()
        assert (purgatory.delayed, purgatory.watched, purgatory.lingering) == (2, 6, 1)
        three.try_complete()
        assert (purgatory.delayed, purgatory.watched, purgatory.lingering) == (1, 6, 2)
        places = []
        for key in ("a", "b", "c"):
            purgatory.check_and_complete(key)
            places.append(purgatory.watched)
        assert places == [4, 2, 1]
        assert (purgatory.delayed, purgatory.expired, purgatory.lingering) == (1, 0, 0)

    def test_story_w4_the_reaper_sweeps_when_enough_has_piled_up(self) -> None:
        """One more than the interval lingers: with the next turn only the living are watched, under their keys."""
        scene = Scene(purge_interval=10)
        living = scene.wait("living", "busy", "quiet")
        *first, last = [scene.wait(str(number), "busy", "quiet", "gone") for number in range(11)]
        for request in first:
            assert request.force_complete()
        scene.purgatory.check_and_complete("gone")
        assert (scene.purgatory.lingering, scene.purgatory.watched) == (10, 2 + 10 * 2 + 3), "not enough yet"
        assert scene.timer.size == 2, "only the two who wait: the reaper is not even armed"
        assert last.force_complete()
        assert scene.purgatory.lingering == 11
        scene.pass_time(0)
        assert (scene.purgatory.lingering, scene.purgatory.watched) == (0, 2)
        assert scene.purgatory.watched_keys == ["busy", "quiet"]
        assert not living.is_completed
        assert (scene.purgatory.delayed, scene.timer.size) == (1, 1), "the reaper itself is no longer pending"

    def test_story_w4_an_interval_of_nought_lets_nobody_linger(self) -> None:
        """For operations that hold on to big buffers: swept in the turn after they complete."""
        scene = Scene(purge_interval=0)
        request = scene.wait("big", "a", "b")
        request.is_ready = True
        scene.purgatory.check_and_complete("a")
        assert scene.purgatory.lingering == 1
        scene.pass_time(0)
        assert (scene.purgatory.watched, scene.purgatory.watched_keys) == (0, [])

    def test_what_expires_together_is_swept_in_the_same_advance(self) -> None:
        """A thousand and one deadlines pass at once: after the advance no more than the interval lingers."""
        scene = Scene(purge_interval=100)
        for number in range(1001):
            scene.wait(str(number), number, deadline_ms=50)
        scene.pass_time(50)
        assert (scene.purgatory.expired, scene.purgatory.delayed) == (1001, 0)
        assert scene.purgatory.lingering <= 100
        assert len(scene.purgatory.watched_keys) == scene.purgatory.watched == scene.purgatory.lingering

    def test_operations_of_one_key_never_linger_nor_wake_the_reaper(self) -> None:
        """An event takes each from the only list it stands in, so nothing piles up, whatever their number."""
        scene = Scene(purge_interval=10)
        for number in range(100):
            scene.wait(str(number), "a").is_ready = True
            assert scene.purgatory.check_and_complete("a") == 1
        assert (scene.purgatory.lingering, scene.timer.size) == (0, 0)


class TestCancelForKey:
    """A key that is no more, such as a deleted partition."""

    def test_cancelled_operations_are_returned_and_never_expire(self, scene: Scene) -> None:
        """Their deadlines are stopped and they are not completed; those of other keys are not concerned.

        Kafka: DelayedOperationTest.shouldCancelForKeyReturningCancelledOperations.
        """
        cancelled = [scene.wait("one", "a", deadline_ms=20), scene.wait("two", "a", deadline_ms=20)]
        scene.wait("three", "b", deadline_ms=20)
        assert scene.purgatory.cancel_for_key("a") == cancelled
        assert (scene.purgatory.delayed, scene.purgatory.watched, scene.timer.size) == (1, 1, 1)
        scene.pass_time(1000)
        assert scene.story == ["three completed", "three expired"]
        assert [request.is_completed for request in cancelled] == [False, False]

    def test_nobody_is_cancelled_for_a_key_nobody_waits_under(self, scene: Scene) -> None:
        """Kafka: DelayedOperationTest.shouldReturnNilOperationsOnCancelForKeyWhenKeyDoesntExist."""
        assert scene.purgatory.cancel_for_key("a") == []

    def test_another_key_can_still_complete_a_cancelled_operation(self, scene: Scene) -> None:
        """It keeps its places under its other keys, whose events find it as before."""
        request = scene.wait("request", "a", "b")
        scene.purgatory.cancel_for_key("a")
        assert scene.purgatory.watched_keys == ["b"]
        request.is_ready = True
        assert scene.purgatory.check_and_complete("b") == 1
        assert (scene.story, scene.purgatory.watched) == (["request completed"], 0)

    def test_what_is_completed_already_is_not_returned(self, scene: Scene) -> None:
        """It lingered under the key; it has its answer, and there is nothing to do for it."""
        scene.wait("lingering", "a", "b").force_complete()
        waiting = scene.wait("waiting", "a")
        assert scene.purgatory.cancel_for_key("a") == [waiting]
        assert (scene.purgatory.lingering, scene.purgatory.watched) == (1, 1)
        assert scene.purgatory.cancel_for_key("b") == []
        assert (scene.purgatory.lingering, scene.purgatory.watched) == (0, 0)

    def test_draining_empties_the_purgatory(self, scene: Scene) -> None:
        """At the end of a broker: each who waits is returned once, to be given an answer; no deadline is left."""
        waiting = [scene.wait("one", "a", "b"), scene.wait("two", "b", "c"), scene.wait("three", "c", deadline_ms=None)]
        scene.wait("completed", "a", "c").force_complete()
        assert scene.purgatory.drain() == waiting
        assert (scene.purgatory.watched, scene.purgatory.delayed, scene.purgatory.lingering) == (0, 0, 0)
        assert (scene.purgatory.watched_keys, scene.timer.size) == ([], 0)
        assert all(request.force_complete() for request in waiting)


def test_purgatories_share_one_timer_and_count_for_themselves(scene: Scene) -> None:
    """Two kinds of operations on the one timer of the program: each purgatory knows its own numbers."""
    other: Purgatory[Request] = Purgatory("Other", scene.timer)
    scene.wait("one", "a", deadline_ms=20)
    assert not other.try_complete_else_watch(scene.request("two", 30), ["a"])
    assert not other.try_complete_else_watch(scene.request("three", 40), ["a"])
    assert (scene.purgatory.delayed, other.delayed, scene.timer.size) == (1, 2, 3)
    scene.pass_time(30)
    assert (scene.purgatory.expired, other.expired, other.delayed) == (1, 1, 1)
