"""One ordered stream of what happens in a broker. Whatever wants to learn of something reads it here.

    what does something ──tell──▶ stream ──▶ log lines · journal · page · tests · parts that act on it

    stream.tell(Kind.TOPIC_CREATED, topic="orders", partitions=4)
    stop = stream.read(print, [Kind.TOPIC_CREATED])

An event is made only when somebody reads its kind, so an unread kind costs a look into a dict. Readers are called at
once, in the order in which they came. An event that a reader causes is delivered after the one it is reading, so all
readers see the same order. A reader that raises hurts nobody else.

Readers are called in the thread of the event loop, and come and go there. `tell` may be called in any thread: what
another one tells is delivered in the loop, and before anything that is told there later. A `Recorder` keeps events for
whoever looks later, in any thread.

Not for what happens with each request or batch: heartbeats, fetches and produces tell nothing. Of requests there is
`request.handled`, for which `when_read` says whether anybody wants it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import get_ident
from typing import Any, TypeAlias

from ottla.events.kind import USUAL_KINDS, Kind
from ottla.events.kinds.event_kind import EventKind
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
    kind: EventKind
    details: Mapping[str, Any]
    """The keys that the kind has, as far as they have a value."""
    raised: BaseException | None = None
    """What was raised, where a bug of ours is told of."""


Reader: TypeAlias = Callable[[Event], object]
#: Has something called in the loop soon, such as `loop.call_soon_threadsafe`. Raises `RuntimeError` once it is closed.
CallSoon: TypeAlias = Callable[[Callable[[], object]], object]


class Stream:
    """What happens in one broker."""

    def __init__(self, now_ms: Callable[[], int], wall_ms: Callable[[], int]) -> None:
        #: The clock that deadlines are set by.
        self.now_ms = now_ms
        self._wall_ms = wall_ms
        self._sequence = 0
        self._readers: dict[EventKind, tuple[partial[object], ...]] = {}
        self._watchers: dict[EventKind, list[Callable[[bool], object]]] = {}
        self._waiting: deque[Event] = deque()
        self._is_delivering = False
        #: What other threads have told, until the loop takes it.
        self._handed_over: deque[Callable[[], None]] = deque()
        self._thread_id = get_ident()
        self._call_soon: CallSoon | None = None

    def deliver_here(self, call_soon: CallSoon) -> None:
        """From now on this thread is the one in which readers are called; `call_soon` calls something in it."""
        self._thread_id, self._call_soon = get_ident(), call_soon

    def tell(
        self,
        kind: EventKind,
        /,
        *,
        node_id: int | None = None,
        wall_ms: int | None = None,
        raised: BaseException | None = None,
        **details: Any,
    ) -> None:
        """This has happened. `wall_ms`: the date it is of, where that is known; None: now. Details of None are left
        out.
        """
        if get_ident() != self._thread_id:
            self.tell_soon(kind, node_id=node_id, raised=raised, **details)
            return
        self._take_handed_over()
        self._tell(kind, node_id, wall_ms, raised, details)

    def tell_soon(
        self, kind: EventKind, /, *, node_id: int | None = None, raised: BaseException | None = None, **details: Any
    ) -> None:
        """The same, but readers hear of it in the loop's next turn, or before what is told next if that is sooner.

        For what may be called at any moment, such as within another `tell`: destructors.
        """
        self._handed_over.append(partial(self._tell, kind, node_id, None, raised, details))
        if self._call_soon is not None:
            with suppress(RuntimeError):  # the loop is closed; it is delivered with the next event, if one comes
                self._call_soon(self._take_handed_over)

    def _take_handed_over(self) -> None:
        while self._handed_over:
            self._handed_over.popleft()()

    def _tell(
        self,
        kind: EventKind,
        node_id: int | None,
        wall_ms: int | None,
        raised: BaseException | None,
        details: Mapping[str, Any],
    ) -> None:
        self._sequence += 1
        if kind not in self._readers:
            return
        said = {key: value for key, value in details.items() if value is not None}
        date_ms = self._wall_ms() if wall_ms is None else wall_ms
        self._waiting.append(Event(self._sequence, self.now_ms(), date_ms, node_id, kind, said, raised))
        if not self._is_delivering:
            self._deliver()

    def is_read(self, kind: EventKind) -> bool:
        """Whether anybody reads this kind; for what takes work to tell."""
        return kind in self._readers

    def read(self, reader: Reader, kinds: Iterable[EventKind] = USUAL_KINDS) -> Callable[[], None]:
        """Have the reader called with each event of these kinds from now on; returns what ends that.

        `kinds`: by default all but that of each request.
        """
        chosen = dict.fromkeys(kinds)
        mine = partial(reader)  # so that who reads twice can stop once
        readers = self._readers
        unread = [kind for kind in self._watchers if kind in chosen and kind not in readers]
        for kind in chosen:
            readers[kind] = (*readers.get(kind, ()), mine)
        for kind in unread:
            self._tell_watchers(kind)

        def stop() -> None:
            for kind in chosen:
                if others := tuple(other for other in readers.get(kind, ()) if other is not mine):
                    readers[kind] = others
                elif readers.pop(kind, None) is not None:
                    self._tell_watchers(kind)

        return stop

    def when_read(self, kind: EventKind, told: Callable[[bool], object]) -> None:
        """Call this now, and whenever that changes, with whether anybody reads this kind.

        For a kind so frequent that even to look whether it is read would cost too much.
        """
        self._watchers.setdefault(kind, []).append(told)
        told(self.is_read(kind))

    def _tell_watchers(self, kind: EventKind) -> None:
        for told in self._watchers.get(kind, ()):
            told(self.is_read(kind))

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

    def _reader_failed(self, kind: EventKind, reader: partial[object], error: Exception) -> None:
        if kind is not Kind.READER_FAILED:  # else who tells of failures fails itself
            name = getattr(reader.func, "__qualname__", repr(reader.func))
            self.tell(Kind.READER_FAILED, raised=error, kind=kind.name, reader=name, reason=reason_of(error))
