"""What a test sees of a running broker, and how it waits for it, with real clients at work."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer

from ottla.control.state.groups import GroupView
from ottla.coordinator.kinds.view import MemberView
from ottla.testing import Broker, NotInTime
from ottla.testing.groups import Group
from tests.testing.consuming import consuming


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker(settings={"num.partitions": 2}) as broker:
        yield broker


def test_group_is_seen_as_its_member_sees_it(kafka: Broker) -> None:
    """Who is in it, what it reads and was given, how far it has come, and how much is left."""
    kafka.topic("orders").create(partitions=2).produce("soup", "bread", "tea", partition=1)
    kitchen = kafka.group("kitchen")
    with consuming(
        kafka.bootstrap_servers,
        "kitchen",
        "orders",
        settings={"group.instance.id": "stove"},
        on_message=lambda consumer, message: (
            message.offset() == 1 and consumer.commit(message=message, asynchronous=False)
        ),
    ):
        assert kitchen.wait_for_assignment().state == "Stable"
        seen = kitchen.wait_for_commit("orders", 1, at_least=2)
        (member,) = seen.members
        assert (member.client_id, member.client_host, member.group_instance_id) == ("ana", "/127.0.0.1", "stove")
        assert member.subscription == ("orders",)
        assert member.assignment == {"orders": (0, 1)}
        assert member.member_id == seen.leader == kitchen.leader
        assert member.last_heartbeat_ms is not None
        assert (seen.generation_id, seen.coordinator, seen.protocol_type) == (1, 1, "consumer")
        assert kitchen.committed == {("orders", 1): 2}
        assert kitchen.lag == {("orders", 0): 0, ("orders", 1): 1}
        assert seen.total_lag == 1
        assert seen.unassigned == ()
        with pytest.raises(dataclasses.FrozenInstanceError):
            seen.state = "Dead"  # type: ignore[misc]
    kitchen.wait_for(state="Stable", members=1)  # a static member that closes does not leave


def test_partition_without_a_commit_counts_from_its_log_start(kafka: Broker) -> None:
    """A group that has read only one of two partitions has not read all; the message names the other."""
    letters = kafka.topic("letters").create(partitions=2)
    letters.produce("a", "b", partition=0)
    letters.produce("c", "d", "e", partition=1)
    letters.delete_records(partition=1, before=1)
    post = kafka.group("post")
    post.commit("letters", 0, 2)
    assert (post.lag, post.look().uncommitted) == ({("letters", 0): 0, ("letters", 1): 2}, (("letters", 1),))
    with pytest.raises(
        NotInTime, match=r"lags by 2: .*; nothing is committed for letters-1, .* log start \(earliest\)"
    ):
        post.wait_for(lag=0, timeout_s=0)
    post.commit("letters", 1, 3)
    assert post.wait_for(lag=0).uncommitted == ()


def test_subscribed_topic_without_any_commit_has_a_lag(kafka: Broker) -> None:
    """Members that have read nothing yet are behind by all there is."""
    kafka.topic("parcels").create(partitions=2).produce("box", partition=1)
    with consuming(kafka.bootstrap_servers, "depot", "parcels"):
        assert kafka.group("depot").wait_for(state="Stable", lag=1).lag == {("parcels", 0): 0, ("parcels", 1): 1}


def test_state_that_there_is_not_is_not_waited_for(kafka: Broker) -> None:
    """It would be in vain."""
    with pytest.raises(ValueError, match=r"no group is ever Stabel; did you mean Stable\?"):
        kafka.group("kitchen").wait_for(state="Stabel")
    with pytest.raises(ValueError, match=r"no transaction is ever ongoin; did you mean Ongoing\?"):
        kafka.transaction("tx").wait_for(state="ongoin")


def test_wait_for_assignment_needs_every_partition(kafka: Broker) -> None:
    """A partition that is added is nobody's until the members meet again."""
    kafka.topic("bills").create(partitions=1)
    office = kafka.group("office")
    with consuming(
        kafka.bootstrap_servers, "office", "bills", settings={"topic.metadata.refresh.interval.ms": 100}
    ) as consumer:
        assert office.wait_for_assignment().generation_id == 1
        del consumer
        kafka.topic("bills").delete()
        kafka.topic("bills").create(partitions=3)
        assert office.wait_for_assignment().members[0].assignment == {"bills": (0, 1, 2)}


def test_group_that_leaves_is_seen_to_leave(kafka: Broker) -> None:
    """The wait ends with the event, and gives what there was then."""
    waiter = kafka.group("waiters")
    with consuming(kafka.bootstrap_servers, "waiters", "orders"):
        stable = waiter.wait_for(state="Stable", members=1)
    assert waiter.wait_for(state="Empty").generation_id > stable.generation_id
    assert waiter.members == ()


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (lambda group: group.wait_for(members=1, timeout_s=0), "group nobody with members=1; there is no group nobody"),
        (
            lambda group: group.wait_for(state="Stable", generation=2, timeout_s=0),
            r"group nobody with state='Stable', generation=2; there is no group nobody",
        ),
        (lambda group: group.wait_for(lag=0, timeout_s=0), "group nobody with lag=0; there is no group nobody"),
        (lambda group: group.wait_for(timeout_s=0), "group nobody with anything; there is no group nobody"),
        (lambda group: group.wait_for_assignment(timeout_s=0), "all of what group nobody reads to be assigned; there"),
        (
            lambda group: group.wait_for_commit("orders", 0, at_least=7, timeout_s=0),
            "group nobody to commit orders-0 up to 7 or later; there is no group nobody",
        ),
    ],
)
def test_wait_in_vain_says_that_there_is_no_group(kafka: Broker, wait: object, said: str) -> None:
    with pytest.raises(NotInTime, match=f"waited 0 s in vain for {said}"):
        wait(kafka.group("nobody"))  # type: ignore[operator]


