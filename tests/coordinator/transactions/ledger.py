"""The transactional ids of one partition, played with: producers that remember what they are told.

    ledger = Ledger()
    ana = ledger.producer()
    ana.init() == 0                     the error it is answered; it has its id and epoch then
    ana.add("orders-0")
    ana.end(commit=True)
    ledger.markers                      what was asked for; `ledger.write_markers()` says that they are written

Appends succeed unless `refuse` says otherwise, and markers are written at once unless `holds_markers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from ottla.coordinator.runtime.effects import Append, Arm, Reply
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired
from ottla.coordinator.runtime.records import Record
from ottla.coordinator.transactions.config import TransactionConfig
from ottla.coordinator.transactions.events import (
    AddPartitionsRequested,
    DescribeRequested,
    EndTxnRequested,
    InitProducerIdRequested,
    MarkersWritten,
    VerifyPartitionsRequested,
)
from ottla.coordinator.transactions.machine import Transactions, WriteMarkers, replay
from ottla.coordinator.transactions.notes import Note
from ottla.coordinator.transactions.records import read_transaction, transaction_record
from ottla.coordinator.transactions.shard import TransactionShard
from ottla.coordinator.transactions.step import step
from ottla.coordinator.transactions.transaction import TopicPartition, Transaction
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.end_txn import EndTxnRequest

TIMEOUT_MS = 60_000


class Nobody:
    """A token that is only compared."""

    def answer(self, response: Any, /) -> None:
        raise AssertionError("the core answers nobody")


def places(*names: str) -> frozenset[TopicPartition]:
    """`"orders-0"` is partition 0 of orders."""
    return frozenset((name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in names)


class Ledger:
    """A partition of __transaction_state, and its log."""

    def __init__(self, transaction_version: int = 2, coordinator_epoch: int = 7, **settings: Any) -> None:
        self.config = TransactionConfig(transaction_version=transaction_version, **settings)
        self.coordinator_epoch = coordinator_epoch
        self.ids = count(1000)
        self.has_ids = True
        self.now_ms = 1_000_000
        self.records: list[Record] = []
        self.refuse: ErrorCode = ErrorCode.NONE
        self.holds_markers = False
        self.markers: list[WriteMarkers] = []
        self.timers: dict[str, int] = {}
        self.notes: list[Note] = []
        self.machine = self._new_machine()

    def _new_machine(self) -> Transactions:
        return Transactions(
            self.config,
            self.coordinator_epoch,
            self.now_ms,
            lambda: next(self.ids) if self.has_ids else None,
            lambda _happened: True,
        )

    def restart(self) -> None:
        """Another node takes over: what it knows is in the log."""
        self.coordinator_epoch += 1
        self.markers.clear()
        self.recover()
        self.advance(0)

    def recover(self) -> None:
        """It is read anew, and has come no further than that."""
        self.timers.clear()
        self.machine = self.read_back()
        self.play(Loaded())

    def read_back(self) -> Transactions:
        """The machine that the log makes."""
        machine = self._new_machine()
        TransactionShard(0, machine).replay_all(self.records)
        return machine

    def as_written(self, transaction: Transaction) -> Transaction:
        """What a record would say of this, and no more."""
        _, value = transaction_record(transaction, self.config.transaction_version)
        assert value is not None
        return read_transaction(transaction.transactional_id, value)

    def play(self, event: Any) -> Any:
        """Step, and do what is asked for; returns the answer, if there is one."""
        answers = []
        events: list[tuple[Any, Sequence[Any]]] = [(event, ())]
        while events:
            event, changes = events.pop(0)
            for change in changes:
                replay(self.machine, change)
            for effect in step(self.machine, self.now_ms, event):
                if isinstance(effect, Append):
                    is_taken = self.refuse is ErrorCode.NONE
                    self.records += effect.records if is_taken else ()
                    completed = AppendCompleted(effect.completion, self.refuse)
                    events.append((completed, effect.changes if is_taken else ()))
                elif isinstance(effect, Reply):
                    answers.append(effect.response)
                elif isinstance(effect, Arm):
                    self.timers[effect.timer_key] = effect.deadline_ms
                elif isinstance(effect, WriteMarkers):
                    self.markers.append(effect)
                    if not self.holds_markers:
                        events.append((written(effect), ()))
                else:
                    assert isinstance(effect, Note)
                    self.notes.append(effect)
            self.machine.check()
        assert len(answers) <= 1
        return answers[0] if answers else None

    def write_markers(self, *names: str) -> None:
        """Say that these partitions have the marker that was asked for last; without names, all."""
        asked = self.markers[-1]
        self.play(written(asked, places(*names) or asked.partitions))

    def advance(self, ms: int) -> None:
        """Let time pass, and timers run out."""
        end_ms = self.now_ms + ms
        while due := [(at_ms, key) for key, at_ms in self.timers.items() if at_ms <= end_ms]:
            at_ms, key = min(due)
            del self.timers[key]
            self.now_ms = max(self.now_ms, at_ms)
            self.play(TimerExpired(key))
        self.now_ms = end_ms

    def producer(self, transactional_id: str = "tx") -> Producer:
        return Producer(self, transactional_id)

    def __getitem__(self, transactional_id: str) -> Transaction:
        return self.machine.by_id[transactional_id]

    def happened(self) -> list[str]:
        return [note.kind.name for note in self.notes]

    def state(self, transactional_id: str = "tx") -> str:
        """What DescribeTransactions shows."""
        described = self.play(DescribeRequested(Nobody(), transactional_id))
        return str(described.transaction_state)


def written(asked: WriteMarkers, partitions: frozenset[TopicPartition] | None = None) -> MarkersWritten:
    return MarkersWritten(
        asked.transactional_id,
        asked.producer_id,
        asked.producer_epoch,
        asked.partitions if partitions is None else partitions,
    )


class Producer:
    """A producer. What it does returns the error that it is answered."""

    def __init__(self, ledger: Ledger, transactional_id: str) -> None:
        self.ledger = ledger
        self.transactional_id = transactional_id
        self.producer_id = self.producer_epoch = -1

    @property
    def who(self) -> tuple[int, int]:
        return self.producer_id, self.producer_epoch

    def init(self, *, expects: tuple[int, int] | None = None, version: int = 5, timeout_ms: int = TIMEOUT_MS) -> int:
        event = InitProducerIdRequested(Nobody(), self.transactional_id, timeout_ms, expects, version, "ana")
        answer = self.ledger.play(event)
        if answer.error_code == 0:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        else:
            assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
        return int(answer.error_code)

    def add(self, *names: str, who: tuple[int, int] | None = None, client_version: int = 0) -> int:
        event = AddPartitionsRequested(
            Nobody(), self.transactional_id, *(who or self.who), places(*names), client_version
        )
        (error,) = {
            p.partition_error_code for t in self.ledger.play(event).topic_results for p in t.results_by_partition
        }
        return int(error)

    def verify(self, *names: str, who: tuple[int, int] | None = None) -> dict[str, int]:
        event = VerifyPartitionsRequested(Nobody(), self.transactional_id, *(who or self.who), places(*names))
        return {
            f"{t.name}-{p.partition_index}": int(p.partition_error_code)
            for t in self.ledger.play(event).topic_results
            for p in t.results_by_partition
        }

    def end(self, *, commit: bool, version: int = 5, who: tuple[int, int] | None = None) -> int:
        request = EndTxnRequest(self.transactional_id, *(who or self.who), commit)
        answer = self.ledger.play(EndTxnRequested(Nobody(), request, version))
        if version >= 5 and answer.error_code == 0:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        else:
            assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
        return int(answer.error_code)
