"""A kind of machine that changes by its records alone, beside tallies in the same partition: rosters of names.

    key                               value
    int16 41, roster, 0, name         int16 0, int16 how often the name was put there

`replay` is the one function that changes a roster. A roster wants to know of topics that are created or grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, NamedTuple

from ottla.coordinator.runtime.effects import Append, Completion, Effects, Ended, Notice, Reply, Token
from ottla.coordinator.runtime.events import (
    AppendCompleted,
    Loaded,
    TimerExpired,
    TopicChange,
    TopicsChanged,
    Unloaded,
)
from ottla.coordinator.runtime.kind import Kind
from ottla.coordinator.runtime.records import Record
from ottla.coordinator.runtime.shard import Replay
from ottla.protocol.errors import ErrorCode
from tests.coordinator.runtime.toy import (
    AddRequested,
    TallyShard,
    TurnRequested,
    TurnWritten,
    turn_requested,
    turn_written,
)

ROSTER_TYPE = 41
_TYPE = Struct(">h")
_VALUE = Struct(">hh")


class PutRequested(NamedTuple):
    """Put these names on the roster. Answered with the error and the names that are there then."""

    token: Token
    names: tuple[str, ...]


class StrikeRequested(NamedTuple):
    token: Token
    name: str


@dataclass(slots=True, eq=False)
class Roster:
    key: str
    names: dict[str, int] = field(default_factory=dict)
    """How often each was put there."""


class Put(NamedTuple):
    """A change: this name was put there so often."""

    name: str
    times: int


class Struck(NamedTuple):
    """A change: this name is not there any more."""

    name: str


@dataclass(slots=True, frozen=True)
class ChangesWritten(Completion):
    token: Token


@dataclass(slots=True, frozen=True)
class Heard(Notice):
    """A roster was told of topics, or called."""

    what: Any


def roster_record(key: str, change: Put | Struck) -> Record:
    value = _VALUE.pack(0, change.times) if isinstance(change, Put) else None
    return _TYPE.pack(ROSTER_TYPE) + f"{key}\0{change.name}".encode(), value


def replay(roster: Roster, change: Put | Struck) -> None:
    if isinstance(change, Put):
        roster.names[change.name] = change.times
    else:
        roster.names.pop(change.name, None)


def step(roster: Roster, now_ms: int, event: Any) -> Effects:
    match event:
        case PutRequested(token, names):
            return [_append(roster, token, *(Put(name, roster.names.get(name, 0) + 1) for name in names))]
        case StrikeRequested(token, name):
            return [_append(roster, token, Struck(name))]
        case AppendCompleted(ChangesWritten(token), error):
            answer: Any = (error, sorted(roster.names))
            return [Reply(token, answer)]
        case AddRequested(token, amount):
            refused: Any = (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, amount)
            return [Reply(token, refused)]
        case TurnRequested():
            return turn_requested(event)
        case AppendCompleted(TurnWritten() as written, error):
            return turn_written(now_ms, written, error)
        case TopicsChanged() | TimerExpired("roll call"):
            return [Heard(event)]
        case Loaded():
            return []
        case Unloaded():
            return [Ended()]
    raise AssertionError(f"a roster is not to be told {event}")


def _append(roster: Roster, token: Token, *changes: Put | Struck) -> Append:
    return Append([roster_record(roster.key, change) for change in changes], ChangesWritten(token), changes=changes)


ROSTER: Kind[Roster] = Kind(
    "roster",
    step,
    {"roll call": "Rolls"}.__getitem__,
    ("roll call",),
    lambda _timer_key: ("roll call", None),
    replay,
    topic_changes=frozenset({TopicChange.CREATED, TopicChange.GROWN}),
)


class MixedShard(TallyShard):
    """The tallies and rosters of one partition."""

    @property
    def replays(self) -> Mapping[int, Replay]:
        return {**super().replays, ROSTER_TYPE: self._replay_roster}

    def kind_of(self, machine: Any) -> Kind[Any]:
        return ROSTER if isinstance(machine, Roster) else super().kind_of(machine)

    def _replay_roster(self, key: bytes, value: bytes | None, _producer_id: int) -> None:
        roster_key, _, name = key[_TYPE.size :].decode().partition("\0")
        if not self.is_about(roster_key):
            return
        machines: dict[str, Any] = self.machines
        roster = machines.setdefault(roster_key, Roster(roster_key))
        replay(roster, Struck(name) if value is None else Put(name, _VALUE.unpack(value)[1]))
