"""The task that owns a machine: it takes events from an inbox, steps, and performs the effects.

    requests ──post──▶ inbox ──drain──▶ step(machine, now_ms, event) ──effects──▶ answers · log · timers · notices
                         ▲                                                           │
                         └──────────────────── a timer ran out ◀─────────────────────┘

Only the owner touches the machine, and nothing else runs between a step and its effects, so there are no locks. When
woken the owner takes everything there is; the inbox holds no more than what arrived within one turn of the loop.
Appends are done at once, and the machine hears of them before its next event; only those of one class of events, which
its kind names, share a batch when they follow one another: commits of offsets, in groups.

An event that may be long, such as a commit of ten thousand offsets, is taken up by a fiber, which may be suspended
within the step (`pacing`). The machine stays half changed until then: what comes meanwhile waits in the inbox. A caller
that can't wait, such as the unloading of a partition, has it finished first (`drain`). The fiber may be suspended while
a batch is built as well, but never between the checks of the log and the append.

A step that raises is a bug, and the machine is not to be trusted from then on: it ends. The request at which it
happened is answered by the caller of the runtime, the senders of what waits are told to look for the coordinator, and
that one reads the machine anew from its log (`Runtime.start_recovery`). Other machines go on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Protocol

from ottla.coordinator.runtime.effects import Append, Arm, Ask, Become, Disarm, Effect, Ended, Notice, Reply
from ottla.coordinator.runtime.events import AppendCompleted, TimerExpired, Unloaded
from ottla.coordinator.runtime.holding import AppendHeld
from ottla.coordinator.runtime.kind import M, StepFailed
from ottla.coordinator.runtime.log import Log
from ottla.coordinator.runtime.shard import Shard
from ottla.coordinator.runtime.timers import MachineTimer, Timers
from ottla.pacing import Fiber, Pace, lift_bounds, paced_each, without_suspension, yield_turn
from ottla.protocol.errors import ErrorCode
from ottla.purgatory import Purgatory, Timer


class NoticeSink(Protocol):
    """A reader of what machines have to tell. `notice` is of the class that the kind of machine makes."""

    def __call__(self, key: str, timestamp_ms: int, notice: Any, /) -> None: ...


class KeepBack(Protocol):
    """May keep back a timer that ran out, and post it later. Until then the machine does not know."""

    def __call__(self, owner: Owner[Any], timer: MachineTimer, /) -> bool:
        """Whether it is kept back."""


class OwnerContext:
    """What all owners of a runtime share."""

    __slots__ = ("ask", "ended", "failed", "keep_back", "log", "notices", "pace", "purgatories", "refuse", "timer")

    def __init__(
        self,
        log: Log,
        timer: Timer,
        purgatories: Iterable[str],
        notices: NoticeSink | None,
        ended: Callable[[Owner[Any], list[Any]], None],
        refuse: Callable[[str, Any], None],
        failed: Callable[[Owner[Any], Exception], None] | None,
        pace: Pace | None,
        ask: Callable[[str, Any], None] | None,
    ) -> None:
        self.log = log
        self.timer = timer
        self.purgatories = {name: Purgatory[MachineTimer](name, timer) for name in purgatories}
        """By their names; each kind of machine says which of its timers wait in which."""
        self.notices = notices
        """The reader of what machines tell; None: there is none."""
        self.ended = ended
        """Called by an owner when its machine has ended, with the requests that were still in its inbox."""
        self.refuse = refuse
        """Answers the request, if it is one, at which the machine of this key has met a bug."""
        self.failed = failed
        """Called by an owner that has met a bug, before that, while the error is being handled. None: it is raised."""
        self.ask = ask
        """Does what the machine of this key asks for; None: machines of this kind ask for nothing."""
        self.pace = pace
        """What is long is done in its slices; None: in one go."""
        self.keep_back: KeepBack | None = None
        """May keep back timers that ran out; None: all are posted at once."""


class Owner(Generic[M]):
    """The owner of one machine. `run` is its task."""

    __slots__ = (
        "_appends",
        "_decided",
        "_fiber",
        "_held",
        "_now_ms",
        "_sharing",
        "_skew_ms",
        "_step",
        "_takes_long",
        "_timers",
        "_waiter",
        "_with",
        "alive",
        "inbox",
        "key",
        "kind",
        "machine",
        "shard",
    )

    def __init__(self, key: str, machine: M, shard: Shard[M], context: OwnerContext) -> None:
        self.key = key
        self.kind = kind = shard.kind_of(machine)
        self.machine = machine
        self.alive: M | None = machine
        """The machine while it lives; None: it has ended."""
        self.shard = shard
        self.inbox: deque[Any] = deque()
        """Requests, events of the runtime, and timers that ran out."""
        self._step = kind.step
        self._sharing = kind.sharing
        self._with = context
        self._timers = Timers(key, context.timer, context.purgatories, kind.purgatory_of, self._ran_out)
        self._appends: list[Append] = []
        #: What is held of what was to be written; until it is decided about nothing else is done.
        self._held: AppendHeld | None = None
        #: Where what was held is written to; None: nothing was.
        self._decided: Log | None = None
        self._waiter: asyncio.Future[None] | None = None
        #: Is there something in the inbox that may be long, or half done?
        self._takes_long = False
        #: Does the rest of what is half done.
        self._fiber: Fiber | None = None
        self._now_ms = 0
        self._skew_ms = 0  # from dates, which machines think in, to the instants of timers

    @property
    def is_ended(self) -> bool:
        """Whether the machine is no more, and nothing may be sent to it."""
        return self.alive is None

    @property
    def is_at_work(self) -> bool:
        """Whether a step is half done, or what it writes is held."""
        return self._fiber is not None or self._held is not None

    @property
    def is_settled(self) -> bool:
        """Whether it does nothing by itself now: it has nothing to do, or may not."""
        return self._held is not None or (not self.inbox and self._fiber is None)

    @property
    def is_at_rest(self) -> bool:
        """Whether what it is given to `take` is done before that returns: it has nothing to do, and sleeps."""
        return self._waiter is not None and not self._takes_long and not self.inbox

    def post(self, item: Any) -> None:
        """Put something into the inbox, and wake the task."""
        self.inbox.append(item)
        waiter = self._waiter
        if waiter is not None:  # `_wake` without its call, which each event would pay for
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def take(self, item: Any) -> None:
        """Do it now, in the caller's turn; if something is before it or under way, put it into the inbox."""
        if self._waiter is None or self._takes_long:
            self.post(item)
        else:
            self.inbox.append(item)
            self._drain_here()

    def _ran_out(self, timer: MachineTimer) -> None:
        keep_back = self._with.keep_back
        if keep_back is None or not keep_back(self, timer):
            (self.post_long if self.kind.has_long_timers else self.post)(timer)

    def post_long(self, item: Any) -> None:
        """The same, with something that may be long to do."""
        self._takes_long = self._with.pace is not None
        self.post(item)

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    @property
    def timers(self) -> Mapping[str, MachineTimer]:
        """The machine's timers that run, by key. To look at."""
        return self._timers.armed

    async def run(self) -> None:
        """Live as long as the machine does."""
        loop = asyncio.get_running_loop()
        while self.alive is not None:
            if self.inbox and not self._takes_long:
                self._drain()
            elif self.inbox and not self.is_at_work:
                self._drain_in_slices()
            else:
                self._waiter = loop.create_future()
                await self._waiter

    def drain(self) -> None:
        """Take everything out of the inbox, now, from outside the task: what is half done is finished first."""
        if self._fiber is not None:
            assert self._with.pace is not None
            self._with.pace.finish(self._fiber)  # and what is in the inbox with it
        elif self._held is None:
            self._drain_here()
        while self._held is not None:
            self._held.finish()

    def _hold(self, held: AppendHeld) -> None:
        """Do nothing more until it is decided about."""
        self._held, self._takes_long = held, True
        held.go_on = self._go_on

    def _go_on(self, log: Log) -> None:
        self._held, self._decided, self._takes_long = None, log, False
        self._drain_here()

    def _drain_here(self) -> None:
        """Take everything out of the inbox in the caller's turn, and not in the task's."""
        waiter, self._waiter = self._waiter, None  # what comes meanwhile finds it at work, and the task sleeps on
        try:
            without_suspension(self._drain)
        finally:
            self._waiter = waiter
            if self.inbox or self.alive is None:
                self._wake()

    def _drain_in_slices(self) -> None:
        assert self._with.pace is not None
        self._fiber = self._with.pace.run(self._work_off)

    def _work_off(self) -> None:
        lift_bounds()
        try:
            self._drain(in_slices=True)
        finally:
            self._takes_long, self._fiber = self._held is not None, None
            self._wake()

    def _look_at_clock(self) -> int:
        clock = self._with.timer.clock
        self._now_ms = now_ms = clock.wall_ms()
        self._skew_ms = clock.now_ms() - now_ms
        return now_ms

    def _yield_turn(self) -> int:
        """The task may be suspended here; returns what the date is then."""
        yield_turn()
        lift_bounds()
        return self._look_at_clock()

    def _drain(self, *, in_slices: bool = False) -> None:
        """Take everything out of the inbox. Only one call of this is under way at a time."""
        now_ms = self._look_at_clock()
        machine, inbox = self.machine, self.inbox
        item: Any = None
        try:
            if self._decided is not None:
                decided, self._decided = self._decided, None
                self._write(decided)
                machine = self.machine
            step, sharing = self._step, self._sharing
            while inbox and self.alive is machine:
                item = inbox.popleft()
                item_class = item.__class__
                shares = item_class is sharing
                if self._appends and not shares:
                    self._write_before(item)  # the machine finds what was written before
                    if self.alive is not machine:
                        inbox.appendleft(item)
                        break
                if item_class is not MachineTimer:  # a fifth of what isinstance takes, as it is an abstract class
                    self._perform(step(machine, now_ms, item))
                elif self._timers.let_expire(item):
                    self._perform(step(machine, now_ms, TimerExpired(item.timer_key)))
                if self._appends and not shares:
                    self._write()
                if in_slices and inbox:
                    now_ms = self._yield_turn()
            if self._appends:
                self._write()
        except AppendHeld as held:
            self._hold(held)
        except Exception as error:
            if self._with.failed is None:
                raise
            try:
                self._with.failed(self, error)
            finally:
                self._give_up(item, error)
        if self.alive is None:
            leftover = [item for item in inbox if not isinstance(item, MachineTimer)]
            inbox.clear()
            self._with.ended(self, leftover)
        elif self.alive is not machine and self._held is None:
            self._drain(in_slices=in_slices)  # what is left is for the one that it has become

    def _give_up(self, item: Any, error: Exception) -> None:
        """End a machine that has met a bug at `item`: answer what it still knows to be waiting, as far as that goes."""
        if isinstance(error, StepFailed):
            self._answer(error.effects)
        unwritten, self._appends = self._appends, []
        events = [AppendCompleted(a.completion, ErrorCode.UNKNOWN_SERVER_ERROR) for a in unwritten]
        for event in (*events, Unloaded()):
            with suppress(Exception):
                self._answer(self._step(self.machine, self._now_ms, event))
        self._end(Ended())
        self._with.refuse(self.key, item)

    def _answer(self, effects: Iterable[Effect]) -> None:
        """Do nothing of these but to answer."""
        self._perform(effect for effect in effects if isinstance(effect, Reply))

    def _perform(self, effects: Iterable[Effect]) -> None:
        left = iter(effects)
        try:
            for effect in left:
                _PERFORM[effect.__class__](self, effect)
        except Exception:
            self._answer(left)  # the machine won't be asked again for the answers it was about to give
            raise

    def _reply(self, effect: Reply) -> None:
        effect.token.answer(effect.response)

    def _arm(self, effect: Arm) -> None:
        self._timers.arm(effect.timer_key, effect.deadline_ms + self._skew_ms)

    def _disarm(self, effect: Disarm) -> None:
        self._timers.disarm(effect.timer_key)

    def _append(self, effect: Append) -> None:
        self._appends.append(effect)

    def _write(self, decided: Log | None = None) -> None:
        """Append what was asked for, and let the machine hear how that went; it may then ask for more.

        `decided`: where the first of it is written to, as it was held; None: it was not.
        """
        while self._appends:
            appends, self._appends = self._appends, []
            try:
                self._write_together(appends, self._with.log if decided is None else decided)
            except Exception:
                self._appends = appends  # for `_give_up`: what is answered already won't be answered again
                raise
            decided = None

    def _write_before(self, item: Any) -> None:
        try:
            self._write()
        except AppendHeld:
            self.inbox.appendleft(item)
            raise

    def _write_together(self, appends: Sequence[Append], log: Log) -> None:
        records = [record for append in appends for record in append.records]
        writer = appends[0].writer
        if writer is None:
            error = log.append(self.shard.partition, records)
        else:
            assert len(appends) == 1, "what is written in a transaction is a batch of its own"
            error = log.append_in_transaction(self.shard.partition, records, writer)
        machine, step, replay = (
            self.machine,
            self._step,
            self.kind.replay,
        )  # which asked for it, and hears of it whatever it becomes
        is_too_large_together = error in _TOO_LARGE and len(appends) > 1
        for append in paced_each(appends):
            if is_too_large_together:
                error = log.append(self.shard.partition, append.records)
            if append.changes and not error:
                assert replay is not None, "only a kind with a replay has changes"
                for change in append.changes:
                    replay(machine, change)
            self._perform(step(machine, self._now_ms, AppendCompleted(append.completion, error)))

    def _tell(self, effect: Notice) -> None:
        if self._with.notices is not None:
            self._with.notices(self.key, self._now_ms, effect)

    def _ask(self, effect: Ask) -> None:
        assert self._with.ask is not None, "this kind of machine asks for something that nothing here does"
        self._with.ask(self.key, effect)

    def _become(self, effect: Become) -> None:
        assert not self._appends, "a machine becomes another once that is written"
        self._timers.disarm_all()
        self.machine = self.alive = self.shard.machines[self.key] = effect.machine
        self.kind = kind = self.shard.kind_of(effect.machine)
        self._step, self._sharing, self._timers.purgatory_of = kind.step, kind.sharing, kind.purgatory_of

    def _end(self, _effect: Ended) -> None:
        self.alive = None
        self._timers.disarm_all()


class _Performers(dict[type[Effect], Callable[[Owner[Any], Any], None]]):
    """How each effect is performed. Notices, and what is asked for, are of classes that the runtime doesn't know."""

    def __missing__(self, effect_class: type[Effect]) -> Callable[[Owner[Any], Any], None]:
        assert issubclass(effect_class, Notice | Ask), f"{effect_class.__name__} is no effect"
        return self.setdefault(effect_class, self[Ask if issubclass(effect_class, Ask) else Notice])


_TOO_LARGE: Final = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})

_PERFORM: Final[Mapping[type[Effect], Callable[[Owner[Any], Any], None]]] = _Performers(
    {
        Reply: Owner._reply,
        Arm: Owner._arm,
        Disarm: Owner._disarm,
        Append: Owner._append,
        Become: Owner._become,
        Ask: Owner._ask,
        Notice: Owner._tell,
        Ended: Owner._end,
    }
)
