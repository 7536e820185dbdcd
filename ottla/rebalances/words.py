"""The words of a report: what causes, outcomes and states mean, and times for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

CAUSES: Final[Mapping[str, str]] = {
    "member_joined": "a new member came",
    "member_changed": "a member joined again with another subscription, or before it had its assignment",
    "leader_rejoined": "the leader joined again, as it does when topics have changed",
    "static_member_returned": "a static member restarted, and the group could not go on as before",
    "member_left": "a member left",
    "session_expired": "a member was silent for its whole session timeout",
    "join_expired": "a member did not join again in time",
    "sync_expired": "a member did not fetch its assignment in time",
    "write_failed": "the broker could not write the assignments",
    "enforced": "a test asked for it",
    "group_full": "a loaded group had more members than it may have",
}
OUTCOMES: Final[Mapping[str, str]] = {
    "completed": "every member can fetch its assignment",
    "emptied": "no member was left",
    "interrupted": "another rebalance began before this one had ended",
    "abandoned": "the group was deleted, or its node ended",
    "unfinished": "it had not ended when the journal did, or when the broker was killed",
}
TERMS: Final[Mapping[str, str]] = {
    "Rebalance": "A group gives its partitions to its members anew. All of them join again and get an assignment.",
    "Unstable": "How long rebalances took: from the start of each to its end.",
    "Unread": "How long some partitions may have had no reader: while the group rebalanced, and before that from the "
    "last sign of life of a member that was then given up. Times of two members at once count once in a group. With a "
    "cooperative assignor members go on reading what they keep, and less is unread.",
    "Median, 95 %, longest": "Of the lengths of rebalances: half of them, and 95 of 100, took no longer.",
    "Stable": "All members have their assignments. As a share: of the time in which the group had members.",
    "Unfinished": "The state in which the journal leaves the group. It is in no sum.",
    "Lost lines": "Holes in the numbers of the group's lines: the journal does not have all that happened.",
}

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
#: What Python has no dates for is told as a number.
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def date(timestamp_ms: int | None) -> str | None:
    """Such as 2026-11-22 16:01:02.123, in UTC."""
    if timestamp_ms is None:
        return None
    try:
        found = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms since 1970"
    return found.isoformat(" ", "milliseconds").removesuffix("+00:00")


def length(duration_ms: int) -> str:
    """Such as 21 ms, 45.0 s, 3 min 12 s, 2 h 5 min."""
    if duration_ms < 1_000:
        return f"{duration_ms} ms"
    if duration_ms < 60_000:
        return f"{duration_ms / 1_000:.1f} s"
    for (unit_ms, unit), (part_ms, part) in pairwise(_UNITS):
        if duration_ms >= unit_ms:
            return f"{duration_ms // unit_ms:,} {unit} {duration_ms % unit_ms // part_ms} {part}"
    raise AssertionError("longer than a minute")


def counted(number: int, what: str) -> str:
    """Such as 1 group, 2 groups."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
