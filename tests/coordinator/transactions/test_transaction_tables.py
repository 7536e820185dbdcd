"""Every cell of every table: what is answered in each state to each situation, written down here once more.

The numbers are Kafka's error codes. A transactional id is brought into the state, the request is made so that it is in
that situation, and the answer is compared.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ottla.coordinator.transactions import decisions
from ottla.coordinator.transactions.situations import (
    BumpingEndSituation,
    EndSituation,
    InitSituation,
    ProducerSituation,
    situate_bumping_end,
    situate_end,
    situate_init,
    situate_producer,
)
from ottla.coordinator.transactions.states import PREPARED, TRANSITIONS, TransactionState
from ottla.coordinator.transactions.tables import document
from ottla.coordinator.transactions.transaction import Transaction
from ottla.protocol.errors import ErrorCode
from tests.coordinator.transactions.ledger import Ledger, Producer, places

Situation = TypeVar("Situation", bound=Enum)
HEADER = "EMPTY ONGOING PREPARE_COMMIT PREPARE_ABORT COMPLETE_COMMIT COMPLETE_ABORT"
PRODUCER_ID, EPOCH, LAST_EPOCH = 5, 10, 9


def grid(situations: type[Situation], text: str) -> list[Any]:
    """A line for each situation, a column for each state, as pytest parameters; every cell must be there."""
    states = [TransactionState[name] for name in HEADER.split()]
    cells = []
    for line in text.strip().splitlines():
        name, *row = line.split()
        assert len(row) == len(states), line
        cells += [(state, situations[name], cell) for state, cell in zip(states, row, strict=True)]
    everything = {(state, situation) for state in TransactionState for situation in situations}
    assert {(state, situation) for state, situation, _ in cells} == everything, "a cell is missing"
    return [pytest.param(*cell, id=f"{cell[0].value}-{cell[1].name}") for cell in cells]


def stage(state: TransactionState, **changes: Any) -> tuple[Ledger, Producer]:
    """An id in this state, with a producer that has its id and epoch; markers stay unwritten."""
    ledger = Ledger()
    ledger.holds_markers = True
    has_partitions = state is TransactionState.ONGOING or state in PREPARED
    transaction = Transaction(
        "tx",
        PRODUCER_ID,
        60_000,
        ledger.now_ms,
        state,
        EPOCH,
        last_producer_epoch=LAST_EPOCH,
        prev_producer_id=PRODUCER_ID,
        start_ms=ledger.now_ms if has_partitions else -1,
        client_version=2,
        partitions=places("orders-0") if has_partitions else frozenset(),
    )
    ledger.machine.put(replace(transaction, **changes))
    ledger.machine.timeout_deadline_ms = ledger.now_ms + 70_000
    producer = ledger.producer()
    producer.producer_id, producer.producer_epoch = PRODUCER_ID, ledger["tx"].producer_epoch
    return ledger, producer


@pytest.mark.parametrize("target", TransactionState)
@pytest.mark.parametrize("state", TransactionState)
def test_transitions(state: TransactionState, target: TransactionState) -> None:
    """Where Kafka's go: TransactionState.validPreviousStates."""
    s = TransactionState
    sources = {
        s.EMPTY: {s.EMPTY, s.COMPLETE_COMMIT, s.COMPLETE_ABORT},
        s.ONGOING: {s.ONGOING, s.EMPTY, s.COMPLETE_COMMIT, s.COMPLETE_ABORT},
        s.PREPARE_COMMIT: {s.ONGOING},
        s.PREPARE_ABORT: {s.ONGOING, s.EMPTY, s.COMPLETE_COMMIT, s.COMPLETE_ABORT},
        s.COMPLETE_COMMIT: {s.PREPARE_COMMIT},
        s.COMPLETE_ABORT: {s.PREPARE_ABORT},
    }
    assert (target in TRANSITIONS[state]) == (state in sources[target])


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        InitSituation,
        """
        STRANGER               90     90     51  51  90     90
        NEW                    next   fence  51  51  next   next
        NEW_EXHAUSTED          other  fence  51  51  other  other
        CURRENT                next   fence  51  51  next   next
        CURRENT_EXHAUSTED      other  fence  51  51  other  other
        RETRY                  same   fence  51  51  same   same
        OTHER_EPOCH            90     fence  51  51  90     90
        OTHER_EPOCH_EXHAUSTED  -1     fence  51  51  -1     -1
        """,
    ),
)
def test_init_producer_id(state: TransactionState, situation: InitSituation, expected: str) -> None:
    """Who gets the next epoch, the same, another producer id; whose transaction is aborted first."""
    last_epoch = 32766
    is_exhausted = situation.name.endswith("EXHAUSTED")
    ledger, ana = stage(state, **({"producer_epoch": last_epoch} if is_exhausted else {}))
    expects = {
        InitSituation.STRANGER: (99, EPOCH),
        InitSituation.NEW: None,
        InitSituation.NEW_EXHAUSTED: None,
        InitSituation.CURRENT: (PRODUCER_ID, EPOCH),
        InitSituation.CURRENT_EXHAUSTED: (PRODUCER_ID, last_epoch),
        InitSituation.RETRY: (PRODUCER_ID, LAST_EPOCH),
        InitSituation.OTHER_EPOCH: (PRODUCER_ID, 3),
        InitSituation.OTHER_EPOCH_EXHAUSTED: (PRODUCER_ID, 3),
    }[situation]
    before = ledger["tx"]
    assert situate_init(before, expects) is situation
    error = ana.init(expects=expects, timeout_ms=30_000)
    after = ledger["tx"]
    if expected == "fence":
        assert error == ErrorCode.CONCURRENT_TRANSACTIONS
        assert (after.state, after.producer_epoch) == (TransactionState.PREPARE_ABORT, before.producer_epoch + 1)
        return
    if expected.lstrip("-").isdigit():
        assert error == int(expected)
        assert after == before
        return
    assert error == ErrorCode.NONE
    who = {"next": (PRODUCER_ID, EPOCH + 1), "same": (PRODUCER_ID, EPOCH), "other": (1000, 0)}[expected]
    assert (after.producer_id, after.producer_epoch) == ana.who == who
    assert (after.state, after.timeout_ms, after.start_ms) == (TransactionState.EMPTY, 30_000, -1)
    last = {"same": LAST_EPOCH}.get(expected, -1 if expects is None else before.producer_epoch)
    assert after.last_producer_epoch == last


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        ProducerSituation,
        """
        OTHER_PRODUCER  49  49  51  51  49  49
        OTHER_EPOCH     90  90  51  51  90  90
        ALL_PRESENT     0!  0   51  51  0!  0!
        CURRENT         0!  0!  51  51  0!  0!
        """,
    ),
)
def test_add_partitions(state: TransactionState, situation: ProducerSituation, expected: str) -> None:
    """ "!" is written down; what is there already needs not be."""
    ledger, ana = stage(state)
    who = {ProducerSituation.OTHER_PRODUCER: (99, EPOCH), ProducerSituation.OTHER_EPOCH: (PRODUCER_ID, EPOCH + 1)}
    names = ["orders-0"]
    if situation is ProducerSituation.CURRENT:
        names.append("orders-1")
    before = ledger["tx"]
    is_nothing = situation is ProducerSituation.ALL_PRESENT and state is not TransactionState.ONGOING
    partitions = frozenset() if is_nothing else places(*names)
    if situation is not ProducerSituation.ALL_PRESENT or state not in PREPARED:
        assert situate_producer(before, *who.get(situation, ana.who), partitions) is situation
    assert ana.add(*names, who=who.get(situation)) == int(expected.rstrip("!"))
    assert bool(ledger.records) == expected.endswith("!")
    if expected.endswith("!"):
        after = ledger["tx"]
        assert (after.state, after.partitions) == (TransactionState.ONGOING, before.partitions | places(*names))
        assert after.start_ms == ledger.now_ms


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        ProducerSituation,
        """
        OTHER_PRODUCER  49   49     49  49  49   49
        OTHER_EPOCH     90   90     90  90  90   90
        ALL_PRESENT     0    0      51  51  0    0
        CURRENT         120  0,120  51  51  120  120
        """,
    ),
)
def test_verify_partitions(state: TransactionState, situation: ProducerSituation, expected: str) -> None:
    """Those that are there are, and the others are not; nothing changes."""
    ledger, ana = stage(state)
    who = {ProducerSituation.OTHER_PRODUCER: (99, EPOCH), ProducerSituation.OTHER_EPOCH: (PRODUCER_ID, EPOCH + 1)}
    names = ["orders-0", "orders-1"]
    if situation is ProducerSituation.ALL_PRESENT:
        names = ["orders-0"] if ledger["tx"].partitions else []
    errors = [int(error) for error in expected.split(",")]
    answered = ana.verify(*names, who=who.get(situation))
    assert answered == dict(zip(names, errors * (2 // len(errors)), strict=False))
    assert not ledger.records


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        EndSituation,
        """
        OTHER_PRODUCER  49  49  49  49  49  49
        OTHER_EPOCH     90  90  90  90  90  90
        COMMIT          48  0!  51  51  0   48
        ABORT           48  0!  51  51  48  0
        """,
    ),
)
def test_end(state: TransactionState, situation: EndSituation, expected: str) -> None:
    """Before v5; "!" decides, and the epoch stays."""
    ledger, ana = stage(state)
    who = {EndSituation.OTHER_PRODUCER: (99, EPOCH), EndSituation.OTHER_EPOCH: (PRODUCER_ID, EPOCH - 1)}
    is_commit = situation is EndSituation.COMMIT
    assert situate_end(ledger["tx"], *who.get(situation, ana.who), is_commit) is situation
    assert ana.end(commit=is_commit, version=4, who=who.get(situation)) == int(expected.rstrip("!"))
    assert bool(ledger.markers) == expected.endswith("!")
    if ledger.markers:
        (marker,) = ledger.markers
        assert (marker.is_commit, marker.producer_epoch, marker.transaction_version) == (is_commit, EPOCH, 0)


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        BumpingEndSituation,
        """
        OTHER_PRODUCER  49  49  51  51  49    49
        OTHER_EPOCH     90  90  51  51  90    90
        COMMIT          48  0!  51  51  48    48
        ABORT           0-  0!  51  51  0-    0-
        COMMIT_AGAIN    90  90  51  51  same  48
        ABORT_AGAIN     90  90  51  51  48    same
        """,
    ),
)
def test_bumping_end(state: TransactionState, situation: BumpingEndSituation, expected: str) -> None:
    """From v5 on; "!" decides and has markers written, "-" has none to write; both raise the epoch."""
    ledger, ana = stage(state)
    who = {
        BumpingEndSituation.OTHER_PRODUCER: (99, EPOCH),
        BumpingEndSituation.OTHER_EPOCH: (PRODUCER_ID, EPOCH + 1),
        BumpingEndSituation.COMMIT_AGAIN: (PRODUCER_ID, LAST_EPOCH),
        BumpingEndSituation.ABORT_AGAIN: (PRODUCER_ID, LAST_EPOCH),
    }.get(situation)
    is_commit = situation.name.startswith("COMMIT")
    if situation not in {BumpingEndSituation.OTHER_PRODUCER, BumpingEndSituation.OTHER_EPOCH}:
        assert situate_bumping_end(ledger["tx"], *(who or ana.who), is_commit) is situation
    error = ana.end(commit=is_commit, who=who)
    assert bool(ledger.markers) == expected.endswith("!")
    if expected[-1] in "!-":
        assert (error, ana.who) == (0, (PRODUCER_ID, EPOCH + 1))
        assert ledger["tx"].last_producer_epoch == EPOCH
    elif expected == "same":
        assert (error, ana.who) == (0, (PRODUCER_ID, EPOCH))
    else:
        assert error == int(expected)
    if ledger.markers:
        (marker,) = ledger.markers
        assert (marker.is_commit, marker.producer_epoch, marker.transaction_version) == (is_commit, EPOCH + 1, 2)


@pytest.mark.parametrize("api", decisions.PRODUCER_FENCED_FROM)
def test_older_clients_know_another_error(api: str) -> None:
    """The version in which PRODUCER_FENCED came, and the one before."""
    since = {"InitProducerId": 4, "AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2}[api]
    assert decisions.as_known(ErrorCode.PRODUCER_FENCED, api, since) is ErrorCode.PRODUCER_FENCED
    assert decisions.as_known(ErrorCode.PRODUCER_FENCED, api, since - 1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert decisions.as_known(ErrorCode.INVALID_TXN_STATE, api, 0) is ErrorCode.INVALID_TXN_STATE


def test_the_document_is_current() -> None:
    """docs/transactions.md is what `make docs` prints."""
    page = Path(__file__).parents[3] / "docs" / "transactions.md"
    assert page.read_text() == document(), "run `make docs`"
