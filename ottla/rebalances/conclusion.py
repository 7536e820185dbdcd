"""The result in a few sentences: how many rebalances, which group suffered most, and why."""

from __future__ import annotations

from ottla.rebalances.found import Found, causer
from ottla.rebalances.words import CAUSES, counted, length


def conclusion(found: Found) -> str:
    """The sentences."""
    if found.group_count == 0 and found.lines > found.passed_over:
        return "No line of the journal is of a group that --group names. Without --group all groups are shown."
    if found.group_count == 0:
        return "Nothing happened in any group."
    told = [
        f"{counted(found.group_count, 'group')}, {counted(found.rebalance_count, 'rebalance')} "
        f"in {length(found.span_ms)}."
    ]
    if found.groups and found.groups[0]["unread_ms"]:
        worst = found.groups[0]
        told.append(
            f"In {worst['group']} some partitions had no reader for {length(worst['unread_ms'])}; "
            f"rebalancing itself took {length(worst['not_stable_ms'])}."
        )
    if found.causes and found.causes[0]["unread_ms"]:
        told.append(_why(found))
    return " ".join(told)


def _why(found: Found) -> str:
    worst = found.causes[0]
    cause = CAUSES.get(worst["cause"], worst["cause"]) or "of unknown cause"
    said = f"What cost most: {cause} ({counted(worst['rebalances'], 'time')}, {length(worst['unread_ms'])} unread)"
    of_it = [one for one in found.rebalances if one["cause"] == worst["cause"] and one["unread_ms"] is not None]
    longest = max(of_it, key=lambda one: one["unread_ms"], default=None)
    name = None if longest is None else causer(longest)
    return f"{said}, the longest because of {name}." if name else f"{said}."
