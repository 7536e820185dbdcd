"""What has happened to one group, line by line: its states, its rebalances, its members.

docs/journal.md tells what a line means. A state lasts until a line with another; a rebalance until it is completed, or
another begins. A group's `seq` begins anew when the group is created or loaded, and then it is another life of it: what
was open in the one before, because the broker was killed, stays open, and is in no sum.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.rebalances.sums import Lengths, Longest, Union
from ottla.pipeline.report.events import (
    ALL_OUTCOMES,
    BIRTHS,
    CHURN,
    DEATHS,
    OUTCOMES,
    REMOVALS,
    STARTED,
    UNFINISHED,
)
from ottla.pipeline.report.found import KEPT_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.cli.rebalances.journals import Line
    from ottla.terminal.output import Item

#: Of a group. Of more, those are forgotten because of whom there were fewest rebalances.
_MEMBERS_MAX: Final = 10_000


@dataclass(slots=True)
class CauseSums:
    """Of all rebalances with the same cause."""

    outcomes: Counter[str] = field(default_factory=Counter)
    lengths: Lengths = field(default_factory=Lengths)
    unread_ms: int = 0


@dataclass(slots=True)
class _Rebalance:
    started_ms: int
    cause: str | None
    member_id: str | None
    unread_since_ms: int


@dataclass(slots=True)
class _Member:
    client_id: str | None = None
    client_host: str | None = None
    counts: Counter[str] = field(default_factory=Counter)


class Story:
    """Of a group, as far as it has been told."""

    def __init__(self, group: str, cause_sums: Callable[[str | None], CauseSums]) -> None:
        """`cause_sums` gives what a cause's rebalances are added to."""
        self.group = group
        self.lines = self.lost_lines = 0
        self.counts: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.longest_ms: int | None = None
        self.unread = Union()
        self.members: dict[str, _Member] = {}
        self._cause_sums = cause_sums
        self._state_sums: Counter[str | None] = Counter()
        self._rebalances, self._states = Longest(KEPT_MAX), Longest(KEPT_MAX)
        self._seq = 0
        self._state_before: str | None = None
        self._state: tuple[str | None, int] | None = None
        """The one that goes on, and since when."""
        self._rebalance: _Rebalance | None = None
        self._silent_since_ms = self._silent_before_ms = math.inf
        """The last sign of life of somebody who was given up, since the last mark of a rebalance, and before it."""

    def add(self, line: Line) -> None:
        """What happened next."""
        if self.lines and line.event not in BIRTHS:
            self.lost_lines += max(0, line.seq - self._seq - 1)
        self._seq = line.seq
        self.lines += 1
        self._add_to_states(line)
        self._add_to_rebalances(line)
        self._add_to_members(line)

    # ── States ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _add_to_states(self, line: Line) -> None:
        is_birth, is_death = line.event in BIRTHS, line.event in DEATHS
        if is_birth or is_death or line.state != self._state_before or self.lines == 1:
            self._end_state(None if is_birth else line.t)
            self._state = None if is_death else (line.state, line.t)
        self._state_before = line.state

    def _end_state(self, until_ms: int | None) -> None:
        if self._state is None:
            return
        state, since_ms = self._state
        if until_ms is None:
            self._states.add(math.inf, (state, since_ms, None))
        else:
            length_ms = max(0, until_ms - since_ms)
            self._state_sums[state] += length_ms
            self._states.add(length_ms, (state, since_ms, since_ms + length_ms))

    # ── Rebalances ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _add_to_rebalances(self, line: Line) -> None:
        silent_ms = line.details.get("silent_ms")
        if line.event in OUTCOMES or line.event in BIRTHS:
            self._end_rebalance(line.t, OUTCOMES.get(line.event, UNFINISHED))
            self._silent_before_ms, self._silent_since_ms = self._silent_since_ms, math.inf
            if line.event == STARTED:
                cause, member_id = _text(line.details, "cause"), _text(line.details, "member_id")
                since_ms = int(min(line.t, self._silent_before_ms))
                self._rebalance = _Rebalance(line.t, cause, member_id, since_ms)
        elif type(silent_ms) is int:
            self._silent_since_ms = min(self._silent_since_ms, line.t - silent_ms)
            if self._rebalance is not None:
                self._rebalance.unread_since_ms = int(min(self._rebalance.unread_since_ms, self._silent_since_ms))

    def _end_rebalance(self, ended_ms: int, outcome: str) -> None:
        if self._rebalance is None:
            return
        ended, self._rebalance = self._rebalance, None
        sums = self._cause_sums(ended.cause)
        self.outcomes[outcome] += 1
        sums.outcomes[outcome] += 1
        duration_ms = unread_ms = None
        if outcome != UNFINISHED:
            duration_ms = max(0, ended_ms - ended.started_ms)
            unread_ms = max(0, ended_ms - ended.unread_since_ms)
            self.longest_ms = max(self.longest_ms or 0, duration_ms)
            self.unread.add(ended.unread_since_ms, ended_ms)
            sums.lengths.add(duration_ms)
            sums.unread_ms += unread_ms
        told = (ended.started_ms, duration_ms, unread_ms, ended.cause, ended.member_id, outcome)
        self._rebalances.add(math.inf if unread_ms is None else unread_ms, told)

    # ── Members ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _add_to_members(self, line: Line) -> None:
        name = CHURN.get(line.event)
        if name is not None:
            self.counts[name] += 1
        member_id = _text(line.details, "member_id")
        if member_id is None or (name is None and line.event != STARTED):
            return
        member = self.members.get(member_id)
        if member is None:
            self._make_room()
            member = self.members[member_id] = _Member()
        member.client_id = _greater(member.client_id, _text(line.details, "client_id"))
        member.client_host = _greater(member.client_host, _text(line.details, "client_host"))
        member.counts[name or "rebalances"] += 1
        if name == "removed" and (how := REMOVALS.get(_text(line.details, "cause") or "")):
            member.counts[how] += 1

    def _make_room(self) -> None:
        if len(self.members) >= 2 * _MEMBERS_MAX:
            kept = heapq.nlargest(
                _MEMBERS_MAX, self.members.items(), key=lambda item: (item[1].counts["rebalances"], item[0])
            )
            self.members = dict(kept)

    # ── What is told of it ────────────────────────────────────────────────────────────────────────────────────────────

    def end(self) -> None:
        """The journal has ended: what goes on is unfinished."""
        self._end_rebalance(0, UNFINISHED)
        self._end_state(None)

    def group_item(self) -> Item:
        """The group's row."""
        state, since_ms = self._state or (None, None)
        sums = self._state_sums
        return {
            "group": self.group,
            "lines": self.lines,
            "lost_lines": self.lost_lines,
            "joined": self.counts["joined"],
            "removed": self.counts["removed"],
            "not_stable_ms": sums["PreparingRebalance"] + sums["CompletingRebalance"],
            "stable_ms": sums["Stable"],
            "empty_ms": sums["Empty"],
            "unfinished_state": state,
            "rebalances": self.outcomes.total(),
            **{outcome: self.outcomes[outcome] for outcome in ALL_OUTCOMES},
            "longest_ms": self.longest_ms,
            "unread_ms": self.unread.total_ms,
            "unfinished_since_ms": since_ms,
        }

    def member_items(self) -> list[Item]:
        """A row for each member."""
        names = ("joined", "rejoined", "replaced", "removed", "left", "expired", "rebalances")
        return [
            {
                "group": self.group,
                "member_id": member_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                **{name: member.counts[name] for name in names},
            }
            for member_id, member in self.members.items()
        ]

    def rebalance_items(self) -> list[Item]:
        """The longest, in their order."""
        names = ("started_ms", "duration_ms", "unread_ms", "cause", "member_id", "outcome")
        found = []
        for told in self._rebalances.items():
            item: Item = {"group": self.group, **dict(zip(names, told, strict=True))}
            member = self.members.get(item["member_id"]) or _Member()
            found.append({**item, "client_id": member.client_id, "client_host": member.client_host})
        return found

    def state_items(self, until_ms: int) -> list[Item]:
        """The longest, in their order; what goes on does so until `until_ms`."""
        return [
            {"group": self.group, "state": state, "since_ms": since, "until_ms": until_ms if until is None else until}
            for state, since, until in self._states.items()
        ]


def _text(details: dict[str, Any], key: str) -> str | None:
    value = details.get(key)
    return value if isinstance(value, str) else None


def _greater(one: str | None, other: str | None) -> str | None:
    return max(filter(None, (one, other)), default=None)
