"""Stories G, how a group moves between its states, as users tell them: clients do what they always do, and a hold or a
fault makes the moment that the story is about.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from ottla.control.state.groups import GroupView
from ottla.testing import Broker
from ottla.testing.groups import AsyncGroup, Group
from tests.stories.told_by_users.conftest import HireAiokafka, HireConfluent, HireKafkaPython

pytestmark = [pytest.mark.own_broker, pytest.mark.kafka(record_requests=True)]


def test_story_g1_regular_cycle(kafka: Broker, kitchen: Group, confluent_cook: HireConfluent) -> None:
    """Ana works alone, then Bo comes: two rebalances, two generations. Bo waits until Ana has heard and is back."""
    confluent_cook("ana")
    kitchen.wait_for(state="Stable", members=1, generation=1)

    with kafka.hold("JoinGroup", client_id="ana") as rejoining:
        confluent_cook("bo")
        rejoining.wait()
        assert kitchen.state == "PreparingRebalance"
        assert len(kafka.deadlines(kind="join", group="kitchen")) == 1
        assert kafka.requests("Heartbeat", client_id="ana")[-1].errors == ["REBALANCE_IN_PROGRESS"]

    kitchen.wait_for(state="Stable", members=2, generation=2)
    kitchen.assert_rebalances(exactly=2)
    kitchen.assert_rebalances(exactly=2, because="member_joined")


async def test_story_g2_newcomer_while_completing(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Ana is about to bring the assignment when Bo comes: no Stable between, and one more generation for both."""
    with kafka.hold("SyncGroup", client_id="ana") as syncing:
        aiokafka_cook("ana")
        await syncing.aio.wait()
        assert aio_kitchen.state == "CompletingRebalance"
        aiokafka_cook("bo")
        await aio_kitchen.wait_for(state="PreparingRebalance", members=2)

    await aio_kitchen.wait_for(state="Stable", members=2, generation=2)
    assert kafka.requests("SyncGroup", client_id="ana")[0].errors == ["REBALANCE_IN_PROGRESS"]
    assert len(kafka.timeline.of("group.rebalance.completed")) == 1
    aio_kitchen.assert_rebalances(exactly=2)


def test_story_g3_newcomer_while_preparing(kafka: Broker, kitchen: Group, kafka_python_cook: HireKafkaPython) -> None:
    """Cy comes before Ana is back from Bo's coming: it costs nothing more."""
    kafka_python_cook("ana")
    kitchen.wait_for(state="Stable", members=1)

    with kafka.hold("JoinGroup", client_id="ana") as rejoining:
        kafka_python_cook("bo")
        rejoining.wait()
        kafka_python_cook("cy")
        kitchen.wait_for(state="PreparingRebalance", members=3)
        assert len(kafka.deadlines(kind="join", group="kitchen")) == 1

    kitchen.wait_for(state="Stable", members=3, generation=2)
    kitchen.assert_rebalances(exactly=2)


