"""Prints docs/transactions.md: the states of a transactional id, and what every request is answered in each.

    python -m ottla.coordinator.transactions.tables > docs/transactions.md

`make docs` does it, and a test compares. What is a sentence in the tables is a sentence in the document.
"""

from __future__ import annotations

import sys
from typing import Final

from ottla.coordinator.pages import answers_section, states_section
from ottla.coordinator.transactions import decisions, states
from ottla.coordinator.transactions.refusals import REFUSALS
from ottla.coordinator.write_errors import TRANSACTION_WRITE_ERRORS
from ottla.text import markdown

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
        states_section(states, also_to_itself=True),
        answers_section("InitProducerId", decisions.INIT_PRODUCER_ID),
        answers_section("AddPartitionsToTxn, AddOffsetsToTxn", decisions.ADD_PARTITIONS),
        _ADD_NOTE,
        answers_section("Is a partition part of the transaction?", decisions.VERIFY_PARTITIONS),
        answers_section("EndTxn before v5", decisions.END),
        answers_section("EndTxn from v5 on", decisions.BUMPING_END),
        _TIME,
        _refusals(),
        _write_errors(),
        _versions(),
    ]
    return "\n".join(sections)


def _refusals() -> str:
    rows = [[outside.value, error.name] for outside, error in REFUSALS.items()]
    return "## Requests that are refused first\n\n" + markdown.table(["reason", "answer"], rows) + "\n" + _UNKNOWN


def _write_errors() -> str:
    rows = [[error.name, answer.name] for error, answer in TRANSACTION_WRITE_ERRORS.items()]
    return "## When the log refuses a write\n\n" + markdown.table(["error of the log", "answer"], rows)


def _versions() -> str:
    rows = [[api, f"v{since}"] for api, since in decisions.PRODUCER_FENCED_FROM.items()]
    text = (
        "## Older clients\n\nBefore these versions the answer is INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED.\n\n"
    )
    return text + markdown.table(["request", "since"], rows)


if __name__ == "__main__":
    sys.stdout.write(document())
