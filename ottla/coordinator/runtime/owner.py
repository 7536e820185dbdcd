"""The task that owns a group: it takes events from an inbox, steps, and performs the effects.

    handlers ──post──▶ inbox ──drain──▶ step(group, now_ms, event) ──effects──▶ answers · log · timers · journal
                         ▲                                                           │
                         └──────────────────── a timer ran out ◀─────────────────────┘

Nobody else touches the group, and between a step and its effects nobody else runs, so there are no locks. When woken
it takes everything there is; the inbox holds no more than what arrived within one turn of the loop. Appends are done
at once, and the group hears of them before its next event; only commits that follow one another share an append.

A step that raises is a bug, and the group is not to be trusted from then on: it ends, and whoever waits for it is told
to look for another coordinator. There is none, but other groups go on.

Timers are delayed operations: they complete when the group lets go of them, or expire and put themselves into the
inbox. By the time they are taken out they may have been armed anew or stopped; then another operation has their
place, or none, and they mean nothing. Moving a deadline, as each heartbeat does, is `Timer.postpone`: next to
nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, final

from ottla.coordinator.classic.events import AppendCompleted, Event, OffsetCommitRequested, TimerExpired, Unloaded
from ottla.coordinator.classic.step import step
from ottla.coordinator.notes import Note
from ottla.coordinator.runtime.effects import JOIN_TIMER, SYNC_TIMER, Append, Arm, Disarm, Effect, Ended, Reply
from ottla.protocol.errors import ErrorCode
from ottla.purgatory import DelayedOperation, Purgatory, Timer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Record


class GroupLog(Protocol):
    """The partitions of __consumer_offsets."""

    def append(self, partition: int, records: Sequence[Record], /) -> ErrorCode:
        """Append the records as one batch: all of them or none, and say why not. What is NONE is durable."""


class NoteSink(Protocol):
    """Who is told what happens in groups."""

    def __call__(self, group_id: str, timestamp_ms: int, note: Note, /) -> None: ...


class Surroundings:
    """What all owners of a node share."""

    __slots__ = ("failed", "heartbeats", "log", "notes", "rebalances", "resubmit", "timer")

    def __init__(
        self,
        log: GroupLog,
        timer: Timer,
        notes: NoteSink | None,
        resubmit: Callable[[Owner, list[Event]], None],
        failed: Callable[[Owner], None] | None,
    ) -> None:
        self.log = log
        self.timer = timer
        self.notes = notes
        self.resubmit = resubmit
        """Called by an owner whose group has ended, with what was still in its inbox."""
        self.failed = failed
        """Called by an owner that has met a bug, before that, while the error is being handled. None: it is raised."""
        self.heartbeats: Purgatory[GroupTimer] = Purgatory("Heartbeat", timer)
        """Sessions, of members and of ids that were handed out."""
        self.rebalances: Purgatory[GroupTimer] = Purgatory("Rebalance", timer)
        """Join phases, and sync phases."""


@final
class GroupTimer(DelayedOperation):
    """A timer of a group. It completes when the group lets go of it, and tells the group when it expires."""

    __slots__ = ("is_released", "owner", "timer_key")

    def __init__(self, owner: Owner, timer_key: str, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.owner = owner
        self.timer_key = timer_key
        self.is_released = False

    def try_complete(self) -> bool:
        return self.is_released and self.force_complete()

    def on_complete(self) -> None:
        """Nobody waits for it: answers leave by the group's own doing."""

    def on_expiration(self) -> None:
        self.owner.post(self)


Item: TypeAlias = "Event | GroupTimer"


