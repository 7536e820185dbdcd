"""Transactions from their first partition to their last marker: epochs, fencing, time, failing logs, restarts."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from ottla.coordinator.classic.step import CLASSIC
from ottla.coordinator.runtime.events import TimerExpired
from ottla.coordinator.runtime.records import CorruptRecordError
from ottla.coordinator.transactions import writing
from ottla.coordinator.transactions.records import read_transaction, read_transactional_id, transaction_record
from ottla.coordinator.transactions.states import TransactionState
from ottla.coordinator.transactions.step import TRANSACTIONS
from ottla.coordinator.transactions.time import EXPIRY_TIMER, TIMEOUT_TIMER
from ottla.coordinator.transactions.transaction import Transaction
from ottla.coordinator.transactions.writing import COMPLETION_TIMER, DECISION_TIMER
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import TransactionLogValue
from tests.coordinator.transactions.ledger import Ledger, places, written

FENCED = ErrorCode.PRODUCER_FENCED
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
#: More than fit into a short varint, with names that don't either.
LONG = tuple(f"{'a' * 200}-{index}" for index in range(200))


def begun(version: int = 2, **settings: Any) -> tuple[Ledger, Any]:
    """A producer that has added a partition."""
    ledger = Ledger(version, **settings)
    ana = ledger.producer()
    assert ana.init() == 0
    assert ana.add("orders-0", client_version=version) == 0
    return ledger, ana


def test_first_epoch_is_0_and_each_beginning_raises_it() -> None:
    """Three producers of one transactional id: one producer id, three epochs."""
    ledger = Ledger()
    who = []
    for _ in range(3):
        producer = ledger.producer()
        assert producer.init() == 0
        who.append(producer.who)
    assert who == [(1000, 0), (1000, 1), (1000, 2)]


@pytest.mark.parametrize(("commit", "ended"), [(True, "CompleteCommit"), (False, "CompleteAbort")])
def test_markers_are_asked_for_when_it_is_decided(commit: bool, ended: str) -> None:
    """The producer is answered before they are written; until all are, it is told to wait."""
    ledger, ana = begun()
    ana.add("orders-1", "payments-0")
    ledger.holds_markers = True
    assert ana.end(commit=commit) == 0
    (marker,) = ledger.markers
    assert (marker.is_commit, marker.partitions) == (commit, places("orders-0", "orders-1", "payments-0"))
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (1000, 1, 7)
    ledger.write_markers("orders-1", "payments-0")
    assert ana.add("orders-0") == BUSY
    assert ana.init() == BUSY
    ledger.write_markers("orders-0")
    assert ledger.state() == ended
    assert ana.add("orders-0") == 0


def test_epochs_stay_with_older_clients_and_rise_with_newer_ones() -> None:
    """EndTxn v4 and v5, whatever the partitions were added by."""
    ledger, ana = begun(0)
    assert ana.end(commit=True, version=4) == 0
    assert (ana.who, ledger["tx"].producer_epoch) == ((1000, 0), 0)
    ana.add("orders-0")
    assert ana.end(commit=True) == 0
    assert ana.who == (1000, 1)


def test_a_new_producer_fences_the_old_one() -> None:
    """Its transaction is aborted in a higher epoch; the new one comes again and gets one above that."""
    ledger, ana = begun()
    bo = ledger.producer()
    ledger.holds_markers = True
    assert bo.init() == BUSY
    assert bo.init() == BUSY
    ledger.write_markers()
    assert bo.init() == 0
    assert (ana.who, bo.who) == ((1000, 0), (1000, 2))
    assert ana.add("orders-1") == FENCED
    assert ana.end(commit=True) == FENCED
    assert not ledger.markers[0].is_commit
    (fenced,) = [note for note in ledger.notes if note.kind.name == "transaction.producer.fenced"]
    assert fenced.details["client_id"] == "ana"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_who_fences_goes_by_the_brokers_version(version: int) -> None:
    """The marker says by which rules it is to be taken."""
    ledger, _ = begun(version)
    assert ledger.producer().init() == BUSY
    (marker,) = ledger.markers
    assert (marker.producer_epoch, marker.transaction_version) == (1, 2 if version == 2 else 0)


@pytest.mark.parametrize("version", [0, 2])
def test_a_producer_goes_on_after_an_error(version: int) -> None:
    """It says what it has and gets the next epoch (KIP-360); when it has not heard that, the same again; then not."""
    ledger = Ledger(version)
    ana, bo = ledger.producer(), ledger.producer()
    ana.init()
    assert ana.init(expects=(1000, 0)) == 0
    assert ana.init(expects=(1000, 0)) == 0
    assert ana.who == (1000, 1)
    assert bo.init() == 0
    assert ana.init(expects=(1000, 0)) == FENCED
    assert ana.init(expects=(1000, 1), version=3) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_last_epoch_of_older_clients_is_followed_by_another_producer_id() -> None:
    """A producer is never given 32767, so that it can be fenced."""
    ledger = Ledger(0)
    ana = ledger.producer()
    for _ in range(32767):
        ana.init()
    assert ana.who == (1000, 32766)
    assert ana.add("orders-0") == 0
    bo = ledger.producer()
    assert bo.init() == BUSY
    assert ledger["tx"].producer_epoch == 32767
    assert bo.init() == 0
    assert bo.who == (1001, 0)


def test_the_last_epoch_of_newer_clients_is_followed_by_another_producer_id() -> None:
    """The end of the transaction answers it; who has not heard that may ask again under the old one."""
    ledger = Ledger()
    ana = ledger.producer()
    for _ in range(32767):
        ana.init()
    ana.add("orders-0", client_version=2)
    ledger.holds_markers = True
    assert ana.end(commit=True) == 0
    assert ana.who == (1001, 0)
    assert ledger.markers[0].producer_epoch == 32767
    ledger.write_markers()
    assert (ledger["tx"].producer_id, ledger["tx"].producer_epoch) == (1001, 0)
    assert ana.end(commit=True, who=(1000, 32766)) == 0
    assert ana.who == (1001, 0)
    assert ana.end(commit=False, who=(1000, 32766)) == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("by", ["timeout", "fence"])
def test_a_transaction_of_the_last_epoch_that_is_not_ended_by_its_producer(by: str) -> None:
    """Another producer id comes, with epoch 0. Its producer may ask how it was aborted, and begin anew, as if that had
    been by request: measured with Kafka 4.4."""
    ledger, ana = begun()
    ledger.machine.put(ledger["tx"].fenced(32766))
    late = 1000, 32766
    if by == "timeout":
        ledger.advance(70_000)
    else:
        assert ledger.producer().init() == BUSY
    assert ledger.markers[0].producer_epoch == 32767
    assert (ledger.state(), ledger["tx"].producer_id, ledger["tx"].producer_epoch) == ("CompleteAbort", 1001, 0)
    for who in ((1000, 32765), (1000, 32767)):
        assert ana.end(commit=False, who=who) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert ana.init(expects=who) == FENCED
    assert ana.end(commit=False, version=4, who=late) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert ana.end(commit=True, who=late) == ErrorCode.INVALID_TXN_STATE
    assert ana.end(commit=False, who=late) == 0
    assert ana.who == (1001, 0)
    assert ana.add("orders-0", who=late) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert ana.init(expects=late) == 0
    assert ana.who == (1001, 0)
    assert ana.init() == 0
    assert ana.who == (1001, 1)


def test_an_epoch_that_no_producer_has_can_only_abort() -> None:
    """32767, which is for who fences."""
    ledger, ana = begun()
    ledger.machine.put(ledger["tx"].fenced(32767))
    assert ana.end(commit=True, who=(1000, 32767)) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert ana.end(commit=False, who=(1000, 32767)) == 0
    assert ana.who == (1001, 0)


def test_without_producer_ids_nobody_begins() -> None:
    """The producer comes again."""
    ledger = Ledger()
    ledger.has_ids = False
    assert ledger.producer().init() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert ledger.machine.by_id == {}


@pytest.mark.parametrize("version", [1, 2])
def test_open_for_too_long(version: int) -> None:
    """Looked for every ten seconds: the first time that more than the timeout is over since the first partition."""
    ledger, ana = begun(version)
    for _ in range(6):
        ledger.advance(10_000)
        ana.add("orders-1")
    assert ledger.state() == "Ongoing"
    ledger.advance(9_999)
    assert ledger.state() == "Ongoing"
    ledger.advance(1)
    assert ledger.state() == "CompleteAbort"
    assert ana.end(commit=True, version=4) == FENCED
    assert ana.end(commit=True) == ErrorCode.INVALID_TXN_STATE, "as if it had been aborted by request"
    (prepared,) = [note for note in ledger.notes if note.kind.name == "transaction.prepared"]
    assert prepared.details["cause"].value == "timeout"  # type: ignore[attr-defined]
    ledger.advance(10_000)
    assert "timeouts" not in ledger.timers, "nothing is open any more"


def test_a_storm_of_timeouts() -> None:
    """A thousand at once are dealt with a hundred at a time, at the same instant."""
    ledger = Ledger()
    for number in range(1000):
        producer = ledger.producer(f"tx-{number}")
        producer.init()
        producer.add("orders-0")
    ledger.advance(69_999)
    assert len(ledger.machine.open) == 1000
    ledger.now_ms += 1
    ledger.play(TimerExpired("timeouts"))
    assert len(ledger.machine.open) == 900
    assert ledger.timers["timeouts"] == ledger.now_ms
    ledger.advance(0)
    assert not ledger.machine.open


def test_an_id_that_expires_before_its_turn_in_a_storm_is_passed_over() -> None:
    """Its producer was quicker, and has not come back."""
    ledger = Ledger(transactional_id_expiration_ms=1_000, remove_expired_interval_ms=1_000)
    producers = [ledger.producer(f"tx-{number}") for number in range(101)]
    for producer in producers:
        producer.init()
        producer.add("orders-0")
    ledger.now_ms += 70_000
    ledger.play(TimerExpired("timeouts"))
    assert list(ledger.machine.open) == ["tx-100"]
    del ledger.timers["timeouts"]
    assert producers[-1].end(commit=True) == ErrorCode.NONE
    ledger.advance(5_000)
    assert not ledger.machine.by_id
    ledger.play(TimerExpired("timeouts"))
    assert "timeouts" not in ledger.timers


def test_a_transaction_that_cannot_be_aborted_is_tried_again() -> None:
    """At the next look, not at once; with older clients its epoch is not raised a second time."""
    ledger, _ = begun(0)
    ledger.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    ledger.advance(80_000)
    assert (ledger.state(), ledger["tx"].producer_epoch) == ("Ongoing", 1)
    assert ledger.timers["timeouts"] == ledger.now_ms + 10_000
    ledger.refuse = ErrorCode.NONE
    ledger.advance(10_000)
    assert (ledger.state(), ledger["tx"].producer_epoch) == ("CompleteAbort", 1)


def test_ids_that_nobody_uses_expire() -> None:
    """Looked for every hour; one with an open transaction stays."""
    ledger = Ledger(transactional_id_expiration_ms=7_200_000)
    ana, bo = ledger.producer("ana"), ledger.producer("bo")
    ana.init(timeout_ms=10_000_000)
    bo.init()
    ana.add("orders-0")
    ledger.advance(7_199_999)
    assert set(ledger.machine.by_id) == {"ana", "bo"}
    ledger.advance(1)
    assert set(ledger.machine.by_id) == {"ana"}
    assert ledger.records[-1][1] is None
    assert bo.add("orders-0") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    ledger.restart()
    assert set(ledger.machine.by_id) == {"ana"}


@pytest.mark.parametrize(
    ("refused", "answered"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_cannot_be_written_has_not_happened(refused: ErrorCode, answered: ErrorCode) -> None:
    """Everything is as before, and can be tried again."""
    ledger, ana = begun()
    before = ledger["tx"]
    ledger.refuse = refused
    assert ana.add("orders-1") == answered
    assert ana.end(commit=True) == answered
    assert ana.init() == answered
    assert ledger["tx"] == before
    ledger.refuse = ErrorCode.NONE
    assert ana.end(commit=True) == 0


def test_that_it_is_complete_is_written_until_it_succeeds() -> None:
    """All markers are there, and the log takes no record: the producer waits. It is tried ever more seldom."""
    ledger, ana = begun()
    ledger.holds_markers = True
    ana.end(commit=True)
    ledger.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    ledger.write_markers()
    assert ana.add("orders-0") == BUSY
    ledger.advance(60_000)
    assert ledger.state() == "PrepareCommit"
    assert 30 < ledger.happened().count("transaction.write.failed") < 50
    ledger.refuse = ErrorCode.NONE
    ledger.advance(1_600)
    assert ledger.state() == "CompleteCommit"
    ana.add("orders-0")
    ledger.holds_markers = True
    ana.end(commit=True)
    ledger.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    ledger.write_markers()
    assert ledger.timers["completions"] == ledger.now_ms + 100, "from the beginning again"


def test_markers_of_a_transaction_before_mean_nothing() -> None:
    """A coordinator may be told of them twice."""
    ledger, ana = begun()
    ana.end(commit=True)
    (late,) = ledger.markers
    ledger.holds_markers = True
    ana.add("orders-0", client_version=2)
    ana.end(commit=True)
    ledger.markers.insert(0, late)
    ledger.markers.reverse()
    ledger.write_markers()
    assert ledger.state() == "PrepareCommit"


def steps_of_a_transaction(ledger: Ledger) -> Any:
    """A step with each turn."""
    ana = ledger.producer()
    ana.init()
    yield ana
    ana.add("orders-0", client_version=2)
    yield ana
    ana.add("orders-1", client_version=2)
    yield ana
    ledger.holds_markers = True
    ana.end(commit=True)
    yield ana
    ledger.write_markers("orders-0")
    yield ana
    ledger.write_markers("orders-1")
    yield ana


def test_what_was_carried_out_before_its_turn_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that met a bug is read anew, and told of markers that it had asked for: the next one is open."""
    monkeypatch.setattr(writing, "AT_ONCE", 1)
    ledger = Ledger()
    ledger.holds_markers = True
    producers = [ledger.producer(name) for name in ("a", "b")]
    for producer in producers:
        producer.init()
        producer.add("orders-0")
        assert producer.end(commit=True) == 0
    asked = list(ledger.markers)
    ledger.recover()
    ledger.play(written(asked[1]))
    assert producers[1].add("orders-0") == 0
    ledger.advance(0)
    assert ledger.markers == [*asked, asked[0]]
    assert ledger.state("b") == "Ongoing"


