"""A recorder keeps the last events, for other threads as well."""

from __future__ import annotations

import threading
from itertools import count

from ottla.events.kind import Kind
from ottla.events.recorder import Recorder
from ottla.events.stream import Stream
from tests.support.patience import PATIENCE_SECONDS

#: More than any of it takes.


def test_the_last_events_of_the_kinds_are_kept() -> None:
    """With the machine's time. The oldest go, and are counted; what comes after `close` is not kept."""
    events, clock = Stream(lambda: 0, lambda: 0), count()
    recorder = Recorder(events, [Kind.TIME_ADVANCED], events_max=3, now_ns=lambda: next(clock))
    for ms in range(5):
        events.tell(Kind.TIME_ADVANCED, ms=ms)
        events.tell(Kind.NODE_DIED, node_id=1)
    recorder.close()
    events.tell(Kind.TIME_ADVANCED, ms=9)
    assert [(at_ns, event.details["ms"]) for at_ns, event in recorder.kept] == [(2, 2), (3, 3), (4, 4)]
    assert recorder.lost == 2
    recorder.clear()
    assert (recorder.kept, recorder.lost) == ([], 0)


def test_another_thread_sees_it_whole_while_more_comes() -> None:
    """Each look finds events in their order, without a gap, though the oldest go all the time."""
    events, is_looking, may_end = Stream(lambda: 0, lambda: 0), threading.Event(), threading.Event()
    recorder = Recorder(events, events_max=100)
    torn: list[list[int]] = []

    def look() -> None:
        while not may_end.is_set():
            sequences = [event.sequence for _, event in recorder.kept]
            if sequences and sequences != list(range(sequences[0], sequences[0] + len(sequences))):
                torn.append(sequences)
            is_looking.set()

    other = threading.Thread(target=look)
    other.start()
    assert is_looking.wait(PATIENCE_SECONDS)
    for ms in range(10_000):
        events.tell(Kind.TIME_ADVANCED, ms=ms)
    may_end.set()
    other.join(PATIENCE_SECONDS)
    assert not torn
    assert (len(recorder.kept), recorder.lost) == (100, 9_900)
