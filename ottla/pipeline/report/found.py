"""What was found in a journal, and the columns in which people see it. Times are milliseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ottla.pipeline.report.choice import longest
from ottla.pipeline.report.words import date
from ottla.terminal.output import Columns, Item

#: Of the longest rebalances, and of the longest states, of each group.
KEPT_MAX: Final = 500
TOP_DEFAULT: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that tables, sentence and page are made of."""

    sources: Sequence[str]
    """The journals, as their reader named them."""
    lines: int
    passed_over: int
    """Of `lines`: no JSON, or not of a journal's version 1."""
    from_ms: int | None
    """When the first line was written; None: there is none."""
    until_ms: int | None
    group_count: int
    rebalance_count: int
    lost_lines: int
    """Of all groups: holes in their sequences."""
    groups: Sequence[Item]
    """Those whose partitions had no reader for the longest time, the worst first."""
    causes: Sequence[Item]
    """Of all groups, the worst first."""
    members: Sequence[Item]
    """Those because of whom there were most rebalances, first."""
    rebalances: Sequence[Item]
    """Of `groups`, in the order of their starts: group, started_ms, duration_ms, unread_ms, cause, member_id,
    client_id, client_host, outcome."""
    states: Sequence[Item]
    """Of `groups`: group, state, since_ms, until_ms; the last goes until the journal's end."""

    @property
    def span_ms(self) -> int:
        return 0 if self.from_ms is None or self.until_ms is None else self.until_ms - self.from_ms


def who(item: Item) -> str | None:
    """Because of whom, by the name it has given itself, and where it is."""
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
    "BECAUSE OF": who,
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
    """What a terminal shows, by titles: of rebalances the longest, and of the rest what was found."""
    return {
        "Rebalances": (longest(found.rebalances, top), REBALANCES),
        "Groups": (found.groups, GROUPS),
        "Causes": (found.causes, CAUSES),
        "Members": (found.members, MEMBERS),
    }
