"""A recorder keeps events for other threads, and wakes who waits there."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from ottla.events.kind import Kind
from ottla.events.recorder import Recorder
from ottla.events.stream import Event, Stream

#: More than any of it takes.
PATIENCE_SECONDS = 20.0


def stream() -> Stream:
    return Stream(lambda: 0, lambda: 0)


def test_the_last_events_of_the_kinds_are_kept() -> None:
    """The oldest go, and are counted; what comes after `close` is not kept."""
    events = stream()
    recorder = Recorder(events, [Kind.TIME_ADVANCED], events_max=3)
    for ms in range(5):
        events.tell(Kind.TIME_ADVANCED, ms=ms)
        events.tell(Kind.NODE_DIED, node_id=1)
    recorder.close()
    events.tell(Kind.TIME_ADVANCED, ms=9)
    assert [event.details["ms"] for event in recorder.events] == [2, 3, 4]
    assert recorder.lost == 2
    recorder.clear()
    assert (recorder.events, recorder.lost) == ([], 0)


def test_an_event_that_is_kept_already_is_found_at_once() -> None:
    """The first of them, or the first after the one that was seen last."""
    events = stream()
    recorder = Recorder(events)
    for topic in ("orders", "payments", "orders"):
        events.tell(Kind.TOPIC_CREATED, topic=topic)

    def is_of_orders(event: Event) -> bool:
        return bool(event.details["topic"] == "orders")

    first = recorder.wait_for(is_of_orders, timeout_seconds=0)
    assert first is not None
    second = recorder.wait_for(is_of_orders, timeout_seconds=0, after_sequence=first.sequence)
    assert second is not None
    assert [first.sequence, second.sequence] == [1, 3]
    assert recorder.wait_for(is_of_orders, timeout_seconds=0, after_sequence=second.sequence) is None


def test_who_waits_in_another_thread_is_woken_by_the_event() -> None:
    """And by no other one; the events it was asked about are each shown once."""
    events, seen, is_waiting = stream(), list[object](), threading.Event()
    recorder = Recorder(events)

    def is_wanted(event: Event) -> bool:
        seen.append(event.details["ms"])
        is_waiting.set()
        return bool(event.details["ms"] == 3)

    with ThreadPoolExecutor(1) as other:
        found = other.submit(recorder.wait_for, is_wanted, timeout_seconds=PATIENCE_SECONDS)
        events.tell(Kind.TIME_ADVANCED, ms=1)
        assert is_waiting.wait(PATIENCE_SECONDS)
        events.tell(Kind.TIME_ADVANCED, ms=2)
        events.tell(Kind.TIME_ADVANCED, ms=3)
        event = found.result(PATIENCE_SECONDS)
    assert event is not None
    assert event.sequence == 3
    assert seen == [1, 2, 3]


def test_a_slow_look_does_not_hold_the_loop() -> None:
    """While another thread looks at an event, the next one is told and kept."""
    events, is_looking, may_go_on = stream(), threading.Event(), threading.Event()
    recorder = Recorder(events)

    def look(_event: Event) -> bool:
        is_looking.set()
        return may_go_on.wait(PATIENCE_SECONDS)

    events.tell(Kind.TIME_ADVANCED, ms=1)
    with ThreadPoolExecutor(1) as other:
        found = other.submit(recorder.wait_for, look, timeout_seconds=PATIENCE_SECONDS)
        assert is_looking.wait(PATIENCE_SECONDS)
        events.tell(Kind.TIME_ADVANCED, ms=2)
        assert len(recorder.events) == 2
        may_go_on.set()
        assert found.result(PATIENCE_SECONDS) is recorder.events[0]
