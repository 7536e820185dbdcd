"""What a test sees of transactions, and how it waits for them: from their first state to their last."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from aiokafka import AIOKafkaProducer

from ottla.control.attached.controlled_broker import ControlledBroker
from ottla.control.state.conditions import Condition, transaction_is
from ottla.control.state.transactions import TransactionView
from ottla.testing import Broker, NotInTime, Simulation
from ottla.testing.simulation.simulated_broker import SimulatedBroker
from tests.support.patience import PATIENCE_SECONDS
from tests.transactions.driver import TOPIC, TRANSACTIONAL_ID, Driver


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(clock="virtual") as broker:
        yield broker


@pytest.fixture
def producer(kafka: Broker) -> Iterator[Driver]:
    with Driver(lambda: [kafka.bootstrap_servers]) as driver:
        driver.create_topic()
        yield driver


def test_nothing_is_made_by_looking() -> None:
    """Where nobody has used transactions there are none, and no topic for them."""
    with Broker() as kafka:
        assert kafka.transactions == kafka.aio.transactions == []
        assert kafka.transaction("tx").look() == TransactionView("tx")
        assert kafka.transaction("tx").state == "Dead"
        assert repr(kafka.transaction("tx")) == "there is no transactional id tx"
        with pytest.raises(NotInTime, match=r"transactional id tx with anything; there is no transactional id tx$"):
            kafka.transaction("tx").wait_for(timeout_s=0)
        assert kafka.look(lambda broker: list(broker.server.cluster.topics)) == []


@pytest.mark.parametrize(("commit", "state"), [(True, "committed"), (False, "aborted")])
def test_records_of_transactions_are_seen_once_committed(
    kafka: Broker, producer: Driver, commit: bool, state: str
) -> None:
    """As a consumer of committed records sees them; what they are part of is told to those who want all."""
    topic = kafka.topic(TOPIC)
    producer.begin()
    producer.add()
    producer.write(0, b"soup")
    (record,) = topic.wait_for_records(1, isolation="read_uncommitted")
    assert (record.transaction, topic.records()) == ("open", [])
    with pytest.raises(NotInTime, match="there are none"):
        topic.wait_for_records(1, timeout_s=0)
    producer.end(commit=commit)
    producer.succeed()
    kafka.transaction(TRANSACTIONAL_ID).wait_for(lambda seen: not seen.partitions)
    (record,) = topic.records(isolation="read_uncommitted")
    assert (record.transaction, record.text) == (state, "soup")
    assert topic.records() == ([record] if commit else [])
    topic.produce("bread")
    assert topic.records()[-1].transaction is None
    with pytest.raises(ValueError, match=r"no isolation committed"):
        topic.records(isolation="committed")  # type: ignore[arg-type]


def test_timers_of_transactions_are_deadlines(kafka: Broker, producer: Driver) -> None:
    """By what they are of; all transactional ids in a partition share them."""
    producer.begin()
    producer.write(1, b"soup")
    deadline = kafka.next_deadline(kind="transaction-timeout")
    assert deadline is not None
    partition = kafka.look(
        lambda broker: broker.server.services.transaction_coordination.of_node[1].partition_of(TRANSACTIONAL_ID)
    )
    assert (deadline.group_id, deadline.about) == (None, f"transactions in partition {partition}")
    assert str(deadline) == f"transaction-timeout {deadline.about} in {deadline.in_ms} ms"
    kafka.advance(deadline.in_ms + 60_000)
    kafka.transaction(TRANSACTIONAL_ID).wait_for(state="CompleteAbort")


def test_transaction_is_seen_from_its_begin_to_its_end(kafka: Broker, producer: Driver) -> None:
    """With the producer that the coordinator has told, the partitions it has written to, and the broker's dates."""
    kafka.advance(7_000)
    now_ms = kafka.look(lambda broker: broker.server.cluster.wall_ms())
    producer.begin()
    who = producer.producer_id, producer.producer_epoch
    begun = kafka.transaction(TRANSACTIONAL_ID).wait_for(state="Empty")
    assert begun == TransactionView(TRANSACTIONAL_ID, "Empty", *who, 60_000, None, (), 1)

    producer.write(1, b"soup")
    producer.write(0, b"bread")
    (open_one,) = kafka.transactions
    places = ((TOPIC, 0), (TOPIC, 1))
    assert open_one == TransactionView(TRANSACTIONAL_ID, "Ongoing", *who, 60_000, now_ms, places, 1)
    assert kafka.transaction(TRANSACTIONAL_ID).partitions == places
    with pytest.raises(dataclasses.FrozenInstanceError):
        open_one.state = "Empty"  # type: ignore[misc]

    producer.end(commit=True)
    done = kafka.transaction(TRANSACTIONAL_ID).wait_for(state="CompleteCommit")
    assert (done.partitions, done.producer_epoch) == ((), producer.producer_epoch)


