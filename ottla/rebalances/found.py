"""The result of an analysis, and the columns of its tables. Times are milliseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ottla.rebalances.words import date
from ottla.terminal.output import Columns, Item

TOP_DEFAULT: Final = 20
#: The rebalances in a page's list, and the states in its timeline: so a page stays below a megabyte.
LISTED_MAX: Final = 1_000
DRAWN_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What tables, sentence and page show."""

    sources: Sequence[str]
    """The names of the journals."""
    lines: int
    passed_over: int
    """How many of `lines` are not usable: no JSON, or not of version 1."""
    from_ms: int | None
    """When the first line was written. None: there is none."""
    until_ms: int | None
    group_count: int
    rebalance_count: int
    lost_lines: int
    """How many lines of all groups are missing: gaps in their sequences."""
    groups: Sequence[Item]
    """Those whose partitions had no reader for the longest time, the worst first."""
    causes: Sequence[Item]
    """Of all groups, the worst first."""
    members: Sequence[Item]
    """Those that caused the most rebalances, first."""
    rebalances: Sequence[Item]
    """Of `groups`, in the order of their starts: group, started_ms, duration_ms, unread_ms, cause, member_id,
    client_id, client_host, outcome."""
    states: Sequence[Item]
    """Of `groups`: group, state, since_ms, until_ms; the last goes until the journal's end."""

    @property
    def span_ms(self) -> int:
        return 0 if self.from_ms is None or self.until_ms is None else self.until_ms - self.from_ms


def causer(item: Item) -> str | None:
    """The member that caused a rebalance: the name that it gave itself, and its host. None: no member did."""
    name = item["client_id"] or item["member_id"]
    if name is None:
        return None
    return f"{name} at {item['client_host'].removeprefix('/')}" if item["client_host"] else str(name)


def _stable_share(group: Item) -> str | None:
    known_ms = group["stable_ms"] + group["not_stable_ms"]
    return f"{group['stable_ms'] / known_ms:.1%}" if known_ms else None


REBALANCES: Final[Columns] = {
    "STARTED (UTC)": lambda item: date(item["started_ms"]),
    "GROUP": "group",
    "CAUSE": "cause",
    "BECAUSE OF": causer,
    "UNSTABLE MS": "duration_ms",
    "UNREAD MS": "unread_ms",
    "OUTCOME": "outcome",
}
GROUPS: Final[Columns] = {
    "GROUP": "group",
    "REBALANCES": "rebalances",
    "INTERRUPTED": "interrupted",
    "UNSTABLE MS": "not_stable_ms",
    "UNREAD MS": "unread_ms",
    "LONGEST MS": "longest_ms",
    "STABLE": _stable_share,
    "JOINED": "joined",
    "REMOVED": "removed",
    "UNFINISHED": "unfinished_state",
    "LOST LINES": "lost_lines",
}
CAUSES: Final[Columns] = {
    "CAUSE": "cause",
    "REBALANCES": "rebalances",
    "COMPLETED": "completed",
    "INTERRUPTED": "interrupted",
    "UNSTABLE MS": "total_ms",
    "UNREAD MS": "unread_ms",
    "MEDIAN MS": "median_ms",
    "95 % MS": "p95_ms",
    "LONGEST MS": "longest_ms",
}
MEMBERS: Final[Columns] = {
    "MEMBER": "member_id",
    "GROUP": "group",
    "CLIENT": "client_id",
    "HOST": "client_host",
    "REBALANCES": "rebalances",
    "JOINED": "joined",
    "REJOINED": "rejoined",
    "LEFT": "left",
    "EXPIRED": "expired",
}


def tables(found: Found, top: int) -> dict[str, tuple[Sequence[Item], Columns]]:
    """The tables of a terminal, by titles. Of rebalances it has the longest."""
    return {
        "Rebalances": (longest(found.rebalances, top), REBALANCES),
        "Groups": (found.groups, GROUPS),
        "Causes": (found.causes, CAUSES),
        "Members": (found.members, MEMBERS),
    }


def longest(rebalances: Iterable[Item], count: int) -> list[Item]:
    """The longest, in the order of their starts. An unfinished one counts as the longest."""
    found = sorted(rebalances, key=lambda one: (one["unread_ms"] is not None, -(one["unread_ms"] or 0)))[:count]
    return sorted(found, key=lambda one: one["started_ms"])
