"""The last events of some kinds, kept for whoever looks later, in whichever thread.

    recorder = Recorder(stream, [Kind.GROUP_REBALANCE_STARTED])    in the thread of the loop
    recorder.kept                                                  in a test's

The oldest go when there are too many; `lost` says how many have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock
from time import perf_counter_ns
from typing import Final, NamedTuple

from ottla.events.kind import USUAL_KINDS
from ottla.events.kinds.event_kind import EventKind
from ottla.events.stream import Event, Stream

EVENTS_MAX: Final = 20_000


class Kept(NamedTuple):
    """An event, and when it came by the machine's clock: the broker's may stand still."""

    at_ns: int
    event: Event


class Recorder:
    """A ring of events."""

    def __init__(
        self,
        stream: Stream,
        kinds: Iterable[EventKind] = USUAL_KINDS,
        events_max: int = EVENTS_MAX,
        now_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """Keep the last `events_max` of these kinds. To be made, and closed, in the thread of the loop."""
        self._ring: deque[Kept] = deque(maxlen=events_max)
        self._now_ns = now_ns
        self._lost = 0
        #: For threads that look: what they copy must not change meanwhile.
        self._lock = Lock()
        self._stop_reading = stream.read(self._keep, kinds)

    def close(self) -> None:
        """Keep nothing more. What is kept can still be had."""
        self._stop_reading()

    def _keep(self, event: Event) -> None:
        with self._lock:
            self._lost += len(self._ring) == self._ring.maxlen
            self._ring.append(Kept(self._now_ns(), event))

    @property
    def kept(self) -> list[Kept]:
        """What there is, oldest first."""
        with self._lock:
            return list(self._ring)

    @property
    def lost(self) -> int:
        """How many had to go."""
        with self._lock:
            return self._lost

    def clear(self) -> None:
        """Forget it all."""
        with self._lock:
            self._ring.clear()
            self._lost = 0
