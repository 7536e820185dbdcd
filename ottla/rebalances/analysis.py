"""All groups of some journals: from their lines to what was found.

An analysis takes one group after the other, or another analysis. So it may be made in parts: Spark gives each task a
share of the groups, and `merge` puts the tasks' analyses together. The result is the same.
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.rebalances.found import DRAWN_MAX, LISTED_MAX, Found, longest
from ottla.rebalances.story import CauseSums, Story

if TYPE_CHECKING:
    from ottla.rebalances.journals import Journals
    from ottla.terminal.output import Item


class _Group(NamedTuple):
    """A group's row, and its longest rebalances and states."""

    item: Item
    rebalances: list[Item]
    states: list[Item]


@dataclass(slots=True)
class Analysis:
    """The groups that were added so far."""

    top: int
    """How many groups and members are told."""
    causes: defaultdict[str | None, CauseSums] = field(default_factory=lambda: defaultdict(CauseSums))
    """Sums of all groups. A story adds to it, or its sums are merged into it."""
    _groups: list[_Group] = field(default_factory=list)
    _members: list[Item] = field(default_factory=list)
    _group_count: int = 0
    _rebalance_count: int = 0
    _lost_lines: int = 0
    _from_ms: float = math.inf
    _until_ms: float = -math.inf

    def add(self, story: Story) -> Item:
        """Add a group that has ended; returns its row."""
        item = story.group_item()
        self._count(1, item["rebalances"], item["lost_lines"], story.from_ms, story.until_ms)
        if len(self._groups) < self.top or (self.top and _by_harm(item) < _by_harm(self._groups[-1].item)):
            self._keep(_Group(item, story.rebalance_items(), story.state_items()))
        self._members = heapq.nsmallest(self.top, (*self._members, *story.member_items()), key=_by_blame)
        return item

    def merge(self, other: Analysis) -> None:
        """Add another analysis, of other groups."""
        self._count(other._group_count, other._rebalance_count, other._lost_lines, other._from_ms, other._until_ms)
        for group in other._groups:
            self._keep(group)
        self._members = heapq.nsmallest(self.top, (*self._members, *other._members), key=_by_blame)
        self.merge_causes(other.causes)

    def merge_causes(self, causes: defaultdict[str | None, CauseSums]) -> None:
        for cause, sums in causes.items():
            self.causes[cause].merge(sums)

    def _count(self, groups: int, rebalances: int, lost_lines: int, from_ms: float, until_ms: float) -> None:
        self._group_count += groups
        self._rebalance_count += rebalances
        self._lost_lines += lost_lines
        self._from_ms, self._until_ms = min(self._from_ms, from_ms), max(self._until_ms, until_ms)

    def _keep(self, group: _Group) -> None:
        insort(self._groups, group, key=lambda one: _by_harm(one.item))
        del self._groups[self.top :]

    def found(self, sources: list[str], lines: int, passed_over: int) -> Found:
        """The result, for journals with so many lines."""
        has_any = self._group_count > 0
        until_ms = int(self._until_ms) if has_any else None
        states = [
            item if item["until_ms"] is not None else {**item, "until_ms": until_ms}
            for group in self._groups
            for item in group.states
        ]
        drawn = sorted(states, key=lambda one: one["since_ms"] - one["until_ms"])[:DRAWN_MAX]
        causes = [sums.item(cause) for cause, sums in self.causes.items()]
        return Found(
            sources=sources,
            lines=lines,
            passed_over=passed_over,
            from_ms=int(self._from_ms) if has_any else None,
            until_ms=until_ms,
            group_count=self._group_count,
            rebalance_count=self._rebalance_count,
            lost_lines=self._lost_lines,
            groups=[group.item for group in self._groups],
            causes=sorted(causes, key=_by_cost),
            members=self._members,
            rebalances=longest((item for group in self._groups for item in group.rebalances), LISTED_MAX),
            states=sorted(drawn, key=lambda one: (one["since_ms"], one["until_ms"])),
        )


def find(journals: Journals, groups: Collection[str], top: int) -> Found:
    """The analysis of journals, of all groups or of these. Raises `NoJournal`."""
    analysis = Analysis(top)
    stories: dict[str, Story] = {}
    for line in journals:
        if groups and line.group not in groups:
            continue
        story = stories.get(line.group)
        if story is None:
            story = stories[line.group] = Story(line.group, analysis.causes)
        story.add(line)
    for story in stories.values():
        story.end()
        analysis.add(story)
    names = [name.rpartition("/")[2] if name != "-" else "stdin" for name in journals.names]
    return analysis.found(names, journals.lines, journals.passed_over)


def _by_harm(group: Item) -> tuple[Any, ...]:
    return -group["unread_ms"], -group["not_stable_ms"], -group["rebalances"], group["group"]


def _by_blame(member: Item) -> tuple[Any, ...]:
    return -member["rebalances"], -member["removed"], member["group"], member["member_id"]


def _by_cost(cause: Item) -> tuple[Any, ...]:
    return -cause["unread_ms"], -cause["total_ms"], -cause["rebalances"], cause["cause"] or ""
