"""What the broker waits for, and until when: sessions, rebalances, parked requests, rounds of its own.

Each deadline is told by what it is and whom it concerns, so that a test can say to which one it wants to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.broker.delayed.fetch import DelayedFetch
from ottla.broker.delayed.produce import DelayedProduce
from ottla.purgatory import NEVER_MS, Alarm

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.purgatory import Timer, TimerEntry


@dataclass(frozen=True, slots=True)
class Deadline:
    """Something that happens at an instant unless something else happens before."""

    kind: str
    """session: a member's, or an id's that was handed out; join, sync: a rebalance's phases; fetch, produce: a request
    that waits; round: work that is done again and again; other.
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
    whose = {
        id(machine_timer): (group_id, owner.kind.describe_timer(timer_key))
        for coordinator in services.group_coordination.of_node.values()
        for group_id, owner in coordinator.runtime.owners.items()
        for timer_key, machine_timer in owner.timers.items()
    }
    now_ms = timer.now_ms()
    found = [_describe(entry, now_ms, whose) for entry in timer.pending() if entry.deadline_ms < NEVER_MS]
    return sorted(found, key=lambda deadline: deadline.at_ms)


def _describe(entry: TimerEntry, now_ms: int, whose: dict[int, tuple[str, tuple[str, str | None]]]) -> Deadline:
    said: dict[str, Any] = {"in_ms": max(0, entry.deadline_ms - now_ms), "at_ms": entry.deadline_ms}
    if id(entry) in whose:
        group_id, (kind, member_id) = whose[id(entry)]
        return Deadline(kind, group_id=group_id, member_id=member_id, **said)
    if isinstance(entry, DelayedFetch | DelayedProduce):
        return Deadline("fetch" if isinstance(entry, DelayedFetch) else "produce", **said)
    if isinstance(entry, Alarm) and entry.about:
        return Deadline("round", about=entry.about, **said)
    return Deadline("other", about=entry.name, **said)
