"""A rota: its first member reads all partitions of a topic, the others wait for their turn.

Empty ──▶ Handover ──▶ Stable      a member enlists, is dismissed or falls silent: Handover
                                   all members have beaten, or the time is over: written, then Stable

key                    value
int16 60, group id     JSON: the generation, and the members in the order of their turns
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass, field
from enum import Enum
from struct import Struct
from typing import Any

from ottla.coordinator.config import GroupConfig
from ottla.coordinator.kinds.kind import GroupsOfShard
from ottla.coordinator.kinds.view import MemberView, WaitsFor
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.offsets import removal
from ottla.coordinator.offsets.commit import OffsetsWritten, keep_offsets, write_offsets
from ottla.coordinator.offsets.events import DeleteRequested, OffsetCommitRequested, OffsetFetchRequested
from ottla.coordinator.offsets.fetch import fetch
from ottla.coordinator.offsets.removal import TombstonesWritten
from ottla.coordinator.offsets.store import Offsets
from ottla.coordinator.runtime.effects import Append, Arm, Completion, Disarm, Effects, Ended, Reply, Token
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired, Unloaded
from ottla.coordinator.runtime.records import Record
from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

ROTA_TYPE = 60
SESSION_MS = 10_000
HANDOVER_MS = 3_000
_KEY = Struct(">hh")


class RotaState(Enum):
    EMPTY = "Empty"
    HANDOVER = "Handover"
    STABLE = "Stable"
    DEAD = "Dead"


class RotaCause(Enum):
    ENLISTED = "enlisted"
    DISMISSED = "dismissed"
    SILENT = "silent"
    CALLED = "called"


@dataclass
class EnlistRequested:
    """Answered with an error code when the rota that has the member is written."""

    token: Token
    member_id: str
    topic: str


@dataclass
class BeatRequested:
    """Answered with an error code."""

    token: Token
    member_id: str


@dataclass
class Dismissed:
    member_id: str
    cause: RotaCause
    reason: str | None = None


@dataclass
class Called:
    reason: str | None


@dataclass
class RotaWritten(Completion):
    generation_id: int


@dataclass
class Rota:
    group_id: str
    config: GroupConfig
    _now_ms: int
    is_unwritten: bool = False
    notes_wanted: Container[EventKind] = frozenset()
    state: RotaState = RotaState.EMPTY
    generation_id: int = 0
    turns: dict[str, str] = field(default_factory=dict)
    """The members in the order of their turns, and what each reads."""
    missing: dict[str, None] = field(default_factory=dict)
    waiting: list[Token] = field(default_factory=list)
    deadlines: dict[str, int] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=Offsets)
    notes: int = 0
    protocol_type = "rota"
    protocol_name = "turns"
    leader_id = None

    def check(self) -> None:
        assert bool(self.turns) == (self.state in (RotaState.HANDOVER, RotaState.STABLE))
        assert self.missing.keys() <= self.turns.keys()
        assert ("handover" in self.deadlines) == bool(self.missing)


def record(rota: Rota) -> Record:
    value = json.dumps([rota.generation_id, rota.turns]).encode()
    group_id = rota.group_id.encode()
    return _KEY.pack(ROTA_TYPE, len(group_id)) + group_id, value if rota.turns else None


def take_in(groups: GroupsOfShard, key: bytes, value: bytes | None) -> None:
    group_id = key[_KEY.size :].decode()
    if not groups.is_about(group_id):
        return
    former = groups.machines.pop(group_id, None)
    if value is not None:
        rota = groups.machines[group_id] = Rota(group_id, groups.config, 0, notes_wanted=groups.notes_wanted)
        rota.generation_id, rota.turns = json.loads(value)
        rota.state = RotaState.STABLE
        rota.offsets = rota.offsets if former is None else former.offsets


def members(rota: Rota) -> tuple[MemberView, ...]:
    whose = next(iter(rota.turns), None) if rota.state is RotaState.STABLE else None
    return tuple(
        MemberView(
            one, None, one, "/rota", (topic,), {topic: (0,)} if one == whose else {}, SESSION_MS, HANDOVER_MS, None
        )
        for one, topic in rota.turns.items()
    )


def waits_for(rota: Rota) -> WaitsFor | None:
    return WaitsFor("a beat", tuple(rota.missing), rota.deadlines["handover"]) if rota.missing else None


def describe_timer(timer_key: str) -> tuple[str, str | None]:
    return ("handover", None) if timer_key == "handover" else ("turn", timer_key.removeprefix("turn-"))


def step(rota: Rota, now_ms: int, event: Any) -> Effects:
    effects: Effects = []
    match event:
        case EnlistRequested(token, member_id, topic):
            if rota.is_unwritten:
                rota.is_unwritten = False
                note(rota, effects, GroupEvents.GROUP_CREATED, cause=Cause.JOIN)
            rota.turns[member_id] = topic
            rota.waiting.append(token)
            _arm(rota, effects, f"turn-{member_id}", now_ms + SESSION_MS)
            note(
                rota,
                effects,
                GroupEvents.GROUP_MEMBER_JOINED,
                member_id=member_id,
                client_id=member_id,
                client_host="/rota",
            )
            _hand_over(rota, now_ms, effects, RotaCause.ENLISTED, member_id, has_beaten=member_id)
        case BeatRequested(token, member_id):
            is_member = member_id in rota.turns
            effects.append(Reply(token, ErrorCode.NONE if is_member else ErrorCode.UNKNOWN_MEMBER_ID))  # type: ignore[arg-type]
            if is_member:
                _arm(rota, effects, f"turn-{member_id}", now_ms + SESSION_MS)
                if rota.missing:
                    rota.missing.pop(member_id, None)
                    _write_if_complete(rota, effects)
        case TimerExpired("handover"):
            del rota.deadlines["handover"]
            rota.missing.clear()
            _write_if_complete(rota, effects)
        case TimerExpired(timer_key):
            del rota.deadlines[timer_key]
            _remove(rota, now_ms, effects, timer_key.removeprefix("turn-"), RotaCause.SILENT, None)
        case Dismissed(member_id, cause, reason):
            _disarm(rota, effects, f"turn-{member_id}")
            _remove(rota, now_ms, effects, member_id, cause, reason)
        case Called(reason):
            _hand_over(rota, now_ms, effects, RotaCause.CALLED, None, reason=reason)
        case AppendCompleted(RotaWritten(generation_id), error):
            if generation_id == rota.generation_id and rota.state is RotaState.HANDOVER:
                rota.state = RotaState.STABLE
                note(rota, effects, GroupEvents.GROUP_REBALANCE_COMPLETED, protocol_name="turns")
                waiting, rota.waiting = rota.waiting, []
                effects += [Reply(token, error) for token in waiting]  # type: ignore[arg-type]
        case Loaded():
            note(rota, effects, GroupEvents.GROUP_LOADED, member_ids=list(rota.turns))
            for member_id in rota.turns:
                _arm(rota, effects, f"turn-{member_id}", now_ms + SESSION_MS)
        case Unloaded():
            effects += [Reply(token, ErrorCode.NOT_COORDINATOR) for token in rota.waiting]  # type: ignore[arg-type]
            _end(rota, effects)
        case _:
            _step_offsets(rota, now_ms, event, effects)
    return effects


def _step_offsets(rota: Rota, now_ms: int, event: Any, effects: Effects) -> None:
    match event:
        case OffsetCommitRequested():
            write_offsets(rota, now_ms, event, False, effects)
        case AppendCompleted(OffsetsWritten() as written, error):
            keep_offsets(rota, written, error, effects)
        case OffsetFetchRequested():
            fetch(rota.offsets, event, effects)
        case DeleteRequested():
            removal.delete_all(rota, event, (record(rota)[0], None), effects)
        case AppendCompleted(TombstonesWritten() as written, error):
            removal.tombstones_written(rota, written, error, effects)
            if written.ends_group:
                _end(rota, effects)


def _arm(rota: Rota, effects: Effects, timer_key: str, deadline_ms: int) -> None:
    rota.deadlines[timer_key] = deadline_ms
    effects.append(Arm(timer_key, deadline_ms))


def _disarm(rota: Rota, effects: Effects, timer_key: str) -> None:
    if rota.deadlines.pop(timer_key, None) is not None:
        effects.append(Disarm(timer_key))


def _remove(rota: Rota, now_ms: int, effects: Effects, member_id: str, cause: RotaCause, reason: str | None) -> None:
    if rota.turns.pop(member_id, None) is None:
        return
    note(rota, effects, GroupEvents.GROUP_MEMBER_REMOVED, member_id=member_id, cause=cause, reason=reason)
    _hand_over(rota, now_ms, effects, cause, member_id, reason=reason)


def _hand_over(
    rota: Rota,
    now_ms: int,
    effects: Effects,
    cause: RotaCause,
    member_id: str | None,
    *,
    has_beaten: str | None = None,
    reason: str | None = None,
) -> None:
    rota.generation_id += 1
    rota.state = RotaState.HANDOVER if rota.turns else RotaState.EMPTY
    note(rota, effects, GroupEvents.GROUP_REBALANCE_STARTED, cause=cause, member_id=member_id, reason=reason)
    rota.missing = {one: None for one in rota.turns if one != has_beaten}
    if rota.missing:
        _arm(rota, effects, "handover", now_ms + HANDOVER_MS)
    _write_if_complete(rota, effects)


def _write_if_complete(rota: Rota, effects: Effects) -> None:
    if not rota.missing:
        _disarm(rota, effects, "handover")
        effects.append(Append([record(rota)], RotaWritten(rota.generation_id)))


def _end(rota: Rota, effects: Effects) -> None:
    rota.state = RotaState.DEAD
    rota.turns, rota.missing, rota.deadlines = {}, {}, {}
    effects.append(Ended())
