"""Prints docs/transactions.md: the states of a transactional id, and what every request is answered in each.

    python -m ottla.coordinator.transactions.tables > docs/transactions.md

`make docs` does it, and a test compares. What is a sentence in the tables is a sentence in the document.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from typing import Final

from ottla.coordinator.transactions import decisions
from ottla.coordinator.transactions.decisions import Cell, Situation
from ottla.coordinator.transactions.refusals import REFUSALS
from ottla.coordinator.transactions.states import TRANSITIONS, TransactionState
from ottla.coordinator.write_errors import TRANSACTION_WRITE_ERRORS
from ottla.protocol.errors import ErrorCode

_INTRODUCTION: Final = """\
# Transactions: states and answers

Printed by `make docs` from the tables that the coordinator runs (`ottla/coordinator/transactions/decisions.py`); don't
edit. They are those of Apache Kafka 4.4.0.

What a request is answered depends on the state of the transactional id that it names, and on what the producer id and
epoch in it are to that id: the stored ones are those that were given out last. Errors have Kafka's names; `NONE` is
success. Which offsets may be committed in a transaction stands in [groups.md](groups.md#txnoffsetcommit).
"""

_ADD_NOTE: Final = """\
AddOffsetsToTxn adds the partition of `__consumer_offsets` that keeps the group. Produce from v12 on and TxnOffsetCommit
from v5 on add what they write to by themselves; before, they ask for it:
"""

_UNKNOWN: Final = """\
A transactional id that nobody has begun with: InitProducerId begins, DescribeTransactions answers
TRANSACTIONAL_ID_NOT_FOUND, everything else INVALID_PRODUCER_ID_MAPPING.
"""

_TIME: Final = """\
## Time

Every `transaction.abort.timed.out.transaction.cleanup.interval.ms` the coordinator aborts transactions that were begun
longer ago than their producer's timeout, however busy they are since, and fences that producer. Every
`transaction.remove.expired.transaction.cleanup.interval.ms` it forgets ids in Empty, CompleteCommit and CompleteAbort
that were not used for `transactional.id.expiration.ms`. Both count from the start of the node.
"""


def document() -> str:
    """The whole page."""
    sections = [
        _INTRODUCTION,
        _picture(),
        _table("InitProducerId", decisions.INIT_PRODUCER_ID, "who begins"),
        _table("AddPartitionsToTxn, AddOffsetsToTxn", decisions.ADD_PARTITIONS, "who adds"),
        _ADD_NOTE,
        _table("Is a partition part of the transaction?", decisions.VERIFY_PARTITIONS, "who writes"),
        _table("EndTxn before v5", decisions.END, "who ends it"),
        _table("EndTxn from v5 on", decisions.BUMPING_END, "who ends it"),
        _TIME,
        _refusals(),
        _write_errors(),
        _versions(),
    ]
    return "\n".join(sections)


def _picture() -> str:
    """The states, with arrows that say when."""
    arrows = ["[*] --> Empty: a first InitProducerId"]
    arrows += [
        f"{state.value} --> {target.value}: {when}"
        for state, targets in TRANSITIONS.items()
        for target, when in targets.items()
    ]
    lines = "".join(f"    {arrow}\n" for arrow in arrows)
    rows = [[state.value, ", ".join(target.value for target in targets)] for state, targets in TRANSITIONS.items()]
    return f"## States\n\n```mermaid\nstateDiagram-v2\n{lines}```\n\n" + _rows(["from", "to"], rows)


def _table(title: str, table: Mapping[TransactionState, Mapping[Situation, Cell]], first: str) -> str:
    """A row for each situation, a column for each state."""
    rows = [
        [str(situation.value), *(_cell(table[state][situation]) for state in TransactionState)]
        for situation in table[TransactionState.EMPTY]
    ]
    return f"## {title}\n\n" + _rows([first, *(state.value for state in TransactionState)], rows)


def _cell(cell: object) -> str:
    if isinstance(cell, ErrorCode):
        return cell.name
    assert isinstance(cell, Enum)
    return str(cell.value)


def _refusals() -> str:
    rows = [[outside.value, error.name] for outside, error in REFUSALS.items()]
    return "## Requests that don't get that far\n\n" + _rows(["why", "answer"], rows) + "\n" + _UNKNOWN


def _write_errors() -> str:
    rows = [[error.name, answer.name] for error, answer in TRANSACTION_WRITE_ERRORS.items()]
    return "## When the log refuses a write\n\n" + _rows(["the log says", "answer"], rows)


def _versions() -> str:
    rows = [[api, f"v{since}"] for api, since in decisions.PRODUCER_FENCED_FROM.items()]
    text = (
        "## Older clients\n\nBefore these versions INVALID_PRODUCER_EPOCH is answered instead of PRODUCER_FENCED.\n\n"
    )
    return text + _rows(["request", "since"], rows)


def _rows(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(document())
