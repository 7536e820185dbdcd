"""Owners on a real event loop: inboxes, timers, the log, and what is left when a group is gone."""

from __future__ import annotations

import asyncio
from typing import Any

from ottla.coordinator.classic.events import DescribeRequested
from ottla.coordinator.notes import Cause
from ottla.coordinator.offsets.events import DeleteRequested
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode
from tests.coordinator.actors import Actor, classic, fetches
from tests.coordinator.node import START_MS, WALL_MS, Answered, Node, running_node

ORDERS_0 = {("orders", 0): 7}


async def make_stable(node: Node, *actors: Actor) -> None:
    """Have these actors join and sync; each is assigned its own name."""
    joins = []
    for actor in actors:
        if actor.version >= 4 and actor.group_instance_id is None:
            actor.member_id = (await node.ask(actor.joins())).member_id
        joins.append(node.ask(actor.joins()))
    await node.advance(6_000)
    for actor, join in zip(actors, joins, strict=True):
        response = await join
        assert response.error_code == 0
        actor.member_id, actor.generation_id = response.member_id, response.generation_id
    syncs = [node.ask(actor.syncs({member: member.name.encode() for member in actors})) for actor in actors]
    for actor, sync in zip(actors, syncs, strict=True):
        assert (await sync).assignment == actor.name.encode()


async def test_story_w6_sessions_joins_and_syncs_go_through_the_purgatory(ana: Actor, bo: Actor) -> None:
    """Delayed operations, watched under their group: sessions in one purgatory, phases of rebalances in another."""
    async with running_node() as node:
        heartbeats = node.heartbeats
        rebalances = node.rebalances
        assert (heartbeats.delayed, rebalances.delayed) == (0, 0)
        ana.version = bo.version = 3
        joins = [node.ask(ana.joins()), node.ask(bo.joins())]
        await node.advance(0)
        assert (heartbeats.delayed, rebalances.delayed) == (2, 1)
        assert rebalances.watched_keys == [("group", "join")]
        await node.advance(6_000)
        await asyncio.gather(*joins)
        assert (heartbeats.delayed, rebalances.delayed) == (2, 1)
        assert rebalances.watched_keys == [("group", "sync")]
        assert rebalances.expired == 2  # the initial delay, once prolonged
        node.coordinator.close()
        assert (heartbeats.watched, rebalances.watched) == (0, 0)


async def test_story_g4_one_delayed_join_is_watched_however_many_join(ana: Actor) -> None:
    """A second and a third newcomer add nothing; the one that completes the phase leaves nothing behind."""
    async with running_node() as node:
        await make_stable(node, ana)
        rebalances = node.rebalances
        newcomers = [Actor(f"newcomer {number}", version=3) for number in range(3)]
        joins = [node.ask(newcomer.joins()) for newcomer in newcomers]
        await node.advance(0)
        assert rebalances.watched == rebalances.delayed == 1
        joins.append(node.ask(ana.joins()))
        await asyncio.gather(*joins)
        assert rebalances.watched_keys == [("group", "sync")]


async def test_sessions_expire_at_their_time(ana: Actor) -> None:
    """Deadlines are instants of the clock, dates go into records: neither is mistaken for the other."""
    async with running_node() as node:
        await make_stable(node, ana)
        group = classic(*node.coordinator.groups)
        since_ms = node.clock.now_ms() - START_MS
        assert group.members[ana.member_id].deadline_ms == WALL_MS + since_ms + 10_000
        await node.advance(9_999)
        assert group.members
        await node.advance(1)
        assert not group.members


async def test_a_heartbeat_moves_the_session_and_makes_nothing_new(ana: Actor) -> None:
    """However often: one operation, one place in the wheel, no garbage."""
    async with running_node() as node:
        await make_stable(node, ana)
        heartbeats = node.heartbeats
        before = (heartbeats.watched, heartbeats.lingering, node.timer.size)
        for _ in range(100):
            await node.advance(5_000)
            assert (await node.ask(ana.beats())).error_code == 0
        assert (heartbeats.watched, heartbeats.lingering, node.timer.size) == before
        assert heartbeats.expired == 0


async def test_a_timer_that_ran_out_in_the_inbox_is_overtaken(ana: Actor) -> None:
    """A heartbeat gets there first: it arms the session anew, and the expiry behind it means nothing."""
    async with running_node() as node:
        await make_stable(node, ana)
        group = classic(*node.coordinator.groups)
        beat = node.ask(ana.beats())
        node.clock.move_to(node.clock.now_ms() + 10_000)
        assert node.timer.fire_due() == 1  # behind the heartbeat, in the inbox
        assert (await beat).error_code == 0
        await node.advance(0)
        assert group.members.keys() == {ana.member_id}
        assert node.heartbeats.watched == 1
        await node.advance(10_000)
        assert not group.members