async def test_story_g4_one_delayed_join_per_rebalance(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """In whatever order three come back, one delayed join waits for them, and then none does."""
    for name in ("ana", "bo", "cy"):
        aiokafka_cook(name)
    group = await aio_kitchen.wait_for(state="Stable", members=3)

    for order in permutations(range(1, 4)):
        with kafka.hold("JoinGroup", group="kitchen") as rejoining:
            aio_kitchen.force_rebalance()
            await rejoining.aio.wait(3)
            for number in order:
                assert aio_kitchen.state == "PreparingRebalance"
                assert len(kafka.deadlines(kind="join", group="kitchen")) == 1
                rejoining.nth(number).let_go()
        group = await aio_kitchen.wait_for(state="Stable", members=3, generation=group.generation_id + 1)
        assert kafka.deadlines(kind="join", group="kitchen") == []


def test_story_g5_newcomer_first_finds_preparing(kafka: Broker, kitchen: Group, confluent_cook: HireConfluent) -> None:
    """Cy comes before Bo is back, so all are in one generation."""
    confluent_cook("ana"), confluent_cook("bo")
    group = kitchen.wait_for(state="Stable", members=2)

    with kafka.hold("JoinGroup", client_id="bo") as rejoining:
        kitchen.force_rebalance()
        rejoining.wait()
        confluent_cook("cy")
        kitchen.wait_for(state="PreparingRebalance", members=3)

    kitchen.wait_for(state="Stable", members=3, generation=group.generation_id + 1)


def test_story_g5_old_member_first_has_the_newcomer_start_the_next(
    kafka: Broker, kitchen: Group, kafka_python_cook: HireKafkaPython
) -> None:
    """All are back, and the leader is about to bring the assignment, when Cy comes: one generation more."""
    kafka_python_cook("ana"), kafka_python_cook("bo")
    group = kitchen.wait_for(state="Stable", members=2)

    with kafka.hold("SyncGroup", group="kitchen", role="leader") as syncing:
        kitchen.force_rebalance()
        syncing.wait()
        kafka_python_cook("cy")
        kitchen.wait_for(state="PreparingRebalance", members=3)

    kitchen.wait_for(state="Stable", members=3, generation=group.generation_id + 2)


async def test_story_g6_lost_join_answer_of_a_follower(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Cy never hears that the others are Stable with it. It asks again, and is told so at once: no rebalance."""
    before = await hire_three(aio_kitchen, aiokafka_cook)
    since = kafka.mark()

    kafka.fault("JoinGroup", client_id="cy", role="follower").cut(at="answer").once()
    with kafka.hold("JoinGroup", client_id="cy", nth=2) as again:
        aio_kitchen.force_rebalance()
        await again.aio.wait()
        group = await aio_kitchen.wait_for(state="Stable", members=3, generation=before.generation_id + 1)

    (partition,) = group.member("cy").assignment["orders"]
    kafka.topic("orders").produce("soup", partition=partition)
    await aio_kitchen.wait_for_commit("orders", partition, at_least=1)
    _lost, told = kafka.requests("JoinGroup", client_id="cy", since=since)
    assert (told.errors, told.answer.generation_id, told.answer.members) == ([], group.generation_id, [])
    aio_kitchen.assert_rebalances(exactly=1, since=since)


async def test_story_g7_lost_join_answer_of_the_leader(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Ana never hears that it leads, and the others wait for it. It asks again, and gets the same answer."""
    group = await hire_three(aio_kitchen, aiokafka_cook)
    since = kafka.mark()

    kafka.fault("JoinGroup", client_id="ana", role="leader").cut(at="answer").once()
    with kafka.hold("JoinGroup", client_id="ana", nth=2) as again:
        aio_kitchen.force_rebalance()
        await again.aio.wait()
        assert aio_kitchen.state == "CompletingRebalance"

    await aio_kitchen.wait_for(state="Stable", members=3, generation=group.generation_id + 1)
    answers = [asked.answer for asked in kafka.requests("JoinGroup", client_id="ana", since=since)]
    assert answers[-1].leader == answers[-1].member_id
    assert {member.member_id for member in answers[-1].members} == {member.member_id for member in group.members}
    aio_kitchen.assert_rebalances(exactly=1, because="enforced", since=since)


def test_story_g8_lost_sync_answer(kafka: Broker, kitchen: Group, confluent_cook: HireConfluent) -> None:
    """Bo never hears what it was given. It asks again, in Stable, and is told the same at once."""
    confluent_cook("ana")
    kitchen.wait_for(state="Stable", members=1)

    kafka.fault("SyncGroup", client_id="bo", role="follower").cut(at="answer").once()
    with kafka.hold("SyncGroup", client_id="bo", nth=2) as again:
        confluent_cook("bo")
        again.wait()
        group = kitchen.wait_for(state="Stable", members=2)
        since = kafka.mark()

    (partition,) = group.member("bo").assignment["orders"]
    kafka.topic("orders").produce("soup", partition=partition)
    kitchen.wait_for_commit("orders", partition, at_least=1)
    _lost, told = kafka.requests("SyncGroup", client_id="bo")
    assert told.errors == []
    kitchen.assert_rebalances(exactly=0, since=since)


async def test_story_g9_unknown_versus_known_member(
    kafka: Broker, aio_kitchen: AsyncGroup, aiokafka_cook: HireAiokafka
) -> None:
    """Ana comes without an id, is given one, and is known by it. An id that was made up is not, so Bo begins anew."""
    aiokafka_cook("ana")
    await aio_kitchen.wait_for(state="Stable", members=1)
    nobody, known = kafka.requests("JoinGroup", client_id="ana")
    assert (nobody.request.member_id, nobody.errors) == ("", ["MEMBER_ID_REQUIRED"])
    assert (known.request.member_id, known.errors) == (nobody.answer.member_id, [])

    with kafka.hold("JoinGroup", client_id="bo", once=True) as joining:
        aiokafka_cook("bo")
        (await joining.aio.wait()).change(member_id="made up")
    await aio_kitchen.wait_for(state="Stable", members=2)
    errors = [asked.errors for asked in kafka.requests("JoinGroup", client_id="bo")]
    assert errors == [["UNKNOWN_MEMBER_ID"], ["MEMBER_ID_REQUIRED"], []]


async def hire_three(kitchen: AsyncGroup, hire: HireAiokafka) -> GroupView:
    """Ana, who leads, and then Bo and Cy."""
    for members, name in enumerate(("ana", "bo", "cy"), 1):
        hire(name)
        group = await kitchen.wait_for(state="Stable", members=members)
    return group
