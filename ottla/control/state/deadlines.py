"""What the broker waits for, and until when: sessions, rebalances, transactions, parked requests, periodic work.

Each deadline is told by what it is and whom it concerns, so that a test can say to which one it wants to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.broker.delayed.request import DelayedRequest
from ottla.purgatory import NEVER_MS, Alarm

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.purgatory import Timer, TimerEntry


@dataclass(frozen=True, slots=True)
class Deadline:
    """Something that happens at an instant unless something else happens before."""

    kind: str
    """session: a member's, or an id's that was handed out; join, sync: a rebalance's phases; fetch, produce: a request
    that waits; transaction-timeout, transactional-id-expiration, transaction-completion, transaction-decision: of the
    transactional ids in one partition; round: work that is done again and again; other.
    """
    in_ms: int
    """How far off it is."""
    at_ms: int
    """When, by the clock that deadlines are set by."""
    group_id: str | None = None
    member_id: str | None = None
    about: str = ""
    """What it is for, where it is of the broker's own."""

    def __str__(self) -> str:
        whose = " of ".join(name for name in (self.member_id, self.group_id) if name is not None)
        return f"{self.kind} {f'of {whose}' if whose else self.about} in {self.in_ms} ms".replace("  ", " ")


def deadlines(services: Services, timer: Timer) -> list[Deadline]:
    """All there are, the next one first."""
    of_machines = {
        id(machine_timer): _of_machine(coordination.name, key, *owner.kind.describe_timer(timer_key))
        for coordination in services.coordinations
        for coordinator in coordination.of_node.values()
        for key, owner in coordinator.runtime.owners.items()
        for timer_key, machine_timer in owner.timers.items()
    }
    now_ms = timer.now_ms()
    found = [
        Deadline(in_ms=max(0, entry.deadline_ms - now_ms), at_ms=entry.deadline_ms, **_describe(entry, of_machines))
        for entry in timer.pending()
        if entry.deadline_ms < NEVER_MS
    ]
    return sorted(found, key=lambda deadline: deadline.at_ms)


def _of_machine(coordination: str, key: str, kind: str, member_id: str | None) -> dict[str, Any]:
    """A timer of a group, or of all transactional ids in a partition."""
    if coordination == "groups":
        return {"kind": kind, "group_id": key, "member_id": member_id}
    return {"kind": kind, "about": f"{coordination} in partition {key}"}


def _describe(entry: TimerEntry, of_machines: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """What the entry is, and what it is about."""
    if (found := of_machines.get(id(entry))) is not None:
        return found
    if isinstance(entry, DelayedRequest):
        return {"kind": entry.deadline_kind}
    if isinstance(entry, Alarm) and entry.about:
        return {"kind": "round", "about": entry.about}
    return {"kind": "other", "about": entry.name}
