"""Random walks: whatever producers do, whenever logs refuse and coordinators are replaced, the log tells a sane story.

What is acknowledged is judged by the log alone, for that is all that the next coordinator has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.coordinator.transactions.machine import WriteMarkers
from ottla.coordinator.transactions.records import read_transaction, read_transactional_id
from ottla.coordinator.transactions.states import PREPARED, TRANSITIONS, TransactionState
from ottla.coordinator.transactions.transaction import NO_EPOCH, TopicPartition, Transaction
from ottla.protocol.errors import ErrorCode
from tests.coordinator.transactions.ledger import Ledger, Producer, places, written

IDS = ("a", "b")
PLACES = ("orders-0", "orders-1", "payments-0")
LOG_ERRORS = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.MESSAGE_TOO_LARGE)

ids = st.sampled_from(IDS)
some_places = st.lists(st.sampled_from(PLACES), min_size=1, unique=True)
anyone = st.integers(0, 7)


class Story:
    """What the log says of one transactional id, record by record; each must be allowed to follow the one before."""

    def __init__(self) -> None:
        self.now: Transaction | None = None
        self.decisions = 0
        self.marked: Counter[TopicPartition] = Counter()
        """The partitions of the transaction that is decided, by how often their marker was written."""

    def go_on(self, after: Transaction) -> None:
        before, self.now = self.now, after
        if before is None:
            assert after.state is TransactionState.EMPTY
            return
        assert after.state in TRANSITIONS[before.state]
        assert after.producer_id >= before.producer_id, "producer ids are handed out in their order"
        if after.producer_id == before.producer_id:
            assert after.producer_epoch >= before.producer_epoch, "epochs never fall"
        if after.state in PREPARED:
            self.decisions += 1
            self.marked.clear()
            if before.state is TransactionState.ONGOING:
                assert after.partitions == before.partitions
                assert after.start_ms == before.start_ms
        if before.state in PREPARED:
            assert set(self.marked) == before.partitions, "none is complete without all of its markers"
            assert all(count == 1 for count in self.marked.values())


class Walk(RuleBasedStateMachine):
    """Producers of two ids, some of them of yesterday, and markers that are written one at a time."""

    @initialize(version=st.sampled_from([0, 1, 2]))
    def begin(self, version: int) -> None:
        self.ledger = Ledger(version, transactional_id_expiration_ms=10_000_000)
        self.ledger.holds_markers = True
        self.producers: dict[str, list[Producer]] = {name: [self.ledger.producer(name)] for name in IDS}
        self.stories = {name: Story() for name in IDS}
        self.read = 0
        #: What is asked for and not written yet, by id: the last that was asked.
        self.asked: dict[str, tuple[WriteMarkers, set[TopicPartition]]] = {}
        for (producer,) in self.producers.values():
            assert producer.init() == ErrorCode.NONE

    def producer(self, name: str, which: int) -> Producer:
        known = self.producers[name]
        return known[which % len(known)]

    def look(self) -> None:
        """Take in what was written and asked for since."""
        for key, value in self.ledger.records[self.read :]:
            assert value is not None
            name = read_transactional_id(key)
            self.stories[name].go_on(read_transaction(name, value))
        self.read = len(self.ledger.records)
        for asked in self.ledger.markers:
            story = self.stories[asked.transactional_id]
            assert story.now is not None
            assert story.now.state in PREPARED, "what is decided stands in the log before anything is done about it"
            assert asked.is_commit == (story.now.state is TransactionState.PREPARE_COMMIT)
            assert asked.partitions == story.now.partitions
            assert asked.transactional_id not in self.asked, "one coordinator asks once"
            self.asked[asked.transactional_id] = asked, set(asked.partitions)
        self.ledger.markers.clear()

    def in_log(self, name: str) -> Transaction:
        self.look()
        transaction = self.stories[name].now
        assert transaction is not None, "what is acknowledged stands in the log"
        return transaction

    @rule(name=ids, is_new=st.booleans(), which=anyone, expects=st.booleans())
    def init(self, name: str, is_new: bool, which: int, expects: bool) -> None:
        producer = self.producer(name, which)
        if is_new and len(self.producers[name]) < 4:
            producer = self.ledger.producer(name)
            self.producers[name].append(producer)
        who = producer.who if expects and producer.producer_id >= 0 else None
        if producer.init(expects=who) == ErrorCode.NONE:
            transaction = self.in_log(name)
            assert producer.who == (transaction.producer_id, transaction.producer_epoch)
            assert transaction.state is TransactionState.EMPTY

    @rule(name=ids, which=anyone, names=some_places, client_version=st.sampled_from([0, 2]))
    def add(self, name: str, which: int, names: list[str], client_version: int) -> None:
        producer = self.producer(name, which)
        if producer.add(*names, client_version=client_version) == ErrorCode.NONE:
            transaction = self.in_log(name)
            assert transaction.state is TransactionState.ONGOING
            assert places(*names) <= transaction.partitions
            assert producer.who == (transaction.producer_id, transaction.producer_epoch)

    @rule(name=ids, which=anyone, is_commit=st.booleans(), version=st.sampled_from([4, 5]))
    def end(self, name: str, which: int, is_commit: bool, version: int) -> None:
        producer = self.producer(name, which)
        if producer.end(commit=is_commit, version=version) == ErrorCode.NONE:
            state = self.in_log(name).state
            assert state in (
                (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
                if is_commit
                else (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
            )

    @precondition(lambda self: self.asked)
    @rule(which=anyone, count=st.integers(1, 3))
    def write_markers(self, which: int, count: int) -> None:
        """Some partitions of what one id waits for get theirs."""
        name = sorted(self.asked)[which % len(self.asked)]
        asked, missing = self.asked[name]
        some = frozenset(sorted(missing)[:count])
        missing -= some
        if not missing:
            del self.asked[name]
        self.stories[name].marked.update(some)
        self.ledger.play(written(asked, some))

    @rule(ms=st.sampled_from([100, 10_000, 70_000]))
    def advance(self, ms: int) -> None:
        self.ledger.advance(ms)

    @rule(error=st.sampled_from(LOG_ERRORS))
    def refuse(self, error: ErrorCode) -> None:
        self.ledger.refuse = error

    @rule()
    def accept(self) -> None:
        self.ledger.refuse = ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        """Another coordinator: it has the markers written anew that the one before has not heard of in the log."""
        self.look()
        self.asked.clear()
        for story in self.stories.values():
            story.marked.clear()
        self.ledger.restart()
        for name, story in self.stories.items():
            assert (story.now is None) == (name not in self.ledger.machine.by_id)

    @invariant()
    def log_is_sane(self) -> None:
        self.look()

    @invariant()
    def what_lives_is_what_is_read_back(self) -> None:
        """But for what no record says: markers that are written, an id or a raised epoch that could not be written."""
        live, read = self.ledger.machine, self.ledger.read_back()
        unwritten = {name for name, t in live.by_id.items() if t.producer_epoch == NO_EPOCH}
        assert live.by_id.keys() - unwritten == read.by_id.keys()
        assert (list(live.open), list(live.decided)) == (list(read.open), list(read.decided))
        for name, transaction in read.by_id.items():
            as_written = self.ledger.as_written(live.by_id[name])
            assert as_written.partitions <= transaction.partitions
            if transaction.state not in PREPARED:
                assert as_written.partitions == transaction.partitions
            if name in live.failed_fences:
                assert as_written.producer_epoch >= transaction.producer_epoch
                as_written = replace(as_written, producer_epoch=transaction.producer_epoch)
            assert replace(as_written, partitions=transaction.partitions) == transaction

    def teardown(self) -> None:
        """In the end, with a log that takes everything, nothing is left undone."""
        if not hasattr(self, "ledger"):
            return
        self.accept()
        self.look()
        for _ in range(10):
            self.ledger.advance(130_000)
            self.look()
            while self.asked:
                self.write_markers(0, len(PLACES))
                self.look()
        assert not self.ledger.machine.open
        assert not self.ledger.machine.decided


Walk.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestWalk: Any = Walk.TestCase