def test_wait_in_vain_says_what_is_true_instead() -> None:
    """In numbers and names, so that nobody has to look again."""
    with Broker() as kafka, consuming(kafka.bootstrap_servers, "kitchen", "orders"):
        kafka.topic("orders").produce("soup", "bread")
        kitchen = kafka.group("kitchen")
        kitchen.wait_for_assignment()
        with pytest.raises(
            NotInTime, match=r"with members=2; group kitchen is Stable in generation 1, with 1 member: ana-"
        ):
            kitchen.wait_for(members=2, timeout_s=0)
        with pytest.raises(NotInTime, match="nothing is committed there; of all partitions none; group kitchen is"):
            kitchen.wait_for_commit("orders", 0, at_least=1, timeout_s=0)
        with pytest.raises(NotInTime, match=r"it lags by 2: .*; nothing is committed for orders-0"):
            kitchen.wait_for(lag=0, timeout_s=0)
        with pytest.raises(NotInTime, match="in vain for 3 records in topic orders; there are 2"):
            kafka.topic("orders").wait_for_records(3, timeout_s=0)


def test_predicate_is_asked_with_the_group_as_it_is(kafka: Broker) -> None:
    """And named where it never agreed."""

    def has_two_leaders(group: object) -> bool:
        return False

    with pytest.raises(NotInTime, match="group nobody with has_two_leaders"):
        kafka.group("nobody").wait_for(has_two_leaders, timeout_s=0)
    assert kafka.group("nobody").wait_for(lambda group: group.state == "Dead").group_id == "nobody"


def test_wait_ends_when_the_broker_stops() -> None:
    """What is waited for won't happen."""
    broker = Broker().start()

    async def stop_while_somebody_waits() -> None:
        waiting = asyncio.ensure_future(broker.aio.topic("orders").wait_for_records(1))
        await asyncio.sleep(0)
        await asyncio.to_thread(broker.stop)
        with pytest.raises(Exception, match="the broker is being stopped"):
            await waiting

    asyncio.run(stop_while_somebody_waits())


async def test_async_program_awaits_the_same() -> None:
    """Its own loop goes on: the consumer that is waited for lives in it."""
    async with Broker() as kafka:
        kafka.topic("orders").produce("soup")
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap_servers, group_id="kitchen", auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            assert (await kafka.aio.group("kitchen").wait_for_assignment()).members[0].assignment == {"orders": (0,)}
            assert (await consumer.getone()).value == b"soup"
            await consumer.commit()
            await kafka.aio.group("kitchen").wait_for_commit("orders", 0, at_least=1)
            await kafka.aio.group("kitchen").wait_for(lag=0)
            await kafka.aio.wait_until_idle()
            assert [record.text for record in await kafka.aio.topic("orders").wait_for_records(1)] == ["soup"]
        finally:
            await consumer.stop()
        with pytest.raises(NotInTime):
            await kafka.aio.group("kitchen").wait_for(members=1, timeout_s=0)


def test_clients_are_seen_by_what_they_call_themselves(kafka: Broker) -> None:
    kafka.topic("calls").create()
    with consuming(kafka.bootstrap_servers, "callers", "calls", client_id="caller"):
        kafka.group("callers").wait_for_assignment()
        mine = [connection for connection in kafka.connections if connection.client_id == "caller"]
        assert mine
        assert {(c.node_id, c.listener, c.client_host) for c in mine} == {(1, "PLAINTEXT", "/127.0.0.1")}
        assert mine[0].client_software.startswith("confluent-kafka-python ")


def test_idle_is_when_no_group_rebalances() -> None:
    """A member that joined and then is silent keeps its group waiting for the others, and the error names the group."""
    with Broker(clock="virtual", settings={"group.initial.rebalance.delay.ms": 3000}) as kafka:
        kafka.wait_until_idle()
        with consuming(kafka.bootstrap_servers, "kitchen", "orders"):
            kafka.topic("orders").create()
            kafka.group("kitchen").wait_for(state="PreparingRebalance", members=1)
            with pytest.raises(NotInTime, match="for the broker to be idle; group kitchen is PreparingRebalance in"):
                kafka.wait_until_idle(timeout_s=0)
            kafka.advance(3_000)
            kafka.wait_until_idle()
            assert kafka.group("kitchen").state in ("Stable", "Empty")


def test_group_prints_as_what_it_is(kafka: Broker) -> None:
    assert repr(Group(kafka, "nobody")) == "there is no group nobody"


def test_member_is_found_by_any_of_its_names() -> None:
    """As long as one is called so, and no more."""
    view = GroupView(
        "kitchen",
        "Stable",
        1,
        coordinator=1,
        members=(_member("ana-1", None, "ana", (0,)), _member("ana-2", "oven", "ana", (1, 2))),
    )
    assert view.member("ana-1") is view.members[0]
    assert view.member("oven") is view.member("*-2") is view.members[1]
    assert view.assigned == {("orders", 0), ("orders", 1), ("orders", 2)}
    with pytest.raises(LookupError, match="2 members are called ana; group kitchen is Stable"):
        view.member("ana")
    with pytest.raises(LookupError, match="no members are called bo; group kitchen is Stable"):
        view.member("bo")


def _member(member_id: str, instance: str | None, client_id: str, partitions: tuple[int, ...]) -> MemberView:
    return MemberView(member_id, instance, client_id, "/127.0.0.1", ("orders",), {"orders": partitions}, 0, 0, None)
