"""What the lines of a journal mean for the analysis of rebalances, with Spark or without: see docs/journal.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: The version of a line, in its `v`.
VERSION: Final = 1
#: Beyond it, either way, Spark has no times: microseconds in 64 bits.
TIME_MS_MAX: Final = (1 << 63) // 1000 - 1

#: With these a group begins another life, and ends one.
BIRTHS: Final = ("group.created", "group.loaded")
DEATHS: Final = ("group.deleted", "group.unloaded")

STARTED: Final = "group.rebalance.started"
#: What became of a rebalance, by the event that ended it. Else it is unfinished: nothing came after it, or the group
#: was loaded anew because its broker had been killed.
OUTCOMES: Final[Mapping[str, str]] = {
    "group.rebalance.completed": "completed",
    "group.emptied": "emptied",
    STARTED: "interrupted",
    **dict.fromkeys(DEATHS, "abandoned"),
}
UNFINISHED: Final = "unfinished"
#: All there are, in the order of tables.
ALL_OUTCOMES: Final = (*dict.fromkeys(OUTCOMES.values()), UNFINISHED)

JOINED: Final = "group.member.joined"
REMOVED: Final = "group.member.removed"
#: What happens to a member, by event and, for the removed, by cause.
CHURN: Final[Mapping[str, str]] = {
    JOINED: "joined",
    "group.member.rejoined": "rejoined",
    "group.member.replaced": "replaced",
    REMOVED: "removed",
}
REMOVALS: Final[Mapping[str, str]] = {"member_left": "left", "session_expired": "expired"}
