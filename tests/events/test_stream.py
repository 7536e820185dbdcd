"""The stream of events: in order, to whoever reads, and nothing for whoever does not."""

from __future__ import annotations

from itertools import count

from ottla.events.kind import Kind
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
    assert not any(map(events.is_read, Kind))


def test_all_readers_see_one_order() -> None:
    """What the first reader causes comes to the second one after what caused it."""
    events, first, second = stream(), list[Kind](), list[Kind]()

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
        raise ValueError(event.kind.value)

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
