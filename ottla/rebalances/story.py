"""What happened to one group, line by line: its states, its rebalances, its members.

A state lasts until a line with another state; a rebalance until it is completed, or another begins. A group's `seq`
begins again when the group is created or loaded. That is another life of the group: what the former life left open,
because the broker was killed, stays open, and is in no sum.

    t  0  group.created               Empty
      10  group.rebalance.started     PreparingRebalance     rebalance 1 begins
      40  group.rebalance.started     PreparingRebalance     rebalance 1: interrupted after 30 ms; rebalance 2 begins
      45  group.rebalance.completed   Stable                 rebalance 2: completed after 5 ms; Preparing took 35 ms
      (end)                                                  Stable is unfinished
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.rebalances.lines import (
    ALL_OUTCOMES,
    BIRTHS,
    CHURN,
    DEATHS,
    OUTCOMES,
    REMOVALS,
    STARTED,
    UNFINISHED,
    JournalLine,
)
from ottla.rebalances.sums import Lengths, Longest, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

    from ottla.terminal.output import Item

#: The longest rebalances, and the longest states, that are kept of a group.
KEPT_MAX: Final = 500
#: The members that are kept of a group. Of more, those that caused the fewest rebalances are forgotten.
MEMBERS_MAX: Final = 10_000
_REBALANCE: Final = ("started_ms", "duration_ms", "unread_ms", "cause", "member_id", "outcome")
_STATE: Final = ("state", "since_ms", "until_ms")


@dataclass(slots=True)
class CauseSums:
    """Sums of all rebalances with the same cause."""

    outcomes: Counter[str] = field(default_factory=Counter)
    lengths: Lengths = field(default_factory=Lengths)
    unread_ms: int = 0

    def merge(self, other: CauseSums) -> None:
        self.outcomes.update(other.outcomes)
        self.lengths.merge(other.lengths)
        self.unread_ms += other.unread_ms

    def item(self, cause: str | None) -> Item:
        """The cause's row."""
        return {
            "cause": cause,
            "rebalances": self.outcomes.total(),
            **{outcome: self.outcomes[outcome] for outcome in ALL_OUTCOMES},
            "total_ms": self.lengths.total_ms,
            "median_ms": self.lengths.percentile(50),
            "p95_ms": self.lengths.percentile(95),
            "longest_ms": self.lengths.longest_ms,
            "unread_ms": self.unread_ms,
        }


@dataclass(slots=True)
class _Rebalance:
    started_ms: int
    cause: str | None
    member_id: str | None
    unread_since_ms: float


@dataclass(slots=True)
class _Member:
    client_id: str | None = None
    client_host: str | None = None
    counts: Counter[str] = field(default_factory=Counter)


