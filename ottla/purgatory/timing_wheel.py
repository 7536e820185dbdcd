"""A hierarchical timing wheel: a million deadlines, each added, moved and cancelled in constant time.

Wheel 1 has 20 buckets of 1 ms; wheel 2 has 20 buckets as long as the whole of wheel 1, 20 ms; and so on: 400 ms, 8 s,
160 s. Overflow wheels are made when a deadline first needs them. An entry lies in the finest wheel that reaches its
deadline, in the bucket that holds it; a bucket is due when its span begins. Entries of a due bucket of wheel 1 fire,
those of a coarser one drop into a finer wheel. At 1000 ms, for instance:

    wheel   bucket      reaches   deadline 1013   deadline 1107   deadline 46 005, a 45 s session
      1       1 ms        1 020   [1013] fires                    at 46 000 into [46005], fires there
      2      20 ms        1 400                   [1100, 1120)
      3     400 ms        8 800                                   at 40 000 into [46000, 46400)
      4       8 s       160 000                                   added to [40000, 48000)

So an entry is touched at most once a wheel, advancing touches due buckets only, and a small heap of the buckets in use
(at most 20 a wheel) names the next one. With 1 ms buckets nothing fires early.

Postponing is lazy. Most timers guard something alive: every heartbeat moves a session's deadline, and few ever
fire. A later deadline is therefore just stored in the entry, which stays where it is; its bucket comes due before the
old deadline and so before the new one, and an entry found there whose deadline has moved is put away again instead of
fired. A session that lives for hours costs one such visit each 40 s, however often it beats.

Kafka: org.apache.kafka.server.util.timer.TimingWheel, SystemTimer. Here an entry that is due already fires on the next
look at the wheel, as all due entries do; nothing ever fires from within `add`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NEVER_MS: Final = 2**63 - 1  # Kafka: Long.MAX_VALUE
"""The deadline of what waits for ever."""

TICK_MS: Final = 1
BUCKETS: Final = 20  # Kafka: SystemTimer(name, tickMs = 1, wheelSize = 20, ...)

_NOT_QUEUED: Final = -1


class TimerEntry(ABC):
    """Something with a deadline. Subclasses say in `expire` what happens then."""

    __slots__ = ("_bucket", "_next", "_prev", "deadline_ms")

    deadline_ms: int
    """The instant it is due, on the clock of the wheel it is in. Move it with `add` or `postpone` only."""
    _bucket: Bucket | None
    """Where it lies; None when it is in no wheel, and then it has no neighbours either."""
    _next: TimerEntry
    _prev: TimerEntry

    def __init__(self, deadline_ms: int = NEVER_MS) -> None:
        self.deadline_ms = deadline_ms
        self._bucket = None

    @property
    def is_pending(self) -> bool:
        """Whether it is in a wheel, waiting for its deadline."""
        return self._bucket is not None

    @property
    def name(self) -> str:
        """Its purpose, for listings of timers."""
        return type(self).__name__

    @abstractmethod
    def expire(self) -> None:
        """The deadline has passed: called at most once for each time the entry was added. It may be added again."""


class Bucket(TimerEntry):
    """A ring of entries in the order they came, itself the joint of the ring. Its deadline is when its span begins."""

    __slots__ = ()

    def __init__(self) -> None:
        self.deadline_ms = _NOT_QUEUED
        self._bucket = None
        self._next = self._prev = self

    @property
    def is_empty(self) -> bool:
        return self._next is self

    def expire(self) -> None:
        raise AssertionError("a bucket is emptied, it does not expire")


class Wheel:
    """One wheel: buckets of `tick_ms` each, together reaching from `clock_ms`, a multiple of the tick, to `end_ms`."""

    __slots__ = ("buckets", "clock_ms", "end_ms", "span_ms", "tick_ms")

    def __init__(self, tick_ms: int, bucket_count: int, now_ms: int) -> None:
        self.tick_ms = tick_ms
        self.span_ms = tick_ms * bucket_count
        self.clock_ms = now_ms - now_ms % tick_ms
        self.end_ms = self.clock_ms + self.span_ms
        self.buckets = [Bucket() for _ in range(bucket_count)]


class TimingWheel:
    """The hierarchy. It reads no clock: its timer says what time it is."""

    __slots__ = ("_bucket_count", "_due", "_queue", "clock_ms", "size", "wheels")

    def __init__(self, now_ms: int = 0, bucket_count: int = BUCKETS) -> None:
        assert now_ms >= 0, "negative instants are past ones"
        self.clock_ms = now_ms
        """When the wheel was last looked at: every bucket due by then has been emptied."""
        self.size = 0
        """Entries pending: added, and neither fired nor cancelled."""
        self.wheels = [Wheel(TICK_MS, bucket_count, now_ms)]
        """Finest first."""
        self._bucket_count = bucket_count
        self._queue: list[tuple[int, int, Bucket]] = []  # (deadline_ms, -tick_ms, bucket): coarse before fine
        self._due = Bucket()  # what `due` is about to hand out

    def add(self, entry: TimerEntry, deadline_ms: int) -> int:
        """Wait for `deadline_ms`, past or future; an entry already pending is moved. Return when its bucket is due."""
        if entry._bucket is None:
            self.size += 1
        else:
            _unlink(entry)
        entry.deadline_ms = deadline_ms
        return self._insert(entry)

    def postpone(self, entry: TimerEntry, deadline_ms: int) -> None:
        """Move the deadline: as `add`, but at next to no cost when it moves later, as deadlines nearly always do."""
        bucket = entry._bucket
        if bucket is not None and deadline_ms >= bucket.deadline_ms:
            entry.deadline_ms = deadline_ms
        else:
            self.add(entry, deadline_ms)

    def cancel(self, entry: TimerEntry) -> bool:
        """Forget an entry; False if it was not pending. It must not be pending in another wheel."""
        if entry._bucket is None:
            return False
        _unlink(entry)
        self.size -= 1
        return True

    def next_deadline_ms(self) -> int | None:
        """When the next bucket is due that holds anything, and so the latest moment to look again; None: no entries.

        No entry is due before; that bucket's own may be due later, if it is a coarse one or they were postponed.
        """
        if not self._due.is_empty:
            return self.clock_ms
        queue = self._queue
        while queue:
            deadline_ms, _, bucket = queue[0]
            if not bucket.is_empty:
                return deadline_ms
            heappop(queue)  # all its entries were cancelled
            bucket.deadline_ms = _NOT_QUEUED
        return None

    def due(self, now_ms: int) -> Iterator[TimerEntry]:
        """Move to `now_ms` and take out each entry due by then, in the order of deadlines.

        An entry leaves the wheel only when its turn comes, so until then it can be cancelled or postponed by what the
        ones before it do; and if the caller stops midway, the rest is there the next time. What is added meanwhile and
        due already waits for the next call, so that an entry which keeps adding itself can't hold up the caller.
        """
        self._collect(now_ms)
        due = self._due
        while not due.is_empty:
            entry = due._next
            _unlink(entry)
            if entry.deadline_ms > self.clock_ms:
                self._insert(entry)
            else:
                self.size -= 1
                yield entry

    def _insert(self, entry: TimerEntry) -> int:
        clock_ms = self.clock_ms
        due_ms = entry.deadline_ms if entry.deadline_ms > clock_ms else clock_ms  # what is due already is due now
        for wheel in self.wheels:
            if due_ms < wheel.end_ms:
                break
        else:
            wheel = self._add_overflow_wheel(due_ms)
        bucket = wheel.buckets[due_ms // wheel.tick_ms % self._bucket_count]
        _link(entry, bucket)
        if bucket.deadline_ms == _NOT_QUEUED:
            bucket.deadline_ms = due_ms - due_ms % wheel.tick_ms
            heappush(self._queue, (bucket.deadline_ms, -wheel.tick_ms, bucket))
        return bucket.deadline_ms

    def _add_overflow_wheel(self, due_ms: int) -> Wheel:
        """Add wheels until one reaches `due_ms`, and return that."""
        while True:
            wheel = Wheel(self.wheels[-1].span_ms, self._bucket_count, self.clock_ms)
            self.wheels.append(wheel)
            if due_ms < wheel.end_ms:
                return wheel

    def _collect(self, now_ms: int) -> None:
        """Empty every bucket due by `now_ms`, earliest first: what is due into `_due`, the rest into other buckets."""
        queue = self._queue
        while queue and queue[0][0] <= now_ms:
            deadline_ms, _, bucket = heappop(queue)
            self._move_clocks(deadline_ms)
            bucket.deadline_ms = _NOT_QUEUED
            entry = bucket._next
            bucket._next = bucket._prev = bucket
            while entry is not bucket:
                following = entry._next
                if entry.deadline_ms > deadline_ms:
                    self._insert(entry)  # from a coarse bucket, or postponed
                else:
                    _link(entry, self._due)
                entry = following
        self._move_clocks(now_ms)

    def _move_clocks(self, now_ms: int) -> None:
        if now_ms <= self.clock_ms:
            return
        self.clock_ms = now_ms
        for wheel in self.wheels:
            if now_ms < wheel.clock_ms + wheel.tick_ms:
                return  # it has not ticked, so neither have the coarser ones
            wheel.clock_ms = now_ms - now_ms % wheel.tick_ms
            wheel.end_ms = wheel.clock_ms + wheel.span_ms

    def pending(self) -> Iterator[TimerEntry]:
        """Every pending entry, in no order. It walks all buckets: for listings, not for work."""
        yield from _walk(self._due)
        for wheel in self.wheels:
            for bucket in wheel.buckets:
                yield from _walk(bucket)

    def check(self) -> None:
        """Assert what always holds between calls. It walks every entry: for tests."""
        queued = {id(bucket) for _, _, bucket in self._queue}
        assert len(queued) == len(self._queue), "a bucket is queued at most once"
        size = sum(1 for _ in _walk(self._due))
        for wheel in self.wheels:
            assert wheel.clock_ms == self.clock_ms - self.clock_ms % wheel.tick_ms, "every wheel has ticked"
            for bucket in wheel.buckets:
                assert (bucket.deadline_ms != _NOT_QUEUED) == (id(bucket) in queued)
                for entry in _walk(bucket):
                    size += 1
                    assert entry._bucket is bucket
                    assert self.clock_ms <= bucket.deadline_ms < wheel.end_ms, "a bucket in use lies ahead"
                    earliest_ms = max(entry.deadline_ms, self.clock_ms)
                    assert bucket.deadline_ms <= earliest_ms, "no entry is looked at too late"
        assert size == self.size, "every entry pending is counted"


def _link(entry: TimerEntry, bucket: Bucket) -> None:
    last = bucket._prev
    entry._bucket = bucket
    entry._prev = last
    entry._next = bucket
    last._next = bucket._prev = entry


def _unlink(entry: TimerEntry) -> None:
    entry._prev._next = entry._next
    entry._next._prev = entry._prev
    entry._bucket = None
    del entry._next, entry._prev  # or a chain of dead entries would be kept alive by one of them


def _walk(bucket: Bucket) -> Iterator[TimerEntry]:
    entry = bucket._next
    while entry is not bucket:
        yield entry
        entry = entry._next