async def test_a_timer_that_ran_out_in_the_inbox_is_stopped(ana: Actor, bo: Actor) -> None:
    """Bo leaves before its session's end is looked at: it is not removed twice."""
    async with running_node() as node:
        await make_stable(node, ana, bo)
        leave = node.ask(bo.leaves())
        node.clock.move_to(node.clock.now_ms() + 10_000)
        assert node.timer.fire_due() == 2
        assert (await leave).members[0].error_code == 0
        await node.advance(0)
        removed = GroupEvents.GROUP_MEMBER_REMOVED
        causes = [note.details["cause"] for _, _, note in node.notes if note.kind is removed]
        assert causes == [Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED]


async def test_commits_that_follow_one_another_share_a_batch(ana: Actor) -> None:
    """Whatever comes between them ends the batch, and finds what was committed before it."""
    async with running_node() as node:
        await make_stable(node, ana)
        batches = node.log.batches[node.group_partition]
        del batches[:]
        answers = [node.ask(ana.commits({("orders", number): number})) for number in range(3)]
        fetch = node.ask(lambda: fetches(("orders", 2)))
        answers.append(node.ask(ana.commits({("orders", 3): 3})))
        found = await fetch
        await asyncio.gather(*answers)
        assert [len(batch) for batch in batches] == [3, 1]
        assert found.topics[0].partitions[0].committed_offset == 2


async def test_a_batch_that_is_too_large_is_written_in_parts(ana: Actor) -> None:
    """No commit fails for its neighbours."""
    async with running_node() as node:
        await make_stable(node, ana)
        node.log.records_max = 2
        small = [node.ask(ana.commits({("orders", number): 1})) for number in range(3)]
        large = node.ask(ana.commits({("orders", number): 2 for number in range(3)}))
        for answer in await asyncio.gather(*small):
            assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        errors = {p.error_code for topic in (await large).topics for p in topic.partitions}
        assert errors == {ErrorCode.UNKNOWN_SERVER_ERROR}
        group = classic(*node.coordinator.groups)
        assert {partition: committed.offset for partition, committed in group.offsets.committed["orders"].items()} == {
            0: 1,
            1: 1,
            2: 1,
        }


async def test_a_log_that_refuses_is_answered(ana: Actor) -> None:
    """And nothing has changed."""
    async with running_node() as node:
        await make_stable(node, ana)
        node.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        response = await node.ask(ana.commits(ORDERS_0))
        assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        group = classic(*node.coordinator.groups)
        assert group.offsets.committed == {}


async def test_events_for_a_group_that_ends_meanwhile_find_the_next_one(ana: Actor) -> None:
    """A delete, and behind it in the same inbox a join and a describe: the join makes a new group."""
    async with running_node() as node:
        await node.ask(ana.joins())
        (former,) = node.coordinator.groups
        deleted, described = Answered(), Answered()
        node.coordinator.submit("group", DeleteRequested(deleted))
        node.coordinator.submit("group", DescribeRequested(described, 6))
        joined = node.ask(ana.joins(member_id=""))
        assert (await deleted.future).error_code == ErrorCode.NONE
        assert (await described.future).group_state == "Dead"
        assert (await joined).error_code == ErrorCode.MEMBER_ID_REQUIRED
        group = classic(*node.coordinator.groups)
        assert group is not former
        assert node.tasks == {"group group"}


async def test_a_deleted_group_leaves_no_task_and_no_timer(ana: Actor) -> None:
    """Though an id it handed out was still good."""
    async with running_node() as node:
        await node.ask(ana.joins())
        assert node.tasks == {"group group"}
        deleted = Answered()
        node.coordinator.submit("group", DeleteRequested(deleted))
        assert (await deleted.future).error_code == ErrorCode.NONE
        await node.advance(0)
        assert node.tasks == set()
        assert node.coordinator.groups == []
        assert node.heartbeats.watched == 0


async def test_answers_that_ask_again_do_not_disturb(ana: Actor) -> None:
    """Whoever is answered may send its next request from within the answer, to the same group."""
    async with running_node() as node:
        await make_stable(node, ana)
        again: list[Any] = []

        class AskAgain(Answered):
            def answer(self, response: Any, /) -> None:
                super().answer(response)
                again.append(node.ask(ana.beats()))

        event: Any = ana.beats()()
        event.token = AskAgain()
        node.coordinator.submit("group", event)
        assert (await event.token.future).error_code == 0
        assert (await again[0]).error_code == 0


async def test_idle_groups_wake_nobody(ana: Actor) -> None:
    """A session is armed for its end, and moved; in between the loop sleeps."""
    async with running_node() as node:
        await make_stable(node, ana)
        turns = node.timer.wake_ups
        for _ in range(10):
            await asyncio.sleep(0)
        assert node.timer.wake_ups == turns
        assert node.timer.next_deadline_ms() is not None
