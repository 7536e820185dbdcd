"""Prints docs/transactions.md: the states of a transactional id, and what every request is answered in each.

    python -m ottla.coordinator.transactions.tables > docs/transactions.md

`make docs` does it, and a test compares. What is a sentence in the tables is a sentence in the document.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Final

from ottla.coordinator.transactions import decisions, states
from ottla.coordinator.transactions.decisions import Cell, Situation
from ottla.coordinator.transactions.refusals import REFUSALS
from ottla.coordinator.transactions.states import TransactionState
from ottla.coordinator.write_errors import TRANSACTION_WRITE_ERRORS
from ottla.protocol.errors import ErrorCode

_INTRODUCTION: Final = """\
# Transactions: states and answers

This page lists the answer to every request about transactions, as in Apache Kafka 4.4.0. `make docs` prints the page
from the tables that the coordinator runs (`ottla/coordinator/transactions/decisions.py`). Do not edit it.

The answer to a request depends on the state of its transactional id, and on the producer id and epoch in the request.
The *stored* producer id and epoch are those that the coordinator gave out last. Errors have Kafka's names; `NONE` is
success. [groups.md](groups.md#txnoffsetcommit) says which offsets may be committed in a transaction.
"""

_ADD_NOTE: Final = """\
AddOffsetsToTxn adds the partition of `__consumer_offsets` that keeps the group. Produce from v12 on and TxnOffsetCommit
from v5 on add their partitions themselves. Earlier versions only verify them, with the answers of the next table.
"""

_UNKNOWN: Final = """\
For an unknown transactional id, InitProducerId creates it, DescribeTransactions answers TRANSACTIONAL_ID_NOT_FOUND, and
all other requests answer INVALID_PRODUCER_ID_MAPPING.
"""

_TIME: Final = """\
## Time

Every `transaction.abort.timed.out.transaction.cleanup.interval.ms` the coordinator aborts each transaction that is open
for longer than its producer's timeout, and fences the producer. Activity in the transaction does not extend the
timeout. Every `transaction.remove.expired.transaction.cleanup.interval.ms` the coordinator removes ids in Empty,
CompleteCommit and CompleteAbort that were not used for `transactional.id.expiration.ms`. Both intervals start with the
node.
"""


def document() -> str:
    """The whole page."""
    sections = [
        _INTRODUCTION,
        _states(),
        _table("InitProducerId", decisions.INIT_PRODUCER_ID, "sender"),
        _table("AddPartitionsToTxn, AddOffsetsToTxn", decisions.ADD_PARTITIONS, "sender"),
        _ADD_NOTE,
        _table("Is a partition part of the transaction?", decisions.VERIFY_PARTITIONS, "sender"),
        _table("EndTxn before v5", decisions.END, "sender"),
        _table("EndTxn from v5 on", decisions.BUMPING_END, "sender"),
        _TIME,
        _refusals(),
        _write_errors(),
        _versions(),
    ]
    return "\n".join(sections)


def _states() -> str:
    """The picture at the head of `states`, and what leads from each state to which."""
    picture = inspect.cleandoc(states.__doc__ or "").partition("\n\n")[2].rpartition("\n\nKafka: ")[0]
    rows = [
        [state.value, target.value, when]
        for state, targets in states.TRANSITIONS.items()
        for target, when in targets.items()
    ]
    return f"## States\n\n```text\n{picture}\n```\n\n" + _rows(["from", "to", "when"], rows)


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
    return "## Requests that are refused first\n\n" + _rows(["reason", "answer"], rows) + "\n" + _UNKNOWN


def _write_errors() -> str:
    rows = [[error.name, answer.name] for error, answer in TRANSACTION_WRITE_ERRORS.items()]
    return "## When the log refuses a write\n\n" + _rows(["error of the log", "answer"], rows)


def _versions() -> str:
    rows = [[api, f"v{since}"] for api, since in decisions.PRODUCER_FENCED_FROM.items()]
    text = (
        "## Older clients\n\nBefore these versions the answer is INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED.\n\n"
    )
    return text + _rows(["request", "since"], rows)


def _rows(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(document())
