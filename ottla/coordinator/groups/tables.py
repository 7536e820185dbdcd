"""Prints docs/groups.md: the states of a group, and what every request is answered in each, from the tables themselves.

    python -m ottla.coordinator.groups.tables > docs/groups.md

`make docs` does it, and a test compares. What is a sentence in the tables is a sentence in the document.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from typing import Final

from ottla.coordinator.classic import decisions, events
from ottla.coordinator.classic.decisions import Answer, Cell, Situation
from ottla.coordinator.classic.events import Request
from ottla.coordinator.classic.states import TRANSITIONS, GroupState
from ottla.coordinator.groups.refusals import REFUSALS, Outside
from ottla.coordinator.offsets.events import (
    DeleteRequested,
    OffsetCommitRequested,
    OffsetDeleteRequested,
    OffsetFetchRequested,
    TxnOffsetCommitRequested,
)
from ottla.coordinator.write_errors import FETCH_WRITE_ERRORS, GROUP_WRITE_ERRORS, WRITE_ERRORS
from ottla.protocol.errors import ErrorCode

_INTRODUCTION: Final = """\
# Groups: states and answers

Printed by `make docs` from the tables that the coordinator runs (`ottla/coordinator/classic/decisions.py`,
`groups/refusals.py`); don't edit. They are those of Apache Kafka 4.4.0's classic groups.

What a request is answered depends on the group's state and on who sends it: what the ids, the generation and the
protocols in it are to this group. Errors have Kafka's names; `NONE` is success.
"""

_COMMIT_NOTE: Final = """\
Before v9 an OffsetCommit in a generation of a group that does not exist is answered ILLEGAL_GENERATION, as is a
TxnOffsetCommit before v6. A JoinGroup without member id, and a commit without generation, create the group that does
not exist.
"""

_SESSION_NOTE: Final = "† The member's session begins anew.\n"


_APIS: Final[Mapping[type[Request], str]] = {
    events.JoinRequested: "JoinGroup",
    events.SyncRequested: "SyncGroup",
    events.HeartbeatRequested: "Heartbeat",
    events.LeaveRequested: "LeaveGroup",
    OffsetCommitRequested: "OffsetCommit",
    TxnOffsetCommitRequested: "TxnOffsetCommit",
    OffsetFetchRequested: "OffsetFetch",
    OffsetDeleteRequested: "OffsetDelete",
    events.DescribeRequested: "DescribeGroups",
    DeleteRequested: "DeleteGroups",
}


def document() -> str:
    """The whole page."""
    sections = [
        _INTRODUCTION,
        _picture(),
        _table("Heartbeat", decisions.HEARTBEAT, note=_SESSION_NOTE),
        _table("JoinGroup", decisions.JOIN, first="who joins; the first that fits counts"),
        _table("SyncGroup", decisions.SYNC),
        _table("LeaveGroup, member by member", decisions.LEAVE, first="who is to leave"),
        _table("OffsetCommit", decisions.OFFSET_COMMIT, note=_SESSION_NOTE),
        _table("TxnOffsetCommit", decisions.TXN_OFFSET_COMMIT),
        _table("OffsetDelete", decisions.OFFSET_DELETE, first="group"),
        _deletion(),
        _table("From when on the retention of a committed offset counts", decisions.EXPIRY, first="group"),
        _refusals(),
        _write_errors(),
    ]
    return "\n".join(sections)


def _picture() -> str:
    """The states, with arrows that say when; that a group is unloaded, from wherever it is, is left out."""
    arrows = ["[*] --> Empty: a first JoinGroup, or a commit without generation"]
    for state, targets in TRANSITIONS.items():
        for target, when in targets.items():
            if target is not GroupState.DEAD:
                arrows.append(f"{state.value} --> {target.value}: {when}")
    arrows.append(f"Empty --> [*]: {TRANSITIONS[GroupState.EMPTY][GroupState.DEAD]}")
    lines = "".join(f"    {arrow}\n" for arrow in arrows)
    rows = [[state.value, ", ".join(target.value for target in TRANSITIONS[state])] for state in GroupState]
    return f"## States\n\n```mermaid\nstateDiagram-v2\n{lines}```\n\n" + _rows(["from", "to"], rows)


def _table(
    title: str,
    table: Mapping[GroupState, Mapping[Situation, Cell]],
    *,
    first: str = "who sends it",
    note: str = "",
) -> str:
    """A row for each situation, a column for each state."""
    situations = table[GroupState.EMPTY]
    rows = [
        [str(situation.value), *(_cell(table[state][situation]) for state in GroupState)] for situation in situations
    ]
    text = f"## {title}\n\n" + _rows([first, *(state.value for state in GroupState)], rows)
    return f"{text}\n{note}" if note else text


def _cell(cell: object) -> str:
    if isinstance(cell, Answer):
        return cell.error.name + (" †" if cell.keeps_session else "")
    if isinstance(cell, ErrorCode):
        return cell.name
    assert isinstance(cell, Enum)
    return str(cell.value)


def _deletion() -> str:
    rows = [[state.value, decisions.DELETE_GROUP[state].name] for state in GroupState]
    return "## DeleteGroups\n\n" + _rows(["state", "answer"], rows)


def _refusals() -> str:
    def cell(error: ErrorCode | None) -> str:
        return "–" if error is None else error.name

    rows = [[_APIS[kind], *(cell(refused[outside]) for outside in Outside)] for kind, refused in REFUSALS.items()]
    text = "## Requests that don't get to a group\n\nThe first reason that applies counts; – is none.\n\n"
    return text + _rows(["request", *(outside.value for outside in Outside)], rows) + "\n" + _COMMIT_NOTE


def _write_errors() -> str:
    columns = (GROUP_WRITE_ERRORS, WRITE_ERRORS, FETCH_WRITE_ERRORS)
    rows = [[error.name, *(column.get(error, error).name for column in columns)] for error in FETCH_WRITE_ERRORS]
    header = ["the log says", "JoinGroup, SyncGroup", "other requests", "OffsetFetch of stable offsets"]
    return "## When the log refuses a write\n\nOther errors keep their names.\n\n" + _rows(header, rows)


def _rows(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(document())
