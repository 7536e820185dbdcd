"""The last events of some kinds, kept for readers that come later, in any thread.

    recorder = Recorder(stream, [Kind.GROUP_REBALANCE_STARTED])            in the loop's thread
    recorder.wait_for(lambda event: event.details["group_id"] == "orders", timeout_seconds=5)      in a test's

Nothing asks again and again: who waits is woken by the event. The oldest go when there are too many; `lost` says how
many have.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from threading import Condition
from typing import Final

from ottla.events.kind import USUAL_KINDS, Kind
from ottla.events.stream import Event, Stream

EVENTS_MAX: Final = 10_000


class Recorder:
    """A ring of events."""

    def __init__(self, stream: Stream, kinds: Iterable[Kind] = USUAL_KINDS, events_max: int = EVENTS_MAX) -> None:
        """Keep the last `events_max` of these kinds. To be made, and closed, in the thread of the loop."""
        self._kept: deque[Event] = deque(maxlen=events_max)
        #: How many there ever were, and how many of them had to go.
        self._recorded = self._lost = 0
        self._news = Condition()
        #: Keep nothing more. What is kept can still be had.
        self.close = stream.read(self._keep, kinds)

    def _keep(self, event: Event) -> None:
        with self._news:
            self._lost += len(self._kept) == self._kept.maxlen
            self._kept.append(event)
            self._recorded += 1
            self._news.notify_all()

    @property
    def events(self) -> list[Event]:
        """What is kept, oldest first."""
        with self._news:
            return list(self._kept)

    @property
    def lost(self) -> int:
        """How many had to go."""
        with self._news:
            return self._lost

    def clear(self) -> None:
        """Forget what is kept."""
        with self._news:
            self._kept.clear()
            self._lost = 0

    def wait_for(
        self, is_wanted: Callable[[Event], bool], *, timeout_seconds: float, after_sequence: int = 0
    ) -> Event | None:
        """The first event like that, kept already or still to come; None: there was none in time.

        `after_sequence`: only events that were told later than the one of this sequence. Not for the loop's thread,
        which would wait for itself.
        """
        deadline = time.monotonic() + timeout_seconds
        recorded = 0
        while self._wait_for_more(recorded, deadline):
            with self._news:
                kept, recorded = list(self._kept), self._recorded
            for event in kept:  # without the lock, or the loop would have to wait for who looks
                if event.sequence > after_sequence:
                    if is_wanted(event):
                        return event
                    after_sequence = event.sequence
        return None

    def _wait_for_more(self, recorded: int, deadline: float) -> bool:
        """Whether there were ever more than so many, be it after a while."""
        with self._news:
            return self._news.wait_for(lambda: self._recorded > recorded, deadline - time.monotonic())
