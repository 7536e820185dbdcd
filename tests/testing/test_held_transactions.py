"""Timeouts and appends of transactional ids that are held, or fail: aimed at as those of groups are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.testing import BadFault, Broker, NotInTime
from tests.control.faults.scene import create
from tests.support.client import Client

TIMEOUT = "transaction-timeout"
TIMEOUT_MS = 5_000
#: So late every transaction that is open was looked at: transaction.abort.timed.out.transaction.cleanup.interval.ms.
LATE_MS = 20_000
STATE = "__transaction_state"


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(clock="virtual", settings={"transaction.state.log.num.partitions": 2}) as broker:
        yield broker


@pytest.fixture
def client(kafka: Broker) -> Iterator[Client]:
    with Client(kafka.bootstrap_servers, client_id="ana") as client:
        create(client, "orders")
        yield client


class Producer:
    """One with a transactional id, which has a transaction open."""

    def __init__(self, client: Client, transactional_id: str) -> None:
        self._client = client
        self.transactional_id = transactional_id
        assert client.ask(FindCoordinatorRequest(transactional_id, 1), 1).error_code == ErrorCode.NONE
        begun = client.ask(InitProducerIdRequest(transactional_id, TIMEOUT_MS), 4)
        assert begun.error_code == ErrorCode.NONE
        self._who = begun.producer_id, begun.producer_epoch
        added = client.ask(self.adding(), 3)
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == ErrorCode.NONE

    def adding(self, partition: int = 0) -> AddPartitionsToTxnRequest:
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("orders", [partition])]
        return AddPartitionsToTxnRequest(None, self.transactional_id, *self._who, topics)

    def ending(self) -> EndTxnRequest:
        return EndTxnRequest(self.transactional_id, *self._who, True)

    def commit(self) -> ErrorCode:
        return ErrorCode(self._client.ask(self.ending(), 3).error_code)


def error_of(client: Client) -> ErrorCode:
    """What the end of a transaction is answered."""
    return ErrorCode(client.receive().message.error_code)


def test_timeout_has_its_effect_when_it_is_let_go(kafka: Broker, client: Client) -> None:
    """Set before there is any transaction: its coordinator is held from its beginning."""
    with kafka.hold(timer=TIMEOUT, transactional_id="t*") as held:
        Producer(client, "tx")
        kafka.advance(LATE_MS)
        timeout = held.wait()
        assert (timeout.at, timeout.transactional_id, timeout.group_id, timeout.node_id) == (TIMEOUT, "tx", None, 1)
        assert repr(timeout) == "transaction-timeout of tx, held"
        assert kafka.transaction("tx").state == "Ongoing"
        assert not timeout.is_gone
        timeout.let_go()
        kafka.transaction("tx").wait_for(state="CompleteAbort")
    told = {event.kind: event.details for event in kafka.timeline if event.kind.startswith("deadline.")}
    assert told["deadline.held"]["transactional_id"] == told["deadline.let_go"]["transactional_id"] == "tx"
    assert told["deadline.let_go"]["is_void"] is False


def test_transaction_that_ends_meanwhile_makes_its_timeout_void(kafka: Broker, client: Client) -> None:
    with kafka.hold(timer=TIMEOUT) as held:
        producer = Producer(client, "tx")
        kafka.advance(LATE_MS)
        timeout = held.wait()
        assert producer.commit() == ErrorCode.NONE
        kafka.transaction("tx").wait_for(state="CompleteCommit")
        assert timeout.is_gone
    assert kafka.transaction("tx").state == "CompleteCommit"


def test_timeouts_of_others_are_not_held(kafka: Broker, client: Client) -> None:
    """A wait that ends without a hit tells what was due instead."""
    with kafka.hold(timer=TIMEOUT, transactional_id="till", may_not_fire=True) as held:
        Producer(client, "tx")
        kafka.advance(LATE_MS)
        kafka.transaction("tx").wait_for(state="CompleteAbort")
        with pytest.raises(NotInTime, match="held 0, not 1; what came close: transaction-timeout of tx"):
            held.wait(timeout_s=0)


def test_timeout_can_not_be_lost_nor_refused(kafka: Broker, client: Client) -> None:
    """One timer is of all transactions of a partition."""
    with kafka.hold(timer=TIMEOUT) as held:
        Producer(client, "tx")
        kafka.advance(LATE_MS)
        timeout = held.wait()
        with pytest.raises(BadFault, match="no other transaction of its partition would time out"):
            timeout.lose()
        with pytest.raises(BadFault, match="which no client has asked for"):
            timeout.refuse("UNKNOWN_SERVER_ERROR")
        with pytest.raises(BadFault, match="has nothing to change"):
            timeout.change(timeout_ms=1)
    kafka.transaction("tx").wait_for(state="CompleteAbort")


def test_other_timers_of_a_partition_are_held_without_an_id(kafka: Broker, client: Client) -> None:
    """Ids expire, and the timer that looks for them is of no single one."""
    with kafka.hold(timer="transactional-id-expiration") as held:
        assert Producer(client, "tx").commit() == ErrorCode.NONE
        kafka.advance(8 * 24 * 3_600_000)
        assert held.wait().transactional_id is None
        assert kafka.transaction("tx").state == "CompleteCommit"
    kafka.transaction("tx").wait_for(state="Dead")


def test_append_is_written_when_it_is_let_go(kafka: Broker, client: Client) -> None:
    producer = Producer(client, "tx")
    with kafka.hold(append=STATE, transactional_id="tx", once=True) as held:
        client.send(producer.ending(), 3)
        append = held.wait()
        assert (append.at, append.transactional_id, repr(append)) == ("append", "tx", "append of tx, held")
        assert not client.connection.has_received
        assert kafka.transaction("tx").state == "Ongoing"
        append.let_go()
        assert error_of(client) == ErrorCode.NONE
    kafka.transaction("tx").wait_for(state="CompleteCommit")
    told = [event.details["transactional_id"] for event in kafka.timeline if event.kind.startswith("append.")]
    assert told == ["tx", "tx"]


def test_append_that_is_refused_is_not_written(kafka: Broker, client: Client) -> None:
    producer = Producer(client, "tx")
    with kafka.hold(append=STATE, transactional_id="tx", once=True) as held:
        client.send(producer.ending(), 3)
        held.wait().refuse("NOT_ENOUGH_REPLICAS")
        assert error_of(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert kafka.transaction("tx").state == "Ongoing"
    assert producer.commit() == ErrorCode.NONE


def test_append_of_one_id_fails(kafka: Broker, client: Client) -> None:
    """The ids beside it are written."""
    first, second = Producer(client, "tx"), Producer(client, "till")
    failed = kafka.fault(transactional_id="tx").fail_append().once()
    assert second.commit() == ErrorCode.NONE
    assert failed.hit_count == 0
    assert first.commit() != ErrorCode.NONE
    assert [hit.transactional_id for hit in failed.hits] == ["tx"]
    assert first.commit() == ErrorCode.NONE


def test_record_that_is_lost_is_gone_with_the_coordinator() -> None:
    """The transaction was committed, and its next coordinator has it open."""
    settings = {"transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 2}
    with Broker(nodes=2, clock="virtual", settings=settings) as kafka:
        kafka.topic("orders").create(partitions=1)
        with Client(kafka.bootstrap_servers.split(",")[0]) as client:
            leader_id = client.ask(FindCoordinatorRequest("tx", 1), 1).node_id
        with Client(kafka.node(leader_id).bootstrap_server) as client:
            producer = Producer(client, "tx")
            lost = kafka.fault(transactional_id="tx").lose_record().until_removed()
            assert producer.commit() == ErrorCode.NONE
            lost.wait(2)
            lost.remove()
        kafka.node(leader_id).stop()
        kafka.transaction("tx").wait_for(state="Ongoing")


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ({"timer": "transaction-timout"}, "there is no timer 'transaction-timout'; did you mean transaction-timeout?"),
        ({"timer": [TIMEOUT, "session"]}, "transaction-timeout and session are held by holds of their own"),
        (
            {"timer": TIMEOUT, "group": "kitchen"},
            "a timer of a transactional id has no group to aim at; it has node, transactional_id",
        ),
        (
            {"timer": "transaction-completion", "transactional_id": "tx"},
            'no timer of one transactional_id; with transactional_id= say timer="transaction-timeout"',
        ),
        (
            {"append": STATE, "group": "kitchen"},
            "an append to a transactional id's log has no group to aim at; it has transactional_id",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(kafka: Broker, specification: dict[str, Any], said: str) -> None:
    with pytest.raises(BadFault) as refused:
        kafka.hold(**specification)
    assert said in str(refused.value)