@pytest.mark.parametrize("steps", range(1, 7))
def test_another_node_goes_on_wherever_the_one_before_has_stopped(steps: int) -> None:
    """What was decided is carried out, what wasn't goes on or is aborted in time."""
    ledger = Ledger()
    *_, ana = islice(steps_of_a_transaction(ledger), steps)
    before = ledger["tx"]
    ledger.restart()
    after = ledger["tx"]
    assert (after.producer_id, after.producer_epoch, after.state) == (
        before.producer_id,
        before.producer_epoch,
        before.state,
    )
    if before.state is TransactionState.PREPARE_COMMIT:
        assert ledger.markers[-1].coordinator_epoch == 8
        assert ledger.markers[-1].partitions == places("orders-0", "orders-1"), "some of them once more"
        ledger.write_markers()
        assert ledger.state() == "CompleteCommit"
        assert ana.end(commit=True, who=(1000, 0)) == 0, "it may not have heard"
    elif before.state is TransactionState.ONGOING:
        ledger.holds_markers = False
        ledger.advance(70_000)
        assert ledger.state() == "CompleteAbort"
    else:
        assert ana.add("orders-0") == 0


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
@pytest.mark.parametrize("state", TransactionState)
def test_records_say_all_that_is_to_be_kept(state: TransactionState, transaction_version: int) -> None:
    """What comes out is what went in, but for the epoch before; version 0 has less."""
    has_partitions = state is not TransactionState.EMPTY
    kept = Transaction(
        "tx",
        5,
        60_000,
        99,
        state,
        7,
        last_producer_epoch=6,
        prev_producer_id=4 if transaction_version else -1,
        next_producer_id=9 if transaction_version else -1,
        start_ms=50,
        client_version=2 if transaction_version else 0,
        partitions=places("orders-0", "orders-3", "payments-1") if has_partitions else frozenset(),
    )
    key, value = transaction_record(kept, transaction_version)
    assert value is not None
    assert value[:2] == (b"\0\1" if transaction_version else b"\0\0")
    assert read_transactional_id(key) == "tx"
    read = read_transaction("tx", value)
    assert read == replace(kept, last_producer_epoch=-1)


