"""What a test does to a group: real consumers see what Kafka would show, and the timeline says why."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Queue

import pytest

from ottla.testing import Broker, ChangeRefused
from tests.support.patience import PATIENCE_SECONDS
from tests.testing.consuming import consuming

SETTINGS = {"session.timeout.ms": 45_000, "heartbeat.interval.ms": 100, "topic.metadata.refresh.interval.ms": 500}


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(nodes=3, settings={"num.partitions": 4}) as broker:
        broker.topic("orders").create(partitions=4)
        yield broker


def test_one_session_of_45_s_ends_now(kafka: Broker) -> None:
    """ana is removed and comes back under another id; bo's session is not touched. No time passes."""
    kitchen = kafka.group("kitchen")
    with (
        consuming(kafka.bootstrap_servers, "kitchen", "orders", client_id="ana", settings=SETTINGS),
        consuming(kafka.bootstrap_servers, "kitchen", "orders", client_id="bo", settings=SETTINGS),
    ):
        kitchen.wait_for(state="Stable", members=2)
        mark, before = kafka.mark(), {member.client_id: member.member_id for member in kitchen.members}
        assert kitchen.expire("ana-*") == [before["ana"]]
        after = kitchen.wait_for(lambda group: before["ana"] not in str(group), state="Stable", members=2)
        assert {member.client_id: member.member_id for member in after.members}["bo"] == before["bo"]
        kitchen.assert_rebalances(because="session_expired", member="ana-*", since=mark)
        kafka.assert_never("group.member.removed", member="bo-*", since=mark)


def test_a_member_is_evicted_as_by_an_admin(kafka: Broker) -> None:
    """The journal says that it left, and what the admin client says."""
    kitchen = kafka.group("kitchen")
    static = {**SETTINGS, "group.instance.id": "stove"}
    with consuming(kafka.bootstrap_servers, "kitchen", "orders", settings=static):
        (member,) = kitchen.wait_for(state="Stable", members=1).members
        mark = kafka.mark()
        assert kitchen.evict("stove", reason="too slow") == [member.member_id]
        kitchen.assert_rebalances(because="member_left", since=mark)
        (removed,) = [event for event in kafka.timeline if event.kind == "group.member.removed"]
        assert removed.details["reason"] == "member was removed by an admin: too slow"


def test_a_rebalance_is_forced(kafka: Broker) -> None:
    """Everybody comes back under the same ids, one generation later, and because it was wanted."""
    kitchen = kafka.group("kitchen")
    with consuming(kafka.bootstrap_servers, "kitchen", "orders", settings=SETTINGS):
        before = kitchen.wait_for(state="Stable", members=1)
        kitchen.force_rebalance(reason="tuesday")
        after = kitchen.wait_for(state="Stable", generation=before.generation_id + 1)
        assert [member.member_id for member in after.members] == [member.member_id for member in before.members]
        kitchen.assert_rebalances(exactly=1, because="enforced")


def test_the_coordinator_moves_and_members_find_it(kafka: Broker) -> None:
    """The other node reads the group from its log: the same generation, until somebody wants the next one."""
    kitchen = kafka.group("kitchen")
    with consuming(kafka.bootstrap_servers, "kitchen", "orders", settings=SETTINGS):
        before = kitchen.wait_for_assignment()
        assert before.coordinator is not None
        to = before.coordinator % 3 + 1
        kitchen.move_coordinator(to=to)
        moved = kitchen.wait_for(lambda group: group.coordinator == to)
        assert (moved.state, moved.generation_id) == ("Stable", before.generation_id)
        kitchen.force_rebalance()
        after = kitchen.wait_for(state="Stable", generation=before.generation_id + 1)
        assert (after.coordinator, after.leader) == (to, before.leader)


def test_a_leader_moves_and_consumers_read_on(kafka: Broker) -> None:
    """With a new epoch, at a node that had no replica; twice to the same node is once."""
    orders, read = kafka.topic("orders"), Queue[bytes | None]()
    with consuming(
        kafka.bootstrap_servers,
        "kitchen",
        "orders",
        settings=SETTINGS,
        on_message=lambda _, message: read.put(message.value()),
    ):
        kafka.group("kitchen").wait_for_assignment()
        before = orders.partitions[0]
        to = before.leader_id % 3 + 1
        for _ in range(2):
            kafka.move_leader("orders", 0, to=to)
        after = orders.partitions[0]
        assert (after.leader_id, after.leader_epoch) == (to, before.leader_epoch + 1)
        assert (after.replicas, after.isr) == ((to,), (to,))
        orders.produce("soup", partition=0)
        assert read.get(timeout=PATIENCE_SECONDS) == b"soup"


def test_what_can_not_be_done_is_said(kafka: Broker) -> None:
    """With what there is instead."""
    kitchen = kafka.group("kitchen")
    with pytest.raises(ChangeRefused, match="there is no group kitchen"):
        kitchen.expire("ana-*")
    with pytest.raises(ChangeRefused, match="nobody coordinates group kitchen yet"):
        kitchen.move_coordinator(to=2)
    with pytest.raises(ChangeRefused, match=r"node 7 can't lead orders-0: it is not up; those are 1, 2, 3"):
        kafka.move_leader("orders", 0, to=7)
    with consuming(kafka.bootstrap_servers, "kitchen", "orders", settings=SETTINGS):
        kitchen.wait_for(state="Stable", members=1)
        with pytest.raises(ChangeRefused, match=r"has no member bo-\*; its members are ana-"):
            kitchen.evict("bo-*")
    kitchen.wait_for(state="Empty")
    with pytest.raises(ChangeRefused, match="nobody to rebalance"):
        kitchen.force_rebalance()
