"""Stories J: how the join phase of a rebalance ends, told over TCP."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.group_metadata_key import GroupMetadataKey
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.testing import Broker
from tests.stories.actors import Actor, Stage
from tests.support.client import Client
from tests.support.fetched import records_in

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"

REBALANCE_MS = 5_000
#: No session ends in these stories but those that are said to.
LONG_MS = 100_000


def member(stage: Stage, name: str, *, instance: str | None = None, session_timeout_ms: int = LONG_MS) -> Actor:
    return stage.actor(
        name, instance=instance, session_timeout_ms=session_timeout_ms, rebalance_timeout_ms=REBALANCE_MS
    )


@pytest.mark.own_broker
def test_story_j1_who_did_not_rejoin_is_removed_unless_static(broker: Broker, stage: Stage) -> None:
    """Ana rejoins, Bo and Cy don't. After the rebalance timeout Bo is nobody any more; Cy, static, is still in."""
    ana, bo, cy = member(stage, "ana"), member(stage, "bo"), member(stage, "cy", instance="cy's")
    stage.stable(ana, bo, cy)
    ana.joins()
    stage.shows(PREPARING, members=3)
    broker.advance(REBALANCE_MS - 1)
    assert ana.is_parked
    broker.advance(1)
    answer = ana.joined(generation_id=3, leader=ana)
    assert {member.member_id for member in answer.members} == {ana.member_id, cy.member_id}
    bo.beats().is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
    cy.beats(generation_id=3).is_answered()
    broker.advance(LONG_MS)  # nothing is left of Bo's timer that could disturb the group
    stage.shows(EMPTY, members=0)


@pytest.mark.own_broker
def test_story_j2_a_rejoined_member_is_elected(broker: Broker, stage: Stage) -> None:
    """The leader did not come back, so one that did leads."""
    ana, bo, cy, dee = (member(stage, name) for name in ("ana", "bo", "cy", "dee"))
    stage.stable(ana, bo, cy)
    dee.enters()
    stage.shows(PREPARING, members=4)
    cy.joins()
    broker.advance(REBALANCE_MS)
    answers = {actor.name: actor.hears() for actor in (cy, dee)}
    assert {answer.generation_id for answer in answers.values()} == {3}
    (leader,) = {answer.leader for answer in answers.values()}
    assert leader in {answer.member_id for answer in answers.values()}
    stage.shows(COMPLETING, members=2)


@pytest.mark.own_broker
def test_story_j2_all_static_and_nobody_back_waits_on(broker: Broker, stage: Stage) -> None:
    """Static members that are away hold the group in Preparing, round after round, until their sessions end."""
    ana = member(stage, "ana", instance="ana's", session_timeout_ms=12_000)
    bo = member(stage, "bo")
    stage.stable(ana)
    bo.enters()
    stage.shows(PREPARING, members=2)
    bo.loses_its_connection()
    bo.leaves().is_answered()
    for _ in range(2):  # to 5 s and 10 s
        broker.advance(REBALANCE_MS)
        stage.shows(PREPARING, members=1)
    broker.advance(2_000)
    stage.shows(EMPTY, members=0)


@pytest.mark.own_broker(settings={"offsets.topic.num.partitions": 1})
def test_story_j3_the_generation_grows_by_one_also_into_empty(broker: Broker, stage: Stage) -> None:
    """As the group log says: a new group has generation 0, Ana's is 1, the one of the group that she left empty 2. With
    no offsets in it the next sweep removes the group.
    """
    ana, bo = member(stage, "ana"), member(stage, "bo")
    stage.stable(ana)
    ana.leaves().is_answered()
    stage.shows(EMPTY, members=0)
    assert [(value.generation, len(value.members)) for value in group_log(stage) if value] == [(0, 0), (1, 1), (2, 0)]
    assert bo.enters().joined(generation_id=3, leader=bo).error_code == 0
    bo.leaves().is_answered()
    broker.advance(600_000)  # offsets.retention.check.interval.ms
    assert stage.backstage.group(stage.group).group_state == "Dead"
    assert group_log(stage)[-1] is None


def group_log(stage: Stage) -> list[GroupMetadataValue | None]:
    """What __consumer_offsets says of the group, as any consumer can read it; None: a tombstone."""
    partition = FetchRequest.FetchPartition(0, fetch_offset=0, partition_max_bytes=1_000_000)
    asked = FetchRequest.FetchTopic("__consumer_offsets", partitions=[partition])
    with Client(stage.bootstrap) as client:
        answer = client.ask(FetchRequest(max_bytes=1_000_000, topics=[asked]), 12).responses[0].partitions[0]
    assert answer.error_code == 0
    values: list[GroupMetadataValue | None] = []
    for record in records_in(answer.records):
        key, value = record.key, record.value
        assert key is not None
        if key[:2] == b"\0\2" and GroupMetadataKey.decode(key, 0, 2).group == stage.group:
            values.append(None if value is None else GroupMetadataValue.decode(value, int.from_bytes(value[:2]), 2))
    return values


def test_story_j4_only_the_leader_sees_the_members(stage: Stage) -> None:
    """Leader, generation, protocol type and name are the same for all; the members and their metadata are not."""
    ana, bo = stage.actor("ana"), stage.actor("bo", instance="bo's")
    ana.enters().joined(generation_id=1, leader=ana)
    bo.enters()
    stage.shows(PREPARING, members=2)
    leads = ana.joins().joined(generation_id=2, leader=ana)
    follows = bo.joined(generation_id=2, leader=ana)
    assert {(member.member_id, member.group_instance_id, member.metadata) for member in leads.members} == {
        (ana.member_id, None, b"ana"),
        (bo.member_id, "bo's", b"bo"),
    }
    assert follows.members == []


@pytest.mark.own_broker(settings={"group.initial.rebalance.delay.ms": 3000})
def test_story_j5_sessions_start_anew_with_the_join_answer(broker: Broker, stage: Stage) -> None:
    """Ana waits three seconds for its answer; its session of ten seconds counts from then, and not a moment less."""
    ana = stage.actor("ana", session_timeout_ms=10_000)
    ana.enters()
    stage.shows(PREPARING, members=1)
    broker.advance(3_000)
    ana.joined(generation_id=1, leader=ana)
    broker.advance(9_999)
    stage.shows(COMPLETING, members=1)
    broker.advance(1)
    stage.shows(EMPTY, members=0)
    ana.beats().is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
