"""Which rebalances and states a page has room for: the longest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ottla.terminal.output import Item

#: Of all groups: the list of a page, and what is drawn. A page stays below a megabyte.
LISTED_MAX: Final = 1_000
DRAWN_MAX: Final = 10_000


def chosen(rebalances: Iterable[Item], states: Iterable[Item]) -> tuple[list[Item], list[Item]]:
    """Those of all groups, in the order of their starts."""
    drawn = sorted(states, key=lambda one: one["since_ms"] - one["until_ms"])[:DRAWN_MAX]
    return longest(rebalances, LISTED_MAX), sorted(drawn, key=lambda one: one["since_ms"])


def longest(rebalances: Iterable[Item], count: int) -> list[Item]:
    """So many, in the order of their starts. What has not ended counts as long."""
    found = sorted(rebalances, key=lambda one: (one["unread_ms"] is not None, -(one["unread_ms"] or 0)))[:count]
    return sorted(found, key=lambda one: one["started_ms"])