@pytest.mark.parametrize("partitions", [(), ("orders-0",), ("orders-0", "orders-3", "é-1"), LONG])
@pytest.mark.parametrize(("prev", "following", "version"), [(-1, -1, 0), (4, -1, 0), (-1, 2**40, 2), (4, 9, 2)])
@pytest.mark.parametrize("state", [TransactionState.EMPTY, TransactionState.ONGOING])
def test_the_codec_makes_the_same_record(
    state: TransactionState, prev: int, following: int, version: int, partitions: tuple[str, ...]
) -> None:
    """What is put together by hand is what Kafka's schemas say, byte for byte."""
    there = places(*partitions)
    kept = Transaction("tx-é", 5, 60_000, 99, state, 7, 6, prev, following, 50, version, there)
    key, value = transaction_record(kept, transaction_version=2)
    assert key == b"\0\0" + TransactionLogKey("tx-é").encode(0)
    assert value is not None
    said = TransactionLogValue.decode(value, 1, 2)
    assert b"\0\1" + said.encode(1) == value
    listed = said.transaction_partitions
    assert (listed is None) == (state is TransactionState.EMPTY)
    assert {(topic.topic, index) for topic in listed or () for index in topic.partition_ids} == (
        set() if listed is None else there
    )
    assert (said.previous_producer_id, said.next_producer_id, said.client_transaction_version) == (
        prev, following, version,
    )  # fmt: skip


def test_a_state_that_there_is_not() -> None:
    """Such a log can't be read."""
    value = b"\0\0" + TransactionLogValue(transaction_status=7).encode(0)
    with pytest.raises(CorruptRecordError):
        read_transaction("tx", value)


def test_every_timer_of_a_partition_says_what_it_is_of() -> None:
    """In words that no other kind of machine has, and of no member."""
    said = [TRANSACTIONS.describe_timer(key) for key in (TIMEOUT_TIMER, EXPIRY_TIMER, COMPLETION_TIMER, DECISION_TIMER)]
    assert [kind for kind, _ in said] == list(TRANSACTIONS.timer_kinds)
    assert {member_id for _, member_id in said} == {None}
    assert not {*TRANSACTIONS.timer_kinds} & {*CLASSIC.timer_kinds}
