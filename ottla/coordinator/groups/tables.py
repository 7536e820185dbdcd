"""Prints docs/groups.md: the states of a group, and what every request is answered in each, from the tables themselves.

    python -m ottla.coordinator.groups.tables > docs/groups.md

`make docs` does it, and a test compares. What is a sentence in the tables is a sentence in the document.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Final

from ottla.coordinator.classic import decisions, events, states
from ottla.coordinator.classic.decisions import Answer, Cell, Situation
from ottla.coordinator.classic.events import Request
from ottla.coordinator.classic.states import GroupState
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

This page lists the answer to every request of classic groups, as in Apache Kafka 4.4.0. `make docs` prints the page
from the tables that the coordinator runs (`ottla/coordinator/classic/decisions.py`, `groups/refusals.py`). Do not edit
it.

The answer to a request depends on the state of the group and on the sender. The ids, the generation and the protocols
in the request identify the sender. Errors have Kafka's names; `NONE` is success.

- A *parked* request waits for its answer.
- A *pending* member id was given out with MEMBER_ID_REQUIRED, but its member has not joined yet.
"""

_COMMIT_NOTE: Final = """\
For a group that does not exist, OffsetCommit before v9 and TxnOffsetCommit before v6 answer ILLEGAL_GENERATION if the
request has a generation. A JoinGroup without member id creates the group, and so does a commit without generation.
"""

_SESSION_NOTE: Final = "† The member's session timeout starts again.\n"


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
        _states(),
        _table("Heartbeat", decisions.HEARTBEAT, note=_SESSION_NOTE),
        _table("JoinGroup", decisions.JOIN, first="sender; the first row that applies counts"),
        _table("SyncGroup", decisions.SYNC),
        _table("LeaveGroup, member by member", decisions.LEAVE, first="member to remove"),
        _table("OffsetCommit", decisions.OFFSET_COMMIT, note=_SESSION_NOTE),
        _table("TxnOffsetCommit", decisions.TXN_OFFSET_COMMIT),
        _table("OffsetDelete", decisions.OFFSET_DELETE, first="group"),
        _deletion(),
        _table("When the retention of a committed offset starts", decisions.EXPIRY, first="group"),
        _refusals(),
        _write_errors(),
    ]
    return "\n".join(sections)


def _states() -> str:
    """The picture at the head of `states`, and what leads from each state to another."""
    picture = inspect.cleandoc(states.__doc__ or "").partition("\n\n")[2].rpartition("\n\nKafka: ")[0]
    rows = [
        [state.value, target.value, when]
        for state, targets in states.TRANSITIONS.items()
        for target, when in targets.items()
        if target is not state
    ]
    return f"## States\n\n```text\n{picture}\n```\n\n" + _rows(["from", "to", "when"], rows)


def _table(
    title: str,
    table: Mapping[GroupState, Mapping[Situation, Cell]],
    *,
    first: str = "sender",
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
    text = "## Requests that don't get to a group\n\nThe first column that applies counts; – is not refused.\n\n"
    return text + _rows(["request", *(outside.value for outside in Outside)], rows) + "\n" + _COMMIT_NOTE


def _write_errors() -> str:
    columns = (GROUP_WRITE_ERRORS, WRITE_ERRORS, FETCH_WRITE_ERRORS)
    rows = [[error.name, *(column.get(error, error).name for column in columns)] for error in FETCH_WRITE_ERRORS]
    header = ["error of the log", "JoinGroup, SyncGroup", "other requests", "OffsetFetch of stable offsets"]
    return "## When the log refuses a write\n\nAll other errors are answered unchanged.\n\n" + _rows(header, rows)


def _rows(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(document())
