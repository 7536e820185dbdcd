"""Prints docs/groups.md: the states of a group, and what every request is answered in each, from the tables themselves.

    python -m ottla.coordinator.groups.tables > docs/groups.md

`make docs` does it, and a test compares. What is a sentence in the tables is a sentence in the document.
"""

from __future__ import annotations

import sys
from typing import Final

from ottla.coordinator.classic import decisions, states
from ottla.coordinator.classic.decisions import Answer
from ottla.coordinator.classic.kind import CLASSIC_GROUPS
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.groups.refusals import OF_EVERY_KIND
from ottla.coordinator.kinds.outside import Outside
from ottla.coordinator.pages import answers_section, shown, states_section
from ottla.coordinator.write_errors import FETCH_WRITE_ERRORS, GROUP_WRITE_ERRORS, WRITE_ERRORS
from ottla.protocol.errors import ErrorCode
from ottla.text import markdown

_INTRODUCTION: Final = """\
# Groups: states and answers

This page lists the answer to every request of classic groups, as in Apache Kafka 4.4.0. `make docs` prints the page
from the tables that the coordinator runs (`ottla/coordinator/classic/decisions.py`, `classic/requests.py`). Do not edit
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


def document() -> str:
    """The whole page."""
    sections = [
        _INTRODUCTION,
        states_section(states, also_to_itself=False),
        answers_section("Heartbeat", decisions.HEARTBEAT, show=_shown) + "\n" + _SESSION_NOTE,
        answers_section("JoinGroup", decisions.JOIN, first="sender; the first row that applies counts"),
        answers_section("SyncGroup", decisions.SYNC),
        answers_section("LeaveGroup, member by member", decisions.LEAVE, first="member to remove"),
        answers_section("OffsetCommit", decisions.OFFSET_COMMIT, show=_shown) + "\n" + _SESSION_NOTE,
        answers_section("TxnOffsetCommit", decisions.TXN_OFFSET_COMMIT),
        answers_section("OffsetDelete", decisions.OFFSET_DELETE, first="group"),
        _deletion(),
        answers_section("When the retention of a committed offset starts", decisions.EXPIRY, first="group"),
        _refusals(),
        _write_errors(),
    ]
    return "\n".join(sections)


def _shown(cell: object) -> str:
    if isinstance(cell, Answer):
        return cell.error.name + (" †" if cell.keeps_session else "")
    return shown(cell)


def _deletion() -> str:
    rows = [[state.value, decisions.DELETE_GROUP[state].name] for state in GroupState]
    return "## DeleteGroups\n\n" + markdown.table(["state", "answer"], rows)


def _refusals() -> str:
    def cell(error: ErrorCode | None) -> str:
        return "–" if error is None else error.name

    requests = [*CLASSIC_GROUPS.requests.values(), *OF_EVERY_KIND.values()]
    rows = [[row.api, *(cell(row.errors[outside]) for outside in Outside)] for row in requests]
    text = "## Requests that don't get to a group\n\nThe first column that applies counts; – is not refused.\n\n"
    return text + markdown.table(["request", *(outside.value for outside in Outside)], rows) + "\n" + _COMMIT_NOTE


def _write_errors() -> str:
    columns = (GROUP_WRITE_ERRORS, WRITE_ERRORS, FETCH_WRITE_ERRORS)
    rows = [[error.name, *(column.get(error, error).name for column in columns)] for error in FETCH_WRITE_ERRORS]
    header = ["error of the log", "JoinGroup, SyncGroup", "other requests", "OffsetFetch of stable offsets"]
    return "## When the log refuses a write\n\nAll other errors are answered unchanged.\n\n" + markdown.table(
        header, rows
    )


if __name__ == "__main__":
    sys.stdout.write(document())
