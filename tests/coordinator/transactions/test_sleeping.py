"""What a transactional id takes that sleeps: there may be millions of them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ottla.coordinator.runtime.events import Loaded
from ottla.coordinator.transactions.machine import Transactions
from ottla.coordinator.transactions.shard import TransactionShard
from tests.coordinator.transactions.ledger import Ledger

MANY = 1_500
#: An id of 24 letters takes some 340, of which its name is 70.
BYTES_MAX = 400


def begin(ledger: Ledger, number: int, *, ends: bool) -> None:
    """A producer that begins, and perhaps has a transaction from beginning to end."""
    producer = ledger.producer(f"orders-service-{number:08d}x")
    ledger.now_ms += 1_000
    assert producer.init(timeout_ms=60_000 + number) == 0
    if ends:
        assert producer.add("orders-0") == 0
        assert producer.end(commit=True) == 0


@contextmanager
def bytes_of_each() -> Iterator[Callable[[], float]]:
    """What is made within it and is still there, for each id."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]

    def bytes_now() -> float:
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / MANY

    try:
        yield bytes_now
    finally:
        tracemalloc.stop()


class Forgetful(list[object]):
    """Keeps the last thing that it is told."""

    def append(self, thing: object) -> None:
        self[:] = [thing]

    def __iadd__(self, things: object) -> Forgetful:  # type: ignore[misc]
        return self


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """To check the machine after each step takes as long as there are ids."""
    monkeypatch.setattr(Transactions, "check", lambda _self: None)


@pytest.mark.parametrize("ends", [False, True], ids=["that has only begun", "whose transaction is over"])
def test_a_producer(ends: bool) -> None:
    ledger = Ledger()
    ledger.records = ledger.notes = ledger.markers = Forgetful()  # type: ignore[assignment]
    with bytes_of_each() as of_each:
        for number in range(MANY):
            begin(ledger, number, ends=ends)
        assert of_each() < BYTES_MAX
    assert len(ledger.machine.by_id) == MANY
    assert len(ledger.timers) <= 2, "no timer is one id's own"


@pytest.mark.parametrize("ends", [False, True], ids=["that has only begun", "whose transaction is over"])
def test_one_that_was_read_from_the_log(ends: bool) -> None:
    """The same as before: what it shares with others it shares again."""
    ledger = Ledger()
    for number in range(MANY):
        begin(ledger, number, ends=ends)
    with bytes_of_each() as of_each:
        machine = ledger._new_machine()
        TransactionShard(0, machine).replay_all(ledger.records)
        assert of_each() < BYTES_MAX
    assert len(machine.by_id) == MANY
    ledger.machine = machine
    ledger.play(Loaded())
    assert not machine.resumed
