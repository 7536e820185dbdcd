"""Journals made by hand, group by group, as a broker writes them."""

from __future__ import annotations

import json
import random
from typing import Any, Final

JournalFields = dict[str, Any]
PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"
EMPTY: Final = "Empty"


class Journal:
    """Writes what a broker would; each group counts its own lines."""

    def __init__(self) -> None:
        self.lines: list[JournalFields] = []
        self._sequences: dict[str, int] = {}

    def add(self, t: int, event: str, state: str, group: str = "g", **details: Any) -> Journal:
        sequence = 1 if event in {"group.created", "group.loaded"} else self._sequences.get(group, 0) + 1
        self._sequences[group] = sequence
        line = {"v": 1, "line": len(self.lines) + 1, "t": t, "group": group, "seq": sequence}
        self.lines.append({**line, "event": event, "state": state, "generation": 1, **details})
        return self

    def rebalance(self, started: int, ended: int, cause: str = "member_joined", group: str = "g") -> Journal:
        """One that ended well."""
        self.add(started, "group.rebalance.started", PREPARING, group, cause=cause, member_id="ana")
        self.add(ended, "group.rebalance.joined", COMPLETING, group, cause=cause)
        return self.add(ended, "group.rebalance.completed", STABLE, group, cause=cause)

    def killed(self, t: int, silent_ms: int, took_ms: int, member: str = "bo", group: str = "g") -> Journal:
        """A member's session ended, and the others have its partitions after so long."""
        cause = "session_expired"
        self.add(t, "group.member.removed", STABLE, group, member_id=member, cause=cause, silent_ms=silent_ms)
        self.add(t, "group.rebalance.started", PREPARING, group, member_id=member, cause=cause)
        return self.add(t + took_ms, "group.rebalance.completed", STABLE, group, cause=cause)

    @property
    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def walk(seed: int, lines: int, groups: int = 5) -> Journal:
    """Whatever may happen, in any order, also what no broker would write; no two lines of a group at the same time."""
    dice, journal, t = random.Random(seed), Journal(), 1_767_225_600_000
    causes = ("member_joined", "member_left", "session_expired", "leader_rejoined")
    for _ in range(lines):
        t += dice.choice((1, 3, 20, 900, 45_000))
        group, member = f"group-{dice.randrange(groups)}", f"member-{dice.randrange(8)}"
        about: dict[str, Any] = {"member_id": member, "cause": dice.choice(causes)}
        event, state = dice.choice(
            (
                ("group.created", EMPTY), ("group.loaded", STABLE), ("group.deleted", EMPTY), ("group.emptied", EMPTY),
                *[("group.rebalance.started", PREPARING), ("group.rebalance.joined", COMPLETING)] * 3,
                *[("group.rebalance.completed", STABLE), ("group.member.removed", STABLE)] * 4,
                ("group.member.removed", PREPARING), ("group.member.joined", PREPARING),
                ("group.member.rejoined", STABLE),
            )
        )  # fmt: skip
        if event == "group.member.removed" and dice.random() < 0.7:
            about["silent_ms"] = dice.choice((100, 10_000, 45_000))
        if event == "group.member.joined":
            about |= {"client_id": f"client {dice.randrange(3)}", "client_host": f"/10.0.0.{dice.randrange(3)}"}
        journal.add(t, event, state, group, **about)
    del journal.lines[lines // 2 : lines // 2 + 7]
    return journal