def test_transactional_ids_are_in_order_and_on_their_nodes() -> None:
    """Each is told once, by the node that coordinates it."""

    async def begin(bootstrap: str, transactional_id: str) -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id):
            pass

    with Broker(nodes=3) as kafka:
        names = ["tx-3", "tx-1", "tx-2", "tx-4"]
        for name in names:
            asyncio.run(begin(kafka.bootstrap_servers, name))
        assert [view.transactional_id for view in kafka.transactions] == sorted(names)
        assert [kafka.transaction(view.transactional_id).look() for view in kafka.transactions] == kafka.transactions
        assert len({view.coordinator for view in kafka.transactions}) > 1


def test_wait_ends_with_the_events_of_the_broker(kafka: Broker, producer: Driver) -> None:
    """Of each state on the way; one whose time is up is aborted though its producer says nothing."""
    steps: list[tuple[str, Callable[[], object]]] = [
        ("Empty", producer.begin),
        ("Ongoing", lambda: producer.write(0, b"soup")),
        ("CompleteCommit", lambda: producer.end(commit=True)),
        ("Ongoing", lambda: producer.write(0, b"bread")),
        ("CompleteAbort", lambda: kafka.advance(120_000)),
    ]
    for state, step in steps:
        wanted = transaction_is(TRANSACTIONAL_ID, state=state)
        waiter = kafka.look(partial(_waiter, wanted))
        step()
        assert kafka.run(partial(_outcome, waiter)).state == state


def _waiter(wanted: Condition[TransactionView], broker: ControlledBroker) -> asyncio.Task[TransactionView]:
    """One who waits before the broker takes up anything else."""
    return asyncio.ensure_future(broker.waiting.until(wanted, PATIENCE_SECONDS))


async def _outcome(waiter: asyncio.Task[TransactionView], _broker: ControlledBroker) -> TransactionView:
    return await waiter


def test_wait_in_vain_says_what_was_true(kafka: Broker, producer: Driver) -> None:
    producer.begin()
    producer.write(0, b"soup")
    with pytest.raises(NotInTime) as late:
        kafka.transaction(TRANSACTIONAL_ID).wait_for(state="CompleteAbort", timeout_s=0)
    assert str(late.value) == (
        "waited 0 s in vain for transactional id tx with state='CompleteAbort'; transactional id tx is Ongoing, "
        f"of producer {producer.producer_id} in epoch {producer.producer_epoch}, with orders-0"
    )


def test_predicate_has_its_say(kafka: Broker, producer: Driver) -> None:
    def has_two(view: TransactionView) -> bool:
        return len(view.partitions) == 2

    producer.begin()
    producer.write(0, b"soup")
    with pytest.raises(NotInTime, match="tx with state='Ongoing', has_two; transactional id tx is Ongoing"):
        kafka.transaction(TRANSACTIONAL_ID).wait_for(has_two, state="Ongoing", timeout_s=0)
    producer.write(1, b"bread")
    assert kafka.transaction(TRANSACTIONAL_ID).wait_for(has_two, state="Ongoing").partitions[1] == (TOPIC, 1)


async def _pay(kafka: Broker | SimulatedBroker) -> list[str]:
    """One transaction, seen by who awaits; returns its states."""
    looks = kafka.aio if isinstance(kafka, Broker) else kafka
    bill = looks.transaction("till")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id="till")
    waiter = asyncio.ensure_future(bill.wait_for(state="Empty"))
    await producer.start()
    try:
        states = [(await waiter).state]
        waiter = asyncio.ensure_future(bill.wait_for(state="Ongoing"))
        async with producer.transaction():
            await producer.send_and_wait("bills", b"soup", partition=0)
            states.append((await waiter).state)
            assert [view.partitions for view in looks.transactions] == [(("bills", 0),)]
        states.append((await bill.wait_for(state="CompleteCommit")).state)
    finally:
        await producer.stop()
    return states


_PAID = ["Empty", "Ongoing", "CompleteCommit"]


def test_transactions_are_awaited_in_the_loop_of_a_test() -> None:
    with Broker() as kafka:
        assert asyncio.run(_pay(kafka)) == _PAID


def test_transactions_are_seen_in_a_simulation() -> None:
    assert Simulation(3).run(_pay) == _PAID
