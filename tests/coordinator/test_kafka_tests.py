"""docs/kafka-tests.md names tests of ours; they must be there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ottla.coordinator.classic.situations import (
    CommitSituation,
    JoinSituation,
    LeaveSituation,
    MemberSituation,
    SyncSituation,
)
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.transactions.situations import (
    BumpingEndSituation,
    EndSituation,
    InitSituation,
    ProducerSituation,
)
from ottla.coordinator.transactions.states import TransactionState

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "kafka-tests.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| `([\w/]+\.py)::(\w+)(?:\[(\w+)-(\w+)\])?` \|$", PAGE, re.MULTILINE)
SITUATIONS = {
    "test_join": JoinSituation,
    "test_sync": SyncSituation,
    "test_heartbeat": MemberSituation,
    "test_leave": LeaveSituation,
    "test_offset_commit": CommitSituation,
    "test_offset_commit_in_a_transaction": CommitSituation,
    "test_init_producer_id": InitSituation,
    "test_add_partitions": ProducerSituation,
    "test_verify_partitions": ProducerSituation,
    "test_end": EndSituation,
    "test_bumping_end": BumpingEndSituation,
}
STATES = {state.value for state in (*GroupState, *TransactionState)}


@pytest.mark.parametrize("file", sorted({row[1] for row in ROWS}))
def test_named_tests_exist(file: str) -> None:
    """By their names, and cells of tables by state and situation."""
    beneath = HERE.parents[1] if file.startswith("ottla/") else HERE.parent
    path = beneath / file if "/" in file else next(HERE.rglob(file))
    source = path.read_text()
    there = set(re.findall(r"^ *(?:async )?def (\w+)|^(Test\w+) =", source, re.MULTILINE))
    names = {name or alias for name, alias in there}
    for kafkas, _, ours, state, situation in (row for row in ROWS if row[1] == file):
        assert ours in names, f"{kafkas}: there is no {ours} in {file}"
        if state:
            assert state in STATES, kafkas
            assert situation in SITUATIONS[ours].__members__, kafkas


def test_every_line_of_the_page_is_read() -> None:
    """Each row is a test of ours or a reason; no test of Kafka's is in both."""
    proven, _, absent = PAGE.partition("## Not here")
    not_here = re.findall(r"^\| `(\w+)` \| ", absent, re.MULTILINE)
    assert len(ROWS) == len(re.findall(r"^\| `", proven, re.MULTILINE))
    assert not_here
    assert not {row[0] for row in ROWS} & set(not_here)
