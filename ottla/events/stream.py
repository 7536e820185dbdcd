"""One ordered stream of what happens in a broker. Whatever wants to learn of something reads it here.

    whoever does something ──tell──▶ stream ──▶ log lines · journal · page · tests · parts that act on it

    stream.tell(Kind.TOPIC_CREATED, topic="orders", partitions=4)
    stop = stream.read(print, [Kind.TOPIC_CREATED])

An event is made only when somebody reads its kind, so an unread kind costs a look into a dict. Readers are called at
once, in the order in which they came. An event that a reader causes is delivered after the one it is reading, so all
readers see the same order. A reader that raises hurts nobody else.

Not for what happens with each request or batch: heartbeats, fetches and produces tell nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ottla.events.kind import Kind
from ottla.events.setbacks import reason_of


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    sequence: int
    """Counts what is told, read or not, from 1: who reads every kind sees no gap from its first event on."""
    now_ms: int
    """When, by the clock that deadlines are set by."""
    wall_ms: int
    """When, as a date."""
    node_id: int | None
    """The node it concerns, if it concerns one."""
    kind: Kind
    details: Mapping[str, Any]
    """The keys that the kind has, as far as they have a value."""
    raised: BaseException | None = None
    """What was raised, where a bug of ours is told of."""


Reader: TypeAlias = Callable[[Event], object]


class Stream:
    """What happens in one broker. For the thread of its event loop alone."""

    def __init__(self, now_ms: Callable[[], int], wall_ms: Callable[[], int]) -> None:
        #: The clock that deadlines are set by.
        self.now_ms = now_ms
        self._wall_ms = wall_ms
        self._sequence = 0
        self._readers: dict[Kind, tuple[Reader, ...]] = {}
        self._waiting: deque[Event] = deque()
        self._is_delivering = False

    def tell(
        self, kind: Kind, /, *, node_id: int | None = None, raised: BaseException | None = None, **details: Any
    ) -> None:
        """This has happened. Details of None are left out."""
        self._sequence += 1
        if kind not in self._readers:
            return
        said = {key: value for key, value in details.items() if value is not None}
        self._waiting.append(Event(self._sequence, self.now_ms(), self._wall_ms(), node_id, kind, said, raised))
        if not self._is_delivering:
            self._deliver()

    def is_read(self, kind: Kind) -> bool:
        """Whether anybody reads this kind; for what takes work to tell."""
        return kind in self._readers

    def read(self, reader: Reader, kinds: Iterable[Kind] = Kind) -> Callable[[], None]:
        """Have the reader called with each event of these kinds from now on; returns what ends that."""
        chosen = tuple(kinds)
        for kind in chosen:
            self._readers[kind] = (*self._readers.get(kind, ()), reader)

        def stop() -> None:
            for kind in chosen:
                left = tuple(other for other in self._readers.get(kind, ()) if other is not reader)
                if left:
                    self._readers[kind] = left
                else:
                    self._readers.pop(kind, None)

        return stop

    def _deliver(self) -> None:
        self._is_delivering = True
        try:
            while self._waiting:
                event = self._waiting.popleft()
                for reader in self._readers.get(event.kind, ()):
                    try:
                        reader(event)
                    except Exception as error:
                        self._reader_failed(event.kind, reader, error)
        finally:
            self._is_delivering = False

    def _reader_failed(self, kind: Kind, reader: Reader, error: Exception) -> None:
        if kind is not Kind.READER_FAILED:  # else who tells of failures fails itself
            name = getattr(reader, "__qualname__", repr(reader))
            self.tell(Kind.READER_FAILED, raised=error, kind=kind.value, reader=name, reason=reason_of(error))
