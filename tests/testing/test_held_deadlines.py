"""Timers of groups, and failovers, that are held when they are due: nothing comes of them until the test says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.testing import BadFault, Broker, FaultNeverFired, NotInTime
from tests.support.client import Client

SESSION_MS = 10_000
REBALANCE_MS = 30_000


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(clock="virtual", settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture
def ana(kafka: Broker) -> Iterator[Client]:
    with Client(kafka.bootstrap_servers, client_id="ana") as client:
        assert client.ask(FindCoordinatorRequest("kitchen"), 1).error_code == ErrorCode.NONE
        yield client


def join_request(member_id: str = "") -> JoinGroupRequest:
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
    return JoinGroupRequest("kitchen", SESSION_MS, REBALANCE_MS, member_id, None, "consumer", protocols)


def join(client: Client) -> str:
    """Be the only member of the kitchen."""
    joined = client.ask(join_request(), 3)
    assert joined.error_code == ErrorCode.NONE
    member_id: str = joined.member_id
    assert client.ask(sync_request(joined), 3).error_code == ErrorCode.NONE
    return member_id


def sync_request(joined: Any) -> SyncGroupRequest:
    assignments = [SyncGroupRequest.SyncGroupRequestAssignment(joined.member_id, b"")]
    return SyncGroupRequest("kitchen", joined.generation_id, joined.member_id, None, assignments=assignments)


def beat(client: Client, member_id: str, generation_id: int = 1) -> ErrorCode:
    return ErrorCode(client.ask(HeartbeatRequest("kitchen", generation_id, member_id), 3).error_code)


def test_session_ends_when_it_is_let_go(kafka: Broker, ana: Client) -> None:
    member_id = join(ana)
    with kafka.hold(timer="session", group="kitchen", member="ana-*") as held:
        kafka.advance(SESSION_MS - 1)
        assert held.all == []
        kafka.advance(1)
        session = held.wait()
        assert (session.at, session.group_id, session.member_id) == ("session", "kitchen", member_id)
        assert (session.api, session.client_id, session.is_gone, session.is_held) == (None, None, False, True)
        assert repr(session) == f"session of {member_id} of kitchen, held"
        assert kafka.group("kitchen").state == "Stable"
        held.let_go()
        kafka.group("kitchen").wait_for(state="Empty")
    assert beat(ana, member_id) == ErrorCode.UNKNOWN_MEMBER_ID


def test_end_of_the_block_lets_go(kafka: Broker, ana: Client) -> None:
    join(ana)
    with kafka.hold(timer="session", group="kitchen") as held:
        kafka.advance(SESSION_MS * 9)
        held.wait()
        assert kafka.group("kitchen").state == "Stable"
    kafka.group("kitchen").wait_for(state="Empty")


def test_heartbeat_makes_a_held_expiry_void(kafka: Broker, ana: Client) -> None:
    """As if it had come in time: the session goes on from there, and its next end is held by itself."""
    member_id = join(ana)
    with kafka.hold(timer="session", group="kitchen") as held:
        kafka.advance(SESSION_MS)
        session = held.wait()
        assert beat(ana, member_id) == ErrorCode.NONE
        assert session.is_gone
        session.let_go()
        kafka.advance(SESSION_MS - 1)
        assert beat(ana, member_id) == ErrorCode.NONE
        kafka.advance(SESSION_MS)
        assert not held.wait(2).is_gone
    told = [event.details["is_void"] for event in kafka.timeline if event.kind == "deadline.let_go"]
    assert told == [True, False]


def test_lost_expiry_never_happens(kafka: Broker, ana: Client) -> None:
    member_id = join(ana)
    with kafka.hold(timer="session", group="kitchen", once=True) as held:
        kafka.advance(SESSION_MS)
        held.wait()
        held.lose()
    kafka.advance(SESSION_MS * 9)
    assert beat(ana, member_id) == ErrorCode.NONE
    kafka.advance(SESSION_MS)
    kafka.group("kitchen").wait_for(state="Empty")


def test_other_members_and_groups_are_not_held(kafka: Broker, ana: Client) -> None:
    """And who waits in vain is told what was due instead."""
    member_id = join(ana)
    with kafka.hold(timer="session", group="kitchen", member="bo-*", may_not_fire=True) as held:
        kafka.advance(SESSION_MS)
        kafka.group("kitchen").wait_for(state="Empty")
        with pytest.raises(NotInTime, match=f"held 0, not 1; what came close: session of {member_id} of kitchen"):
            held.wait(timeout_s=0)


def test_join_phase_ends_when_it_is_let_go(kafka: Broker, ana: Client) -> None:
    """Who is late is waited for until then, and may come in time yet."""
    member_id = join(ana)
    with kafka.hold(timer="join", group="kitchen") as held, Client(kafka.bootstrap_servers, client_id="bo") as bo:
        bo.send(join_request(), 3)
        kafka.group("kitchen").wait_for(state="PreparingRebalance")
        for _ in range(4):
            kafka.advance(SESSION_MS - 1)
            assert beat(ana, member_id) == ErrorCode.REBALANCE_IN_PROGRESS
        rebalance = held.wait()
        assert (rebalance.at, rebalance.member_id) == ("join", None)
        assert not bo.connection.has_received
        rebalance.let_go()
        assert bo.receive().message.generation_id == 2
    assert [member.client_id for member in kafka.group("kitchen").members] == ["bo"]


def test_join_phase_that_is_complete_meanwhile_is_void(kafka: Broker, ana: Client) -> None:
    member_id = join(ana)
    with kafka.hold(timer=["join", "sync"], group="kitchen") as held, Client(kafka.bootstrap_servers) as bo:
        bo.send(join_request(), 3)
        kafka.group("kitchen").wait_for(state="PreparingRebalance")
        for _ in range(4):
            kafka.advance(SESSION_MS - 1)
            assert beat(ana, member_id) == ErrorCode.REBALANCE_IN_PROGRESS
        rebalance = held.wait()
        assert ana.ask(join_request(member_id), 3).generation_id == 2
        assert bo.receive().message.generation_id == 2
        assert rebalance.is_gone


def test_nobody_takes_over_from_a_dead_node_until_that_is_let_go() -> None:
    with Broker(nodes=2, clock="virtual", settings={"default.replication.factor": 2}) as kafka:
        kafka.topic("orders").create(partitions=4)
        with kafka.hold(failover=2) as held:
            kafka.node(2).stop(hard=True)
            kafka.advance(60_000)
            failover = held.wait()
            assert (failover.at, failover.node_id, failover.group_id) == ("failover", 2, None)
            assert repr(failover) == "failover of node 2, held"
            assert kafka.node(2).state == "silent"
            assert {partition.leader_id for partition in kafka.topic("orders").partitions} == {1, 2}
            failover.let_go()
            assert kafka.node(2).state == "down"
        assert {partition.leader_id for partition in kafka.topic("orders").partitions} == {1}
        assert "failover held when it was due, by fault 1" in str(kafka.timeline)


def test_node_that_is_back_makes_its_failover_void() -> None:
    """Also when it has died once more: that is another death."""
    with Broker(nodes=2, clock="virtual") as kafka:
        with kafka.hold(failover=[1, 2], once=True) as held:
            kafka.node(2).stop(hard=True)
            kafka.advance(1_000)
            failover = held.wait()
            kafka.node(2).start()
            assert failover.is_gone
            kafka.node(2).stop(hard=True)
            failover.let_go()
            assert kafka.node(2).state == "silent"
        kafka.advance(1_000)
        assert kafka.node(2).state == "down"


def test_lost_failover_leaves_a_node_silent() -> None:
    """Until it is back."""
    with Broker(nodes=2, clock="virtual") as kafka:
        with kafka.hold(failover=2) as held:
            kafka.node(2).stop(hard=True)
            kafka.advance(1_000)
            held.wait().lose()
        kafka.advance(60_000)
        assert kafka.node(2).state == "silent"
        kafka.node(2).start()
        assert kafka.node(2).state == "up"


def test_deadline_can_neither_be_refused_nor_changed(kafka: Broker, ana: Client) -> None:
    """What is said of it leaves it held."""
    join(ana)
    with kafka.hold(timer="session", group="kitchen") as held:
        kafka.advance(SESSION_MS)
        session = held.wait()
        with pytest.raises(BadFault, match="is a deadline, which no client has asked for; let it go or lose it"):
            session.refuse("UNKNOWN_MEMBER_ID")
        with pytest.raises(BadFault, match="is a deadline, which has nothing to change"):
            session.change(member_id="bo")
        assert session.is_held
        session.let_go()
        with pytest.raises(BadFault, match="is not held any more: it was let go"):
            session.lose()


def test_hold_that_held_nothing_fails_the_test(kafka: Broker) -> None:
    said = "has held nothing; nothing came that it could happen to"
    with pytest.raises(FaultNeverFired, match=said), kafka.hold(timer="session", group="kitchen"):
        pass


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"timer": "sesion"}, "there is no timer 'sesion'; did you mean session?"),
        ({"timer": 7}, "timer is a text, or a list of texts, not 7"),
        (
            {"timer": "session", "topic": "orders"},
            "a timer of a group has no topic to aim at; it has group, member, node",
        ),
        (
            {"timer": "join", "member": "ana"},
            'join: no timer of one member; with member= say timer="session"',
        ),
        ({"timer": "session", "at": "answer"}, "at is for requests; timer says what is held in place of them"),
        ({"timer": "session", "failover": 1}, "timer and failover are held by holds of their own"),
        ({"timer": "session", "api": "Heartbeat"}, "this happens to a timer of a group, which has no API"),
        ({"failover": "2"}, "failover is the id of a node, or a list of them, not '2'"),
        ({"failover": 9}, "there is no node 9; there are 1"),
        ({"failover": 1, "node": 1}, "failover says which node, such as failover=2; leave node out"),
        ({"failover": 1, "group": "kitchen"}, "the failover of a node has no group to aim at; it has node"),
    ],
)
def test_what_makes_no_sense_is_refused(kafka: Broker, wish: dict[str, Any], said: str) -> None:
    with pytest.raises(BadFault) as refused:
        kafka.hold(**wish)
    assert said in str(refused.value)