class Owner:
    """The owner of one group. `run` is its task."""

    __slots__ = (
        "_appends",
        "_now_ms",
        "_skew_ms",
        "_timers",
        "_waiter",
        "_with",
        "group",
        "inbox",
        "is_ended",
        "partition",
    )

    def __init__(self, group: Group, partition: int, surroundings: Surroundings) -> None:
        self.group = group
        self.partition = partition
        self.inbox: deque[Item] = deque()
        self.is_ended = False
        self._with = surroundings
        self._timers: dict[str, GroupTimer] = {}
        self._appends: list[Append] = []
        self._waiter: asyncio.Future[None] | None = None
        self._now_ms = 0
        self._skew_ms = 0  # from dates, which groups think in, to the instants of timers

    def post(self, item: Item) -> None:
        """Put something into the inbox, and wake the task."""
        self.inbox.append(item)
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    async def run(self) -> None:
        """Live as long as the group does."""
        loop = asyncio.get_running_loop()
        while not self.is_ended:
            if not self.inbox:
                self._waiter = loop.create_future()
                await self._waiter
            self.drain()

    def drain(self) -> None:
        """Take everything out of the inbox. It never waits, so whoever is in charge of the task may call it too."""
        clock = self._with.timer.clock
        self._now_ms = clock.wall_ms()
        self._skew_ms = clock.now_ms() - self._now_ms
        group, now_ms, inbox = self.group, self._now_ms, self.inbox
        item: Item | None = None
        try:
            while inbox and not self.is_ended:
                item = inbox.popleft()
                is_commit = item.__class__ is OffsetCommitRequested
                if self._appends and not is_commit:
                    self._write()  # whatever it is, it finds what was committed before
                if type(item) is not GroupTimer:  # a fifth of what isinstance takes, as it is an abstract class
                    self._perform(step(group, now_ms, item))
                elif self._let_expire(item):
                    self._perform(step(group, now_ms, TimerExpired(item.timer_key)))
                if self._appends and not is_commit:
                    self._write()
            self._write()
        except Exception:
            if self._with.failed is None:
                raise
            self._with.failed(self)
            self._give_up(item)
        if self.is_ended:
            leftover = [item for item in inbox if not isinstance(item, GroupTimer)]
            inbox.clear()
            self._with.resubmit(self, leftover)

    def _give_up(self, item: Item | None) -> None:
        """End a group that has met a bug at `item`: answer whom it still knows to be waiting, as far as that goes."""
        unwritten, self._appends = self._appends, []
        events: list[Event] = [AppendCompleted(a.completion, ErrorCode.UNKNOWN_SERVER_ERROR) for a in unwritten]
        for event in (*events, Unloaded()):
            with suppress(Exception):
                self._perform(effect for effect in step(self.group, self._now_ms, event) if isinstance(effect, Reply))
        self._end(Ended())
        if item is not None:
            self.inbox.appendleft(item)

    def _perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            _PERFORM[effect.__class__](self, effect)

    def _reply(self, effect: Reply) -> None:
        effect.token.answer(effect.response)

    def _arm(self, effect: Arm) -> None:
        deadline_ms = effect.deadline_ms + self._skew_ms
        timer = self._timers.get(effect.timer_key)
        if timer is not None and not timer.is_completed:
            self._with.timer.postpone(timer, deadline_ms)
            return
        timer = self._timers[effect.timer_key] = GroupTimer(self, effect.timer_key, deadline_ms)
        self._purgatory_of(timer).try_complete_else_watch(timer, [self._watch_key(timer)])

    def _disarm(self, effect: Disarm) -> None:
        timer = self._timers.pop(effect.timer_key, None)
        if timer is not None:
            self._release(timer)

    def _let_expire(self, timer: GroupTimer) -> bool:
        """Whether an expired timer still matters: it does if nothing has taken its place since."""
        is_current = self._timers.get(timer.timer_key) is timer
        if is_current:
            del self._timers[timer.timer_key]
        self._release(timer)
        return is_current

    def _release(self, timer: GroupTimer) -> None:
        timer.is_released = True
        self._purgatory_of(timer).check_and_complete(self._watch_key(timer))

    def _purgatory_of(self, timer: GroupTimer) -> Purgatory[GroupTimer]:
        is_rebalance = timer.timer_key in _REBALANCE_TIMERS
        return self._with.rebalances if is_rebalance else self._with.heartbeats

    def _watch_key(self, timer: GroupTimer) -> tuple[str, str]:
        return self.group.group_id, timer.timer_key

    def _append(self, effect: Append) -> None:
        self._appends.append(effect)

    def _write(self) -> None:
        """Append what was asked for, and let the group hear how that went; it may then ask for more."""
        while self._appends:
            appends, self._appends = self._appends, []
            try:
                self._write_together(appends)
            except Exception:
                self._appends = appends  # for `_give_up`: whoever is answered already won't be answered again
                raise

    def _write_together(self, appends: Sequence[Append]) -> None:
        error = self._with.log.append(self.partition, [record for append in appends for record in append.records])
        is_too_large_together = error in _TOO_LARGE and len(appends) > 1
        for append in appends:
            if is_too_large_together:
                error = self._with.log.append(self.partition, append.records)
            self._perform(step(self.group, self._now_ms, AppendCompleted(append.completion, error)))

    def _note(self, effect: Note) -> None:
        if self._with.notes is not None:
            self._with.notes(self.group.group_id, self._now_ms, effect)

    def _end(self, _effect: Ended) -> None:
        self.is_ended = True
        while self._timers:
            self._release(self._timers.popitem()[1])


_TOO_LARGE: Final = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
_REBALANCE_TIMERS: Final = frozenset({JOIN_TIMER, SYNC_TIMER})

_PERFORM: Final[Mapping[type, Callable[[Owner, Any], None]]] = {
    Reply: Owner._reply,
    Arm: Owner._arm,
    Disarm: Owner._disarm,
    Append: Owner._append,
    Note: Owner._note,
    Ended: Owner._end,
}
