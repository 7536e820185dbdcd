"""Requests and answers that are held: seen, changed, and let go, refused or lost in any order."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.control.faults.engine import hold_of
from ottla.control.faults.fault import Fault
from ottla.control.faults.holds import Held
from ottla.control.faults.misuse import BadFault
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from tests.control.faults.scene import commit, commit_request, create, fault, faults_of, find, hold, produce_request
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


def creating(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 1, 1)], timeout_ms=1000)


def until_held(broker: RunningBroker, holding: Fault, count: int = 1) -> list[Held]:
    broker.wait_until(f"{count} are held", lambda: len(hold_of(holding).all) == count)
    return hold_of(holding).all


def topics(broker: RunningBroker) -> set[str]:
    return set(broker.look(lambda: list(broker.server.cluster.topics)))


def test_request_is_held_before_its_effect_and_let_go(broker: RunningBroker, client: Client) -> None:
    holding = hold(broker, api="CreateTopics")
    client.send(creating("held"), 5)
    (held,) = until_held(broker, holding)
    assert (held.hit.api, held.hit.client_id, held.request, held.answer) == (
        "CreateTopics",
        "ana",
        creating("held"),
        None,
    )
    assert "held" not in topics(broker)
    broker.look(held.let_go)
    assert client.receive().message.topics[0].error_code == ErrorCode.NONE
    assert "held" in topics(broker)


def test_answer_is_held_after_its_effect(broker: RunningBroker, client: Client) -> None:
    holding = hold(broker, api="CreateTopics", at="answer")
    client.send(creating("done"), 5)
    (held,) = until_held(broker, holding)
    assert "done" in topics(broker)
    assert held.answer is not None
    assert not client.connection.has_received
    broker.look(held.let_go)
    assert client.receive().message.topics[0].name == "done"


def test_several_are_let_go_in_any_order(broker: RunningBroker, client: Client) -> None:
    """Across clients."""
    holding = hold(broker, api="CreateTopics")
    with Client(broker.bootstrap, client_id="bo") as bo:
        client.send(creating("of-ana"), 5)
        until_held(broker, holding)
        bo.send(creating("of-bo"), 5)
        first, second = until_held(broker, holding, 2)
        broker.look(second.let_go)
        assert bo.receive().message.topics[0].name == "of-bo"
        assert [held.hit.client_id for held in hold_of(holding).waiting] == ["ana"]
        assert not client.connection.has_received
        broker.look(first.let_go)
        assert client.receive().message.topics[0].name == "of-ana"


def test_request_is_changed_on_its_way(broker: RunningBroker, client: Client) -> None:
    """In some of its fields, or as a whole; what the client sent stays what it was."""
    holding = hold(broker, api="CreateTopics", times=2)
    client.send(creating("one"), 5)
    (held,) = until_held(broker, holding)
    broker.look(lambda: held.change(validate_only=True))
    broker.look(held.let_go)
    assert client.receive().message.topics[0].error_code == ErrorCode.NONE
    assert "one" not in topics(broker)
    client.send(creating("two"), 5)
    (_, held) = until_held(broker, holding, 2)
    broker.look(lambda: held.replace(creating("three")))
    broker.look(held.let_go)
    assert client.receive().message.topics[0].name == "three"
    assert [hit.request for hit in holding.hits] == [creating("one"), creating("two")]


def test_answer_is_changed_on_its_way(broker: RunningBroker, client: Client) -> None:
    holding = hold(broker, api="CreateTopics", at="answer")
    client.send(creating("four"), 5)
    (held,) = until_held(broker, holding)
    broker.look(lambda: held.change(throttle_time_ms=9))
    broker.look(held.let_go)
    assert client.receive().message.throttle_time_ms == 9


def test_what_is_changed_in_a_held_answer_is_in_no_other() -> None:
    """Commits of the same partitions have the very same answer."""

    def spoil(held: Held) -> None:
        answer: Any = held.answer
        answer.topics[0].partitions[0].error_code = ErrorCode.ILLEGAL_GENERATION
        held.let_go()

    with RunningBroker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        find(client, "g")
        assert commit(client, "g", "orders", {0: 1}) == {0: ErrorCode.NONE}
        holding = hold(broker, api="OffsetCommit", at="answer", times=1)
        client.send(commit_request("g", "orders", {0: 2}), 7)
        (held,) = until_held(broker, holding)
        broker.look(lambda: spoil(held))
        assert client.receive().message.topics[0].partitions[0].error_code == ErrorCode.ILLEGAL_GENERATION
        for version in (7, 8):
            answer = client.ask(commit_request("g", "orders", {0: 3}), version)
            assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


def test_what_is_changed_in_a_held_request_is_not_in_the_next(broker: RunningBroker, client: Client) -> None:
    """A connection remembers a request that comes again."""
    holding = hold(broker, api="Heartbeat", times=1)
    client.send(HeartbeatRequest("g", 1, "m"), 0)
    (held,) = until_held(broker, holding)

    def spoil() -> None:
        request: Any = held.request
        request.group_id = "another"
        held.let_go()

    broker.look(spoil)
    client.receive()
    holding = hold(broker, api="Heartbeat", times=1)
    client.send(HeartbeatRequest("g", 1, "m"), 0)
    (held,) = until_held(broker, holding)
    assert held.hit.group_id == "g"
    broker.look(held.let_go)
    client.receive()


@pytest.mark.parametrize("at", ["request", "answer"])
def test_held_ones_are_refused_or_lost(broker: RunningBroker, client: Client, at: str) -> None:
    """A refused request has had no effect; a refused answer hides one."""
    holding = hold(broker, api="CreateTopics", at=at)
    client.send(creating(f"refused-{at}"), 5)
    (held,) = until_held(broker, holding)
    broker.look(lambda: held.refuse(ErrorCode.REQUEST_TIMED_OUT))
    assert client.receive().message.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert (f"refused-{at}" in topics(broker)) is (at == "answer")
    client.send(creating(f"lost-{at}"), 5)
    (_, held) = until_held(broker, holding, 2)
    broker.look(held.lose)
    broker.look(faults_of(broker).clear)
    assert (f"lost-{at}" in topics(broker)) is (at == "answer")
    assert not client.connection.has_received


def test_all_are_let_go_when_the_hold_ends(broker: RunningBroker, client: Client) -> None:
    """And what comes later passes."""
    holding = hold(broker, api="CreateTopics")
    client.send(creating("until-the-end"), 5)
    until_held(broker, holding)
    faults = faults_of(broker)
    broker.look(lambda: faults.remove(holding.number))
    assert client.receive().message.topics[0].error_code == ErrorCode.NONE
    assert client.ask(creating("after-it"), 5).topics[0].error_code == ErrorCode.NONE


def test_what_is_decided_can_not_be_decided_again(broker: RunningBroker, client: Client) -> None:
    """Nor be given what it is not."""
    holding = hold(broker, api="CreateTopics")
    client.send(creating("strange"), 5)
    (held,) = until_held(broker, holding)
    for wrong, said in (
        (
            lambda: held.replace(HeartbeatRequest()),
            "CreateTopicsRequest is held, which no HeartbeatRequest can replace",
        ),
        (lambda: held.change(topic="x"), "CreateTopicsRequest has no field 'topic'; it has topics, timeout_ms"),
    ):
        with pytest.raises(BadFault, match=said):
            broker.look(wrong)
    broker.look(held.let_go)
    client.receive()
    for decide in (held.let_go, held.lose, lambda: held.change(timeout_ms=1)):
        with pytest.raises(BadFault, match="CreateTopics of 'ana' is not held any more: it was let go"):
            broker.look(decide)


def test_who_is_gone_is_seen_to_be(broker: RunningBroker, client: Client) -> None:
    """Letting go does no harm then."""
    holding = hold(broker, api="CreateTopics", at="answer")
    client.send(creating("gone"), 5)
    (held,) = until_held(broker, holding)
    client.connection.reset()
    broker.wait_until("it is gone", lambda: held.is_gone)
    broker.look(held.let_go)


def test_request_without_an_answer_has_none_to_change(broker: RunningBroker) -> None:
    """Produce with acks=0."""
    holding = hold(broker, api="Produce", at="answer")
    leader_id = broker.look(lambda: broker.server.cluster.topics["orders"].placements[0].leader_id)
    with Client(broker.server.bootstrap.split(",")[leader_id - 1]) as client:
        client.send(produce_request(("orders", 0), acks=0), 7, answered=False)
        (held,) = until_held(broker, holding)
        assert held.answer is None
        with pytest.raises(BadFault, match="gets no answer that could be changed"):
            broker.look(lambda: held.change(throttle_time_ms=1))


def test_held_requests_go_through_later_faults(broker: RunningBroker, client: Client) -> None:
    """In the order in which they were set: what is let go may be answered with an error yet."""
    holding = hold(broker, api="CreateTopics")
    fault(broker, api="CreateTopics", answer="NOT_CONTROLLER")
    client.send(creating("refused-behind"), 5)
    (held,) = until_held(broker, holding)
    broker.look(held.let_go)
    assert client.receive().message.topics[0].error_code == ErrorCode.NOT_CONTROLLER


def test_time_may_be_moved_meanwhile(broker: RunningBroker, client: Client) -> None:
    """What is held is not on its way: the clock does not wait for it."""
    holding = hold(broker, api="CreateTopics")
    client.send(creating("in-time"), 5)
    (held,) = until_held(broker, holding)
    broker.advance(60_000)
    assert held.how is None
    broker.look(held.let_go)
    client.receive()
