"""The stream of events: in order, to whoever reads, and nothing for whoever does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from itertools import count

from ottla.events.kind import KINDS, Kind
from ottla.events.kinds.event_kind import EventKind
from ottla.events.stream import Event, Stream


def stream() -> Stream:
    """A stream whose clock stands at 5 and whose date is 1000."""
    return Stream(lambda: 5, lambda: 1000)


def test_a_reader_hears_what_it_reads_with_both_times() -> None:
    events, heard = stream(), list[Event]()
    events.read(heard.append, [Kind.TOPIC_CREATED])
    events.tell(Kind.NODE_DIED, node_id=1)
    events.tell(Kind.TOPIC_CREATED, topic="orders", partitions=2, client_id=None)
    assert heard == [Event(2, 5, 1000, None, Kind.TOPIC_CREATED, {"topic": "orders", "partitions": 2})]


def test_nothing_is_made_while_nobody_reads() -> None:
    """Not even the time is looked at."""
    clock = count()
    events = Stream(lambda: next(clock), lambda: next(clock))
    events.tell(Kind.TOPIC_CREATED, topic="orders")
    assert not events.is_read(Kind.TOPIC_CREATED)
    assert next(clock) == 0


def test_a_reader_that_has_stopped_hears_nothing_more() -> None:
    events, heard = stream(), list[Event]()
    stop = events.read(heard.append)
    events.tell(Kind.NODE_MISSED, node_id=2)
    stop()
    events.tell(Kind.NODE_STARTED, node_id=2)
    assert [event.kind for event in heard] == [Kind.NODE_MISSED]
    assert not any(map(events.is_read, KINDS.values()))


def test_all_readers_see_one_order() -> None:
    """What the first reader causes comes to the second one after what caused it."""
    events, first, second = stream(), list[EventKind](), list[EventKind]()

    def react(event: Event) -> None:
        first.append(event.kind)
        if event.kind is Kind.NODE_DIED:
            events.tell(Kind.LEADERS_MOVED, partitions=3)

    events.read(react)
    events.read(lambda event: second.append(event.kind))
    events.tell(Kind.NODE_DIED, node_id=1)
    assert first == second == [Kind.NODE_DIED, Kind.LEADERS_MOVED]


def test_a_reader_that_raises_hurts_nobody_else() -> None:
    """It is told of, once, and to the one that raises as well; the others hear everything."""
    events, heard = stream(), list[Event]()

    def stumble(event: Event) -> None:
        raise ValueError(event.kind.name)

    events.read(stumble)
    events.read(heard.append)
    events.tell(Kind.NODE_DIED, node_id=1)
    events.tell(Kind.NODE_STARTED, node_id=1)
    assert [event.kind for event in heard] == [
        Kind.NODE_DIED,
        Kind.READER_FAILED,
        Kind.NODE_STARTED,
        Kind.READER_FAILED,
    ]
    details = dict(heard[1].details)
    assert details.pop("reader").endswith("stumble")
    assert details == {"kind": "node.died", "reason": "ValueError: node.died"}
    assert isinstance(heard[1].raised, ValueError)


def test_who_reads_twice_may_stop_once() -> None:
    events, heard = stream(), list[Event]()
    reader = heard.append
    stop = events.read(reader, [Kind.NODE_DIED, Kind.NODE_DIED])
    events.read(reader, [Kind.NODE_DIED])
    stop()
    events.tell(Kind.NODE_DIED, node_id=1)
    assert len(heard) == 1


def test_what_another_thread_tells_is_read_in_the_loop_before_what_follows() -> None:
    """The reader is never called in another thread; the loop is asked to take it, or takes it with its next event."""
    events, heard, asked = stream(), list[tuple[EventKind, int]](), list[Callable[[], object]]()
    events.deliver_here(asked.append)
    events.read(lambda event: heard.append((event.kind, threading.get_ident())))
    other = threading.Thread(target=lambda: events.tell(Kind.NODE_DIED, node_id=1))
    other.start()
    other.join()
    assert (heard, len(asked)) == ([], 1)
    events.tell(Kind.NODE_STARTED, node_id=1)
    here = threading.get_ident()
    assert heard == [(Kind.NODE_DIED, here), (Kind.NODE_STARTED, here)]
    for take in asked:
        take()
    assert len(heard) == 2


def test_a_loop_that_is_closed_loses_nothing_that_is_told_later() -> None:
    """What was told in another thread after its end comes with the next event."""
    events, heard = stream(), list[Event]()
    loop = asyncio.new_event_loop()
    events.deliver_here(loop.call_soon_threadsafe)
    loop.close()
    events.read(heard.append)
    events.tell_soon(Kind.DISK_WORK_FAILED, reason="late")
    assert not heard
    events.tell(Kind.BROKER_STOPPED)
    assert [event.kind for event in heard] == [Kind.DISK_WORK_FAILED, Kind.BROKER_STOPPED]


def test_who_tells_of_each_request_hears_when_somebody_reads() -> None:
    """At once, with the first reader, and with the last one's end; a reader of the usual kinds is none of those."""
    events, told = stream(), list[bool]()
    events.when_read(Kind.REQUEST_HANDLED, told.append)
    events.read(print)
    first = events.read(print, [Kind.REQUEST_HANDLED])
    second = events.read(print, [Kind.REQUEST_HANDLED])
    first()
    assert told == [False, True]
    second()
    second()
    assert told == [False, True, False]
