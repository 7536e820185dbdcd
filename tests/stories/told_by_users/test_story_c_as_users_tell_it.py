"""Stories C, what the client of a group consumer relies on, as users tell them."""

from __future__ import annotations

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from ottla.testing import Broker
from ottla.testing.groups import Group
from tests.stories.told_by_users.conftest import HireConfluent, HireKafkaPython

pytestmark = pytest.mark.own_broker


SESSION_MS = 45_000


@pytest.mark.kafka(clock="virtual", record_requests=True)
def test_story_c1_a_paused_client_is_expelled_and_joins_anew(
    kafka: Broker, kitchen: Group, confluent_cook: HireConfluent
) -> None:
    """Bo is busy, and its heartbeats go on. Then it stands still for 45 s, and Ana has everything. When it is back,
    nobody knows it, and it begins anew.
    """
    confluent_cook("ana", session_timeout_ms=6 * SESSION_MS)
    bo = confluent_cook("bo", session_timeout_ms=SESSION_MS)
    before = kitchen.wait_for(state="Stable", members=2)

    bo.polls.clear()
    since = kafka.mark()
    with kafka.hold("Heartbeat", client_id="bo") as heartbeats:
        heartbeats.wait()
        kafka.advance(SESSION_MS)
        kitchen.assert_rebalances(exactly=1, because="session_expired", member="bo-*")
        assert kitchen.wait_for(state="Stable", members=1).unassigned == ()
    bo.polls.set()

    after = kitchen.wait_for(state="Stable", members=2)
    assert after.member("bo").member_id != before.member("bo").member_id
    told = [asked.errors for asked in kafka.requests("Heartbeat", client_id="bo", since=since)]
    assert ["UNKNOWN_MEMBER_ID"] in told
    assert kafka.requests("JoinGroup", client_id="bo", since=since)[0].request.member_id == ""


@pytest.mark.kafka(record_requests=True)
def test_story_c2_an_older_generation_is_refused(kafka: Broker, kitchen: Group, confluent_cook: HireConfluent) -> None:
    """Ana's heartbeat says generation 1 when there is the second: it is refused, and Ana joins again."""
    confluent_cook("ana")
    kitchen.wait_for(state="Stable", generation=1)
    kitchen.force_rebalance()
    kitchen.wait_for(state="Stable", generation=2)

    with kafka.hold("Heartbeat", client_id="ana", once=True) as heartbeat:
        heartbeat.wait().change(generation_id=1)
    kitchen.wait_for(state="Stable", generation=3)
    told = [asked.errors for asked in kafka.requests("Heartbeat", client_id="ana")]
    assert told.count(["ILLEGAL_GENERATION"]) == 1


def test_story_c3_commit_and_leave_on_close(kafka: Broker, kitchen: Group, confluent_cook: HireConfluent) -> None:
    """Bo commits by itself. It closes: it commits where it was, and leaves. Ana takes over, not a session later."""
    confluent_cook("ana")
    bo = confluent_cook("bo", enable_auto_commit=True, auto_commit_interval_ms=50)
    partition = kitchen.wait_for(state="Stable", members=2).member("bo").assignment["orders"][0]
    kafka.topic("orders").produce("soup", partition=partition)
    kitchen.wait_for_commit("orders", partition, at_least=1)
    since = kafka.mark()

    bo.go_home()
    kitchen.wait_for(state="Stable", members=1)
    kitchen.assert_rebalances(exactly=1, because="member_left", member="bo-*", since=since)
    kafka.topic("orders").produce("bread", partition=partition)
    kitchen.wait_for_commit("orders", partition, at_least=2)


def test_story_c4_a_subscription_grows(kafka: Broker, kitchen: Group, confluent_cook: HireConfluent) -> None:
    """Orders get more partitions, then one more topic fits the pattern: the cooks see both, and share anew."""
    for name in ("ana", "bo"):
        confluent_cook(name, "^orders", topic_metadata_refresh_interval_ms=50)
    kitchen.wait_for(state="Stable", members=2)
    since = kafka.mark()

    kafka.topic("orders").grow(partitions=4)
    kitchen.wait_for(lambda group: group.assigned >= {("orders", 3)}, state="Stable")
    kafka.topic("orders-to-go").create(partitions=2)
    kitchen.wait_for(lambda group: group.assigned >= {("orders-to-go", 0), ("orders-to-go", 1)}, state="Stable")
    kitchen.assert_rebalances(at_least=2, since=since)


@pytest.mark.kafka(record_requests=True)
def test_story_c5_patterns_do_not_match_internal_topics(
    kafka: Broker, kitchen: Group, kafka_python_cook: HireKafkaPython
) -> None:
    """Bo wants every topic there is, and gets what is not marked as the broker's own, as both of those are."""
    kafka.topic("__transaction_state").create()
    kafka_python_cook("ana")
    kitchen.wait_for_assignment()
    kafka_python_cook("bo", "^.*")
    group = kitchen.wait_for(state="Stable", members=2)

    assert group.member("bo").subscription == ("orders",)
    listed = kafka.requests("Metadata", client_id="bo")[-1].answer.topics
    assert {topic.name: topic.is_internal for topic in listed} == {
        "orders": False,
        "__consumer_offsets": True,
        "__transaction_state": True,
    }


def test_story_c6_a_rolling_move_to_another_assignor(kitchen: Group, kafka_python_cook: HireKafkaPython) -> None:
    """Each cook is replaced twice: by one that offers the new assignor and the old, then by one with the new alone. The
    group uses the old one until nobody is left that knows no other.
    """
    old, both, new = (
        {"partition_assignment_strategy": assignors}
        for assignors in (
            [RangePartitionAssignor],
            [RoundRobinPartitionAssignor, RangePartitionAssignor],
            [RoundRobinPartitionAssignor],
        )
    )
    cooks = [kafka_python_cook("ana", **old), kafka_python_cook("bo", **old)]
    used = [kitchen.wait_for(state="Stable", members=2).protocol_name]

    for index, offers in ((0, both), (1, both), (0, new), (1, new)):
        cooks[index].go_home()
        kitchen.wait_for(state="Stable", members=1)
        cooks[index] = kafka_python_cook(cooks[index].thread.name, **offers)
        used.append(kitchen.wait_for(state="Stable", members=2).protocol_name)

    assert used == ["range", "range", "roundrobin", "roundrobin", "roundrobin"]
