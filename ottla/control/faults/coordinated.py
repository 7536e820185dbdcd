"""Appends and timers of coordinators: one row for each coordination says what its records and timers are about.

An append that is held stops its machine: whatever the machine is asked meanwhile waits behind it. A machine is a group,
or all transactional ids of one partition of __transaction_state. What can't wait, such as a node that gives the machine
away, has the append written first.

A timer that is held has run out, and its machine does not know yet. Time goes on, and what happens meanwhile makes the
timer void as always: a heartbeat that moves it, a transaction that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.control.faults.exchange import Action
from ottla.control.faults.holds import Held, Hold
from ottla.control.faults.occurrence import Occurrence
from ottla.coordinator.groups.kinds import timers as group_timers
from ottla.coordinator.runtime.holding import AppendHeld
from ottla.coordinator.runtime.records import INT16, prefix
from ottla.coordinator.transactions.step import TRANSACTIONS as TRANSACTION_KIND
from ottla.coordinator.transactions.time import TIMEOUT_TIMER, timed_out
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey

if TYPE_CHECKING:
    from ottla.broker.internal.coordination import Coordination
    from ottla.broker.node.services import Services
    from ottla.control.faults.occurrence import Happens, Hit, Remove
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.log import Log
    from ottla.coordinator.runtime.owner import Owner
    from ottla.coordinator.runtime.records import Record
    from ottla.coordinator.runtime.timers import MachineTimer

APPEND: Final = "append"

#: Kafka: CoordinatorRecordType.
_OFFSET_COMMIT: Final = 1


# ── What each coordination's records and timers are about ─────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Coordinated:
    """What a fault has to know of one coordination."""

    coordination: str
    """The name it has in `Services.coordinations`."""
    topic: str
    timers: Callable[[], tuple[str, ...]]
    """The words for the timers that can be held."""
    appends: Callable[[Sequence[Record]], Iterator[Occurrence]]
    """What an append of these records is about: one for each group, or transactional id."""
    deadlines: Callable[[int, Owner[Any], MachineTimer, int], Iterator[Occurrence]]
    """What a timer of a machine is about: (node id, the machine's owner, its timer, the date)."""


def _group_appends(records: Sequence[Record]) -> Iterator[Occurrence]:
    """Of each group, with the partitions that it commits offsets of."""
    found: dict[str, list[tuple[str, int]]] = {}
    for data, _ in records:
        committed = found.setdefault(_first_text(data), [])
        if prefix(data, "key") == _OFFSET_COMMIT:
            key = OffsetCommitKey.decode(data, 0, INT16.size)
            committed.append((key.topic, key.partition))
    for group_id, topics in found.items():
        yield Occurrence(f"append of {group_id}", group_id=group_id, committed=topics)


def _transaction_appends(records: Sequence[Record]) -> Iterator[Occurrence]:
    for transactional_id in {_first_text(data): None for data, _ in records}:
        yield Occurrence(f"append of {transactional_id}", transactional_id=transactional_id)


def _first_text(key: bytes) -> str:
    """The group, or transactional id, of a record: the first field of its key, whatever the record's type."""
    (length,) = INT16.unpack_from(key, INT16.size)
    return key[2 * INT16.size : 2 * INT16.size + length].decode()


def _group_deadlines(node_id: int, owner: Owner[Any], timer: MachineTimer, _now_ms: int) -> Iterator[Occurrence]:
    kind, member_id = owner.kind.describe_timer(timer.timer_key)
    whose = owner.key if member_id is None else f"{member_id} of {owner.key}"
    yield Occurrence(f"{kind} of {whose}", node_id=node_id, group_id=owner.key, member_id=member_id, timer=kind)


def _transaction_deadlines(node_id: int, owner: Owner[Any], timer: MachineTimer, now_ms: int) -> Iterator[Occurrence]:
    """One timer is of all ids of a partition. Only for timeouts it is said which transactions are open for too long."""
    kind, _ = owner.kind.describe_timer(timer.timer_key)
    if timer.timer_key != TIMEOUT_TIMER:
        yield Occurrence(f"{kind} of partition {owner.key}", node_id=node_id, timer=kind)
        return
    for transactional_id in timed_out(owner.machine, now_ms):
        yield Occurrence(f"{kind} of {transactional_id}", node_id, transactional_id=transactional_id, timer=kind)


GROUPS: Final = Coordinated("groups", GROUP_TOPIC, group_timers, _group_appends, _group_deadlines)
TRANSACTIONS: Final = Coordinated(
    "transactions",
    TRANSACTION_TOPIC,
    lambda: TRANSACTION_KIND.timer_kinds,
    _transaction_appends,
    _transaction_deadlines,
)


# ── What can happen to an append ──────────────────────────────────────────────────────────────────────────────────────


class RefuseAppend(Action):
    """What a machine writes is refused with this error, and nothing is written."""

    def __init__(self, error: ErrorCode) -> None:
        self.error = error
        self.text = f"fail the append with {error.name}"


class LoseRecord(RefuseAppend):
    """What a machine writes seems to be written, and is not: it is gone with the machine's coordinator."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NONE)
        self.text = "lose the record"


class _FaultyLog:
    """Stands around the log that machines write to."""

    def __init__(self, real: Log, decide: Callable[[Sequence[Record]], ErrorCode | None]) -> None:
        """`decide`: what an append of these records is answered; None: they are written. May raise `AppendHeld`."""
        self.real = real
        self._decide = decide

    def append(self, partition: int, records: Sequence[Record], /) -> ErrorCode:
        refused = self._decide(records)
        return self.real.append(partition, records) if refused is None else refused

    def append_in_transaction(self, partition: int, records: Sequence[Record], writer: Writer, /) -> ErrorCode:
        refused = self._decide(records)
        return self.real.append_in_transaction(partition, records, writer) if refused is None else refused


# ── Hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def hook_appends(kind: Coordinated, services: Services, happens: Happens[RefuseAppend | Hold]) -> Remove:
    """Put a log around the one that the machines of this coordination write to."""

    def around(real: Log) -> Log:
        def decide(records: Sequence[Record]) -> ErrorCode | None:
            for occurrence in kind.appends(records):
                if (happened := happens(occurrence)) is not None:
                    action, hit = happened
                    if isinstance(action, Hold):
                        raise _held(action, hit, occurrence.text, real)
                    return action.error
            return None

        return _FaultyLog(real, decide)

    def real(log: Log) -> Log:
        return log.real if isinstance(log, _FaultyLog) else log

    return _hook(
        kind,
        services,
        lambda coordination: coordination.put_around_log(around),
        lambda coordination: coordination.put_around_log(real),
    )


def _held(hold: Hold, hit: Hit, text: str, real: Log) -> AppendHeld:
    """Hold an append to the real log; returns what its machine's owner is told."""

    def refuse(error: ErrorCode) -> None:
        held.go_on(_FaultyLog(real, lambda _records: error))

    held = AppendHeld(hold.keep(Held(hit, text, APPEND, lambda: held.go_on(real), refuse)).let_go)
    return held


def hook_timers(kind: Coordinated, services: Services, now_ms: Callable[[], int], happens: Happens[Hold]) -> Remove:
    """Have a timer that runs out kept from its machine, if it is to be held."""

    def keep_back(node_id: int, owner: Owner[Any], timer: MachineTimer) -> bool:
        def due() -> Iterator[Occurrence]:
            is_current = owner.timers.get(timer.timer_key) is timer
            return kind.deadlines(node_id, owner, timer, now_ms()) if is_current else iter(())

        def is_due(deadline: Occurrence) -> bool:
            return deadline in due()

        def happen() -> None:
            if owner.timers.get(timer.timer_key) is timer:
                owner.post(timer)

        return any(hold_deadline(deadline, happens, happen, partial(is_due, deadline)) for deadline in due())

    def install(coordination: Coordination[Any]) -> None:
        for node_id, coordinator in coordination.of_node.items():
            coordinator.runtime.keep_back = partial(keep_back, node_id)

    def remove(coordination: Coordination[Any]) -> None:
        for coordinator in coordination.of_node.values():
            coordinator.runtime.keep_back = None

    return _hook(kind, services, install, remove)


def hold_deadline(
    due: Occurrence, happens: Happens[Hold], happen: Callable[[], object], matters: Callable[[], bool]
) -> bool:
    """Hold a deadline that is reached, if it is to be held. `happen` has its effect if there still is any."""
    happened = happens(due)
    if happened is None:
        return False
    hold, hit = happened
    assert due.timer is not None, "a deadline has a word"
    hold.keep(Held(hit, due.text, due.timer, happen, is_void=lambda: not matters()))
    return True


def _hook(
    kind: Coordinated,
    services: Services,
    install: Callable[[Coordination[Any]], object],
    remove: Callable[[Coordination[Any]], object],
) -> Remove:
    """Do this to the coordination if there is one, or as soon as there is."""

    def made(coordination: Coordination[Any]) -> None:
        if coordination.name == kind.coordination:
            install(coordination)

    def undo() -> None:
        services.on_coordination.remove(made)
        for coordination in services.coordinations:
            if coordination.name == kind.coordination:
                remove(coordination)

    for coordination in services.coordinations:
        made(coordination)
    services.on_coordination.append(made)
    return undo
