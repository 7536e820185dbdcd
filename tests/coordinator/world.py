"""A world for random walks: one group, its log, its timers and everybody who was ever answered.

It does what the owner and the coordinator do, but appends can fail, or take their time, as the walk decides. It keeps
account of every request: nobody may be answered twice, and in the end everybody was answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

from ottla.coordinator.classic.events import Event, Request
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.step import step
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.kinds import KINDS
from ottla.coordinator.groups.refusals import all_requests
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.kinds.outside import Outside
from ottla.coordinator.offsets.events import TransactionEnded
from ottla.coordinator.runtime.effects import Append, Arm, Disarm, Effect, Ended, Reply
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired, Unloaded
from ottla.coordinator.runtime.records import Record
from ottla.events.kinds.groups import NOTED
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records import NO_PRODUCER_ID
from tests.coordinator.actors import Name, classic


class World:
    """One group id, and what becomes of it."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.now_ms = 1_000_000
        self.group: Group | None = None
        self.log: list[Record] = []
        self.producers: dict[int, int] = {}
        """Those that wrote in a transaction, by the place of their record in the log."""
        self.markers: list[tuple[int, int, bool]] = []
        """The place in the log before which a marker stands, its producer, and whether it is a commit."""
        self.timers: dict[str, int] = {}
        self.answers: Counter[str] = Counter()
        self.append_error = ErrorCode.NONE
        """How appends end from now on."""
        self.delays_appends = False
        """Whether they wait for `complete_append`."""
        self.appends: list[tuple[Append, ErrorCode, Group]] = []
        self.is_group_written = True
        """Whether the log's last word on the group is the group's own."""
        self.observers: list[Callable[[Reply], None]] = []
        self._numbers = count(1)

    # ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def token(self, words: str) -> Name:
        return Name(f"{words} {next(self._numbers)}")

    def submit(self, event: Request) -> None:
        token = str(event.token)
        self.answers[token] += 0
        if self.group is None:
            row = all_requests(KINDS)[event.__class__]
            if not row.creates_group(event):
                if row.errors[Outside.ABSENT] is not None:
                    self._reply(Reply(event.token, row.refusal("group", event, Outside.ABSENT)))
                return
            self.group = self._new_group()
        self.happen(event)

    def happen(self, event: Event) -> None:
        assert self.group is not None
        self._step(self.group, event)

    # ── Time and the log ──────────────────────────────────────────────────────────────────────────────────────────────

    def advance(self, by_ms: int) -> None:
        end_ms = self.now_ms + by_ms
        while due := [(deadline_ms, key) for key, deadline_ms in self.timers.items() if deadline_ms <= end_ms]:
            deadline_ms, timer_key = min(due)
            del self.timers[timer_key]
            self.now_ms = max(self.now_ms, deadline_ms)
            self.happen(TimerExpired(timer_key))
        self.now_ms = end_ms

    def complete_append(self) -> None:
        """The oldest append that waits is done; it was decided when it began how."""
        append, error, group = self.appends.pop(0)
        if error is ErrorCode.NONE:
            if append.writer is not None:
                places = range(len(self.log), len(self.log) + len(append.records))
                self.producers |= dict.fromkeys(places, append.writer.producer_id)
            self.log += append.records
        self._step(group, AppendCompleted(append.completion, error))

    def complete_all(self) -> None:
        while self.appends:
            self.complete_append()

    def reload(self) -> None:
        """The node dies, and another one reads the log."""
        if self.group is not None:
            self.happen(Unloaded())
        self.complete_all()
        self.group = self.read_back()
        self.timers.clear()
        self.is_group_written = True
        if self.group is not None:
            self.happen(Loaded())

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """A marker is written, and the group hears of it."""
        self.markers.append((len(self.log), producer_id, is_commit))
        if self.group is not None:
            self.happen(TransactionEnded(producer_id, is_commit))

    def read_back(self) -> Group | None:
        """The group as the log has it."""
        shard = GroupShard(0, self.config, self.now_ms)
        markers = list(self.markers)
        for place in range(len(self.log) + 1):
            while markers and markers[0][0] == place:
                _, producer_id, is_commit = markers.pop(0)
                shard.end_transaction(producer_id, is_commit=is_commit)
            if place < len(self.log):
                shard.replay(*self.log[place], self.producers.get(place, NO_PRODUCER_ID))
        assert not shard.unknown_types
        return classic(shard.machines["group"]) if shard.machines else None

    def replayed(self, records: list[Record]) -> Group | None:
        shard = GroupShard(0, self.config, self.now_ms)
        shard.replay_all(records)
        assert not shard.unknown_types
        return classic(shard.machines["group"]) if shard.machines else None

    @property
    def compacted_log(self) -> list[Record]:
        """Only the last record of each key, in the order of the log. Of a log without transactions."""
        last = {key: number for number, (key, _) in enumerate(self.log)}
        return [self.log[number] for number in sorted(last.values())]

    def close(self) -> None:
        """Let everything come to an end; then everybody must have been answered."""
        self.append_error = ErrorCode.NONE
        self.complete_all()
        if self.group is not None:
            self.happen(Unloaded())
        self.complete_all()
        unanswered = [token for token, answers in self.answers.items() if answers != 1]
        assert not unanswered, f"never answered: {unanswered}"

    # ── Inside ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _new_group(self) -> Group:
        self.is_group_written = True
        return Group("group", self.config, self.now_ms, is_unwritten=True, notes_wanted=frozenset(NOTED))

    def _step(self, group: Group, event: Event) -> None:
        generation_before = group.generation_id
        appends = [effect for effect in step(group, self.now_ms, event) if self._perform(group, effect)]
        group.check()
        assert group.generation_id - generation_before in {0, 1}, "generations come one by one"
        if group is self.group:
            assert self.timers == group.deadlines
        for append in appends:
            self.appends.append((append, self.append_error, group))  # type: ignore[arg-type]
            if self.append_error is not ErrorCode.NONE and any(key[:2] == b"\0\2" for key, _ in append.records):  # type: ignore[union-attr]
                self.is_group_written = False
        if not self.delays_appends:
            self.complete_all()

    def _perform(self, group: Group, effect: Effect) -> bool:
        if isinstance(effect, Reply):
            self._reply(effect)
        elif group is self.group:
            if isinstance(effect, Arm):
                self.timers[effect.timer_key] = effect.deadline_ms
            elif isinstance(effect, Disarm):
                del self.timers[effect.timer_key]
            elif isinstance(effect, Ended):
                assert group.state is GroupState.DEAD
                self.timers.clear()
                self.group = None
        return isinstance(effect, Append)

    def _reply(self, reply: Reply) -> None:
        if getattr(reply.response, "error_code", ErrorCode.NONE) == ErrorCode.UNKNOWN_SERVER_ERROR:
            # A static member that restarts and names a protocol twice has its new id by then, and that isn't written.
            # In Kafka an exception leaves it so, too.
            self.is_group_written = False
        token: Any = reply.token
        assert token in self.answers, f"{token} never asked"
        self.answers[token] += 1
        assert self.answers[token] == 1, f"{token} was answered twice"
        for observer in self.observers:
            observer(reply)
