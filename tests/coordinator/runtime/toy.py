"""A machine that is no group, in a topic of its own: tallies, to which anybody may add.

    key                value
    int16 40, name     int16 0, int64 the sum

A tally that nobody adds to for a while ends and leaves a tombstone. What is added in a transaction counts when the
transaction is committed. All that the runtime asks of a kind of machine is here, and nothing in `ottla` knows of it.

A tally changes in its step, and its shard reads it back in a way of its own; `roster` has a kind that does neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, NamedTuple

from ottla.coordinator.runtime.effects import Append, Arm, Become, Completion, Effects, Ended, Notice, Reply, Token
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired, Unloaded
from ottla.coordinator.runtime.kind import Kind
from ottla.coordinator.runtime.records import Record
from ottla.coordinator.runtime.shard import Replay, Shard
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records import NO_PRODUCER_ID

TALLY_TYPE = 40
IDLE_MS = 5_000
_TYPE = Struct(">h")
_VALUE = Struct(">hq")


class AddRequested(NamedTuple):
    token: Token
    amount: int


class TurnRequested(NamedTuple):
    """Turn into this machine, of whichever kind; the records say so."""

    token: Token
    machine: Any
    records: Sequence[Record]


@dataclass(slots=True, eq=False)
class Tally:
    name: str
    total: int = 0
    promised: int = 0
    """The total once all is written."""
    successor: Any = None
    """What it turns into with the next amount that is written; None: it stays."""


@dataclass(slots=True, frozen=True)
class TotalWritten(Completion):
    total: int
    token: Token


@dataclass(slots=True, frozen=True)
class TurnWritten(Completion):
    machine: Any
    token: Token


@dataclass(slots=True, frozen=True)
class TombstoneWritten(Completion):
    pass


@dataclass(slots=True, frozen=True)
class Added(Notice):
    total: int


def tally_record(name: str, total: int | None) -> Record:
    return _TYPE.pack(TALLY_TYPE) + name.encode(), None if total is None else _VALUE.pack(0, total)


def turn(now_ms: int, machine: Any) -> Effects:
    """Become this machine; it has one timer from the start."""
    return [Become(machine), Arm("idle" if isinstance(machine, Tally) else "roll call", now_ms + IDLE_MS)]


def turn_requested(event: TurnRequested) -> Effects:
    return [Append(event.records, TurnWritten(event.machine, event.token))]


def turn_written(now_ms: int, written: TurnWritten, error: ErrorCode) -> Effects:
    answer: Any = (error, "turned")
    return [Reply(written.token, answer), *(turn(now_ms, written.machine) if error is ErrorCode.NONE else [])]


def step(tally: Tally, now_ms: int, event: Any) -> Effects:
    match event:
        case AddRequested(token, amount):
            if amount < 0:
                raise ZeroDivisionError("on purpose")
            tally.promised += amount
            written = TotalWritten(tally.promised, token)
            return [Append([tally_record(tally.name, tally.promised)], written), Arm("idle", now_ms + IDLE_MS)]
        case AppendCompleted(TotalWritten(total, token), error):
            if error is ErrorCode.NONE:
                tally.total = total
            else:
                tally.promised = tally.total
            answer: Any = (error, tally.total)
            turned = [] if tally.successor is None or error else turn(now_ms, tally.successor)
            return [Reply(token, answer), Added(tally.total), *turned]
        case TurnRequested():
            return turn_requested(event)
        case AppendCompleted(TurnWritten() as written, error):
            return turn_written(now_ms, written, error)
        case AppendCompleted(TombstoneWritten()) | Unloaded():
            return [Ended()]
        case TimerExpired("idle"):
            return [Append([tally_record(tally.name, None)], TombstoneWritten())]
        case Loaded():
            return []
    raise AssertionError(f"a tally is not to be told {event}")


TALLY: Kind[Tally] = Kind(
    "tally", step, lambda _timer_key: "Idle", ("idle",), lambda _timer_key: ("idle", None), sharing=AddRequested
)


class TallyShard(Shard[Tally]):
    """The tallies of one partition."""

    def __init__(self, partition: int, only_key: str | None = None) -> None:
        super().__init__(partition, only_key)
        self._pending: dict[int, dict[str, int]] = {}

    @property
    def replays(self) -> Mapping[int, Replay]:
        return {TALLY_TYPE: self._replay_tally}

    def kind_of(self, _machine: Tally) -> Kind[Tally]:
        return TALLY

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        for name, total in self._pending.pop(producer_id, {}).items():
            if is_commit:
                self.machines[name] = Tally(name, total, total)

    def _replay_tally(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        name = key[_TYPE.size :].decode()
        if not self.is_about(name):
            return
        if value is None:
            self.machines.pop(name, None)
            return
        _, total = _VALUE.unpack(value)
        if producer_id == NO_PRODUCER_ID:
            self.machines[name] = Tally(name, total, total)
        else:
            self._pending.setdefault(producer_id, {})[name] = total