class Story:
    """A group, as far as its lines have been added."""

    def __init__(
        self,
        group: str,
        causes: MutableMapping[str | None, CauseSums],
        tell: Callable[[str, Item], None] | None = None,
        members_max: int = MEMBERS_MAX,
    ) -> None:
        """`causes`: the sums that each rebalance is added to; the mapping makes a missing one. `tell` is called with
        "rebalances" or "states", and a row, for every one of them. None: only the longest are kept.
        """
        self.group = group
        self.lines = self.lost_lines = 0
        self.from_ms, self.until_ms = math.inf, -math.inf
        self._causes, self._tell, self._members_max = causes, tell, members_max
        self._counts: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._longest_ms: int | None = None
        self._unread = Union()
        self._members: dict[str, _Member] = {}
        self._state_sums: Counter[str | None] = Counter()
        self._rebalances, self._states = Longest(KEPT_MAX), Longest(KEPT_MAX)
        self._seq = 0
        self._state_before: str | None = None
        self._state: tuple[str | None, int] | None = None
        """The state that goes on, and since when."""
        self._rebalance: _Rebalance | None = None
        """The rebalance that goes on."""
        self._silent_since_ms = self._silent_before_ms = math.inf
        """The last request of a member that the broker removed: after the last mark of a rebalance, and before it."""

    def add(self, line: JournalLine) -> None:
        """Add the next line of the group."""
        is_birth = line.event in BIRTHS
        if self.lines and not is_birth:
            self.lost_lines += max(0, line.seq - self._seq - 1)
        self._seq = line.seq
        self.lines += 1
        self.from_ms, self.until_ms = min(self.from_ms, line.t), max(self.until_ms, line.t)
        if is_birth or line.state != self._state_before or line.event in DEATHS or self.lines == 1:
            self._end_state(None if is_birth else line.t)
            self._state = None if line.event in DEATHS else (line.state, line.t)
        self._state_before = line.state
        if is_birth or line.event in OUTCOMES:
            self._add_mark(line)
        elif line.silent_ms is not None:
            self._silent_since_ms = min(self._silent_since_ms, line.t - line.silent_ms)
            if self._rebalance is not None:
                self._rebalance.unread_since_ms = min(self._rebalance.unread_since_ms, self._silent_since_ms)
        if line.event in CHURN or line.event == STARTED:
            self._add_to_members(line, CHURN.get(line.event))

    def end(self) -> None:
        """The journal has ended: what goes on is unfinished."""
        self._end_rebalance(0, UNFINISHED)
        self._end_state(None)

    def _end_state(self, until_ms: int | None) -> None:
        """until_ms: None if the state has no known end."""
        if self._state is None:
            return
        state, since_ms = self._state
        length_ms = None if until_ms is None else max(0, until_ms - since_ms)
        ended = state, since_ms, None if length_ms is None else since_ms + length_ms
        self._states.add(math.inf if length_ms is None else length_ms, ended)
        self._state_sums[state] += length_ms or 0
        if self._tell is not None:
            self._tell("states", {**self._named(_STATE, ended), "duration_ms": length_ms})

    def _add_mark(self, line: JournalLine) -> None:
        """A mark ends the rebalance that goes on, and may begin one."""
        self._end_rebalance(line.t, OUTCOMES.get(line.event, UNFINISHED))
        self._silent_before_ms, self._silent_since_ms = self._silent_since_ms, math.inf
        if line.event == STARTED:
            unread_since_ms = min(line.t, self._silent_before_ms)
            self._rebalance = _Rebalance(line.t, line.cause, line.member_id, unread_since_ms)

    def _end_rebalance(self, ended_ms: int, outcome: str) -> None:
        if self._rebalance is None:
            return
        ended, self._rebalance = self._rebalance, None
        sums = self._causes[ended.cause]
        self._outcomes[outcome] += 1
        sums.outcomes[outcome] += 1
        duration_ms = unread_ms = None
        if outcome != UNFINISHED:
            unread_since_ms = int(ended.unread_since_ms)
            duration_ms = max(0, ended_ms - ended.started_ms)
            unread_ms = max(0, ended_ms - unread_since_ms)
            self._longest_ms = max(self._longest_ms or 0, duration_ms)
            self._unread.add(unread_since_ms, ended_ms)
            sums.lengths.add(duration_ms)
            sums.unread_ms += unread_ms
        told = (ended.started_ms, duration_ms, unread_ms, ended.cause, ended.member_id, outcome)
        self._rebalances.add(math.inf if unread_ms is None else unread_ms, told)
        if self._tell is not None:
            ended_at = None if duration_ms is None else ended.started_ms + duration_ms
            self._tell("rebalances", {**self._named(_REBALANCE, told), "ended_ms": ended_at})

    def _add_to_members(self, line: JournalLine, churn: str | None) -> None:
        """churn: None for the member that caused a rebalance."""
        if churn is not None:
            self._counts[churn] += 1
        if line.member_id is None:
            return
        member = self._members.get(line.member_id)
        if member is None:
            if len(self._members) >= 2 * self._members_max:
                rebalances = heapq.nlargest(
                    self._members_max, self._members.items(), key=lambda item: (item[1].counts["rebalances"], item[0])
                )
                self._members = dict(rebalances)
            member = self._members[line.member_id] = _Member()
        member.client_id = _greater(member.client_id, line.client_id)
        member.client_host = _greater(member.client_host, line.client_host)
        member.counts[churn or "rebalances"] += 1
        if churn == "removed" and (how := REMOVALS.get(line.cause)):
            member.counts[how] += 1

    # ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def group_item(self) -> Item:
        """The group's row."""
        state, since_ms = self._state or (None, None)
        sums = self._state_sums
        return {
            "group": self.group,
            "lines": self.lines,
            "lost_lines": self.lost_lines,
            "joined": self._counts["joined"],
            "removed": self._counts["removed"],
            "not_stable_ms": sums["PreparingRebalance"] + sums["CompletingRebalance"],
            "stable_ms": sums["Stable"],
            "empty_ms": sums["Empty"],
            "unfinished_state": state,
            "rebalances": self._outcomes.total(),
            **{outcome: self._outcomes[outcome] for outcome in ALL_OUTCOMES},
            "longest_ms": self._longest_ms,
            "unread_ms": self._unread.total_ms,
            "unfinished_since_ms": since_ms,
        }

    def member_items(self) -> Iterator[Item]:
        """A row for each member."""
        names = ("joined", "rejoined", "replaced", "removed", "left", "expired", "rebalances")
        for member_id, member in self._members.items():
            about = {"member_id": member_id, "client_id": member.client_id, "client_host": member.client_host}
            yield {"group": self.group, **about, **{name: member.counts[name] for name in names}}

    def rebalance_items(self) -> list[Item]:
        """The longest rebalances, in their order."""
        items = [self._named(_REBALANCE, told) for told in self._rebalances.items()]
        members = [self._members.get(item["member_id"]) or _Member() for item in items]
        return [
            {**item, "client_id": member.client_id, "client_host": member.client_host}
            for item, member in zip(items, members, strict=True)
        ]

    def state_items(self) -> list[Item]:
        """The longest states, in their order; until_ms is None where the end is not known."""
        return [self._named(_STATE, told) for told in self._states.items()]

    def _named(self, names: tuple[str, ...], values: tuple[object, ...]) -> Item:
        return {"group": self.group, **dict(zip(names, values, strict=True))}


def _greater(one: str | None, other: str | None) -> str | None:
    return max(filter(None, (one, other)), default=None)
