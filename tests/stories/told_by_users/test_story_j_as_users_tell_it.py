"""Stories J, how the join phase of a rebalance ends, as users tell them: time stands still until the story moves it."""

from __future__ import annotations

import pytest

from ottla.testing import Broker
from ottla.testing.groups import AsyncGroup, Group
from tests.stories.told_by_users.conftest import HireAiokafka, HireConfluent, HireKafkaPython

pytestmark = pytest.mark.own_broker


REBALANCE_MS = 5_000
SESSION_MS = 45_000
TIMEOUTS = {"rebalance_timeout_ms": REBALANCE_MS, "session_timeout_ms": SESSION_MS}


@pytest.mark.kafka(clock="virtual")
async def test_story_j1_who_did_not_rejoin_is_removed_unless_static(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Ana is back in time, Bo and Cy are not. Bo is removed, and its timer with it; Cy, who is static, stays."""
    aiokafka_cook("ana", **TIMEOUTS)
    aiokafka_cook("bo", **TIMEOUTS)
    aiokafka_cook("cy", group_instance_id="oven", **TIMEOUTS)
    await aio_kitchen.wait_for(state="Stable", members=3)

    with kafka.hold("JoinGroup", group="kitchen") as rejoining:
        aio_kitchen.force_rebalance()
        await rejoining.aio.wait(3)
        rejoining.of(client_id="ana").let_go()
        kafka.advance(REBALANCE_MS)
        group = await aio_kitchen.wait_for(state="Stable", members=2)
        timers = kafka.deadlines(kind="session", group="kitchen")

    assert {member.client_id for member in group.members} == {"ana", "cy"}
    assert {timer.member_id for timer in timers} == {member.member_id for member in group.members}


@pytest.mark.kafka(clock="virtual")
async def test_story_j2_a_rejoined_member_is_elected(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Ana led, and is not back in time, so Bo leads."""
    aiokafka_cook("ana", **TIMEOUTS)
    await aio_kitchen.wait_for(state="Stable", members=1)
    aiokafka_cook("bo", **TIMEOUTS)
    await aio_kitchen.wait_for(state="Stable", members=2)

    with kafka.hold("JoinGroup", group="kitchen") as rejoining:
        aio_kitchen.force_rebalance()
        await rejoining.aio.wait(2)
        rejoining.of(client_id="bo").let_go()
        kafka.advance(REBALANCE_MS)
        group = await aio_kitchen.wait_for(state="Stable", members=1)
        assert group.leader == group.member("bo").member_id


@pytest.mark.kafka(clock="virtual")
async def test_story_j2_all_static_and_nobody_back_waits_on(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Static members that are away hold up the rebalance, round after round, until their sessions end."""
    aiokafka_cook("ana", group_instance_id="stove", **TIMEOUTS)
    aiokafka_cook("bo", group_instance_id="oven", **TIMEOUTS)
    await aio_kitchen.wait_for(state="Stable", members=2)

    with kafka.hold("JoinGroup", group="kitchen") as rejoining:
        aio_kitchen.force_rebalance()
        await rejoining.aio.wait(2)
        since = kafka.mark()
        for _ in range(3):
            kafka.advance(REBALANCE_MS)
            await aio_kitchen.wait_for(state="PreparingRebalance", members=2)
        kafka.advance_until(lambda: aio_kitchen.state == "Empty", limit_ms=SESSION_MS)
        kafka.assert_never("group.rebalance.joined", since=since)


@pytest.mark.kafka(clock="virtual", nodes=2, settings={"offsets.topic.num.partitions": 1})
def test_story_j3_the_generation_grows_by_one_also_into_empty(
    kafka: Broker, kitchen: Group, confluent_cook: HireConfluent
) -> None:
    """Ana has generation 1, and leaves the group in 2, which another node can read in its log. Later it is removed."""
    ana = confluent_cook("ana")
    kitchen.wait_for(state="Stable", generation=1)
    ana.go_home()
    before = kitchen.wait_for(state="Empty", generation=2)

    kitchen.move_coordinator(to=2 if before.coordinator == 1 else 1)
    kitchen.wait_for(lambda group: group.coordinator != before.coordinator, state="Empty", generation=2)

    kafka.advance(600_000)  # offsets.retention.check.interval.ms
    assert kitchen.state == "Dead"
    assert kafka.topic("__consumer_offsets").records()[-1].value is None


@pytest.mark.kafka(record_requests=True)
def test_story_j4_only_the_leader_sees_the_members(
    kafka: Broker, kitchen: Group, kafka_python_cook: HireKafkaPython
) -> None:
    """Leader, generation and protocol are the same for both; the members and what they said are for the leader."""
    kafka_python_cook("ana")
    kitchen.wait_for(state="Stable", members=1)
    kafka_python_cook("bo")
    group = kitchen.wait_for(state="Stable", members=2)

    leads, follows = (kafka.requests("JoinGroup", client_id=name)[-1].answer for name in ("ana", "bo"))
    assert {member.member_id for member in leads.members} == {member.member_id for member in group.members}
    assert all(member.metadata for member in leads.members)
    assert follows.members == []
    for field in ("leader", "generation_id", "protocol_type", "protocol_name"):
        assert getattr(leads, field) == getattr(follows, field)


@pytest.mark.kafka(clock="virtual", settings={"group.initial.rebalance.delay.ms": 3_000})
async def test_story_j5_sessions_start_anew_with_the_join_answer(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Ana waits three seconds for its answer; its session counts from then, and not a moment less."""
    with kafka.hold("SyncGroup", client_id="ana") as syncing:
        aiokafka_cook("ana", **TIMEOUTS)
        await aio_kitchen.wait_for(state="PreparingRebalance", members=1)
        kafka.advance(3_000)
        await syncing.aio.wait()
        session = kafka.next_deadline(kind="session", group="kitchen")
        assert session is not None
        assert session.in_ms == SESSION_MS
