"""The coordinator of a node: what it lets in, what it loads, what it leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.coordinator.classic.events import DescribeRequested, JoinRequested, Request
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.kinds import KINDS
from ottla.coordinator.groups.refusals import all_requests
from ottla.coordinator.kinds.outside import Outside
from ottla.coordinator.offsets import removal
from ottla.coordinator.offsets.events import DeleteRequested, OffsetDeleteRequested, OffsetFetchRequested
from ottla.coordinator.runtime.events import TopicChange
from ottla.coordinator.runtime.records import CorruptRecordError
from ottla.coordinator.runtime.runtime import exhaust
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.coordinator.actors import Actor, Line, classic, fetches
from tests.coordinator.node import Answered, MemoryLog, Node, running_node
from tests.coordinator.rota import row
from tests.coordinator.rota.machine import EnlistRequested
from tests.coordinator.runtime.test_owner import make_stable

registered = row.registered
REQUESTS = all_requests(KINDS)
ORDERS_0 = {("orders", 0): 7}


def known() -> Actor:
    """Somebody who says it is a member."""
    actor = Actor("known")
    actor.member_id, actor.generation_id = "made up", 3
    return actor


def requests() -> dict[type[Request], Line]:
    """One of each kind, none of which creates a group."""
    actor = known()
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
        "orders", [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
    )
    lines = {
        "join": actor.joins(),
        "sync": actor.syncs(),
        "beat": actor.beats(),
        "leave": actor.leaves(),
        "commit": actor.commits(ORDERS_0),
        "commit in transaction": actor.commits_in_transaction(ORDERS_0),
        "fetch": Line("fetch", lambda: fetches(("orders", 0))),
        "offset delete": Line(
            "offset delete",
            lambda: OffsetDeleteRequested(None, OffsetDeleteRequest("group", [topic])),  # type: ignore[arg-type]
        ),
        "describe": Line("describe", lambda: DescribeRequested(None, 6)),  # type: ignore[arg-type]
        "delete": Line("delete", lambda: DeleteRequested(None)),  # type: ignore[arg-type]
    }
    return {line().__class__: line for line in lines.values()}  # type: ignore[misc]


def error_of(response: Any) -> int:
    """The error of an answer, wherever its API has it."""
    if hasattr(response, "error_code"):
        members = getattr(response, "members", None)
        if response.error_code == 0 and members:
            return int(members[0].error_code)
        return int(response.error_code)
    return int(response.topics[0].partitions[0].error_code)


#: By request, in the order of `Outside`; "-": goes on to the next.
EXPECTED = """
                         NOT_STARTED EMPTY_GROUP_ID BAD_SESSION_TIMEOUT NOT_COORDINATOR LOADING ABSENT OTHER_KIND FAILED
JoinRequested            15          24             26                  16              14      25     23         -1
SyncRequested            15          24             -                   16              14      25     25         -1
HeartbeatRequested       15          24             -                   16              0       25     25         -1
LeaveRequested           15          24             -                   16              14      25     25         -1
OffsetCommitRequested    15          -              -                   16              14      69     -          -1
TxnOffsetCommitRequested 15          24             -                   16              14      69     -          -1
OffsetFetchRequested     15          -              -                   16              14      0      -          -1
OffsetDeleteRequested    15          24             -                   16              14      69     -          -1
DescribeRequested        15          -              -                   16              14      69     69         -1
DeleteRequested          15          -              -                   16              14      69     -          -1
"""


def cells() -> list[Any]:
    header, *lines = EXPECTED.strip().splitlines()
    found = []
    for line in lines:
        name, *row = line.split()
        (kind,) = [kind for kind in REQUESTS if kind.__name__ == name]
        for outside, cell in zip(header.split(), row, strict=True):
            found.append(pytest.param(kind, Outside[outside], cell, id=f"{name}-{outside}"))
    assert len(found) == len(REQUESTS) * len(Outside)
    return found


@pytest.mark.parametrize(("kind", "outside", "expected"), cells())
async def test_refusals(kind: type[Request], outside: Outside, expected: str, registered: None) -> None:
    """What a request is answered that doesn't get to a group; nothing is left behind by any of them."""
    if expected == "-":
        assert REQUESTS[kind].errors[outside] is None
        return
    if outside is Outside.FAILED:  # what leads there is in tests/broker/lifecycle/test_failures.py
        event: Any = requests()[kind]()
        assert error_of(REQUESTS[kind].refusal("group", event, outside)) == int(expected)
        return
    async with running_node() as node:
        line = requests()[kind]
        if outside is Outside.NOT_STARTED:
            node.coordinator.close()
        elif outside is Outside.NOT_COORDINATOR:
            node.coordinator.runtime.unload(node.group_partition)
        elif outside is Outside.LOADING:
            node.coordinator.runtime.start_loading(node.group_partition)
        elif outside is Outside.BAD_SESSION_TIMEOUT:
            line = known().joins(session_timeout_ms=5_999)
        elif outside is Outside.OTHER_KIND:
            node.coordinator.submit("group", EnlistRequested(Answered(), "ana", "orders"))
        answer = node.ask(line, "" if outside is Outside.EMPTY_GROUP_ID else "group")
        assert answer.done(), "it is refused at once"
        assert error_of(answer.result()) == int(expected)
        if outside is not Outside.OTHER_KIND:
            assert node.coordinator.groups == []
            assert node.tasks == set()


@pytest.mark.parametrize(
    ("outside", "member_id"),
    [
        (Outside.NOT_STARTED, "made up"),
        (Outside.EMPTY_GROUP_ID, "made up"),
        (Outside.BAD_SESSION_TIMEOUT, "made up"),
        (Outside.NOT_COORDINATOR, ""),
        (Outside.LOADING, ""),
        (Outside.ABSENT, "made up"),
        (Outside.OTHER_KIND, ""),
        (Outside.FAILED, "made up"),
    ],
)
async def test_whose_join_was_refused(outside: Outside, member_id: str) -> None:
    """The answer repeats the member id, unless the group's partition isn't there."""
    response: Any = REQUESTS[JoinRequested].refusal("group", known().joins()(), outside)
    assert response.member_id == member_id


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001])
async def test_session_timeouts_have_bounds(ana: Actor, timeout_ms: int) -> None:
    """Below group.min.session.timeout.ms, above group.max.session.timeout.ms; also in a group that is there."""
    async with running_node() as node:
        for _ in range(2):
            refused = await node.ask(ana.joins(session_timeout_ms=timeout_ms))
            assert refused.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
            assert (await node.ask(ana.joins())).error_code == ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("timeout_ms", [6_000, 1_800_000])
async def test_session_timeouts_at_their_bounds(ana: Actor, timeout_ms: int) -> None:
    """Are allowed."""
    async with running_node() as node:
        response = await node.ask(ana.joins(session_timeout_ms=timeout_ms))
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
async def test_commit_in_a_generation_of_no_group(version: int, error: ErrorCode) -> None:
    """Before v9 clients know only that their generation is wrong."""
    async with running_node() as node:
        response = await node.ask(known().commits(ORDERS_0, version=version))
        assert error_of(response) == error


@pytest.mark.parametrize(("version", "error"), [(5, ErrorCode.ILLEGAL_GENERATION), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
async def test_commit_in_a_transaction_and_a_generation_of_no_group(version: int, error: ErrorCode) -> None:
    """The same before v6."""
    async with running_node() as node:
        response = await node.ask(known().commits_in_transaction(ORDERS_0, version=version))
        assert error_of(response) == error


@pytest.mark.parametrize("version", [2, 3])
async def test_leaving_no_group(version: int) -> None:
    """Each member is unknown; before v3 the one there is."""
    async with running_node() as node:
        response = await node.ask(known().leaves(known(), version=version))
        assert error_of(response) == ErrorCode.UNKNOWN_MEMBER_ID
        assert len(response.members) == (2 if version >= 3 else 0)
        assert response.error_code == (0 if version >= 3 else ErrorCode.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize(
    ("version", "error", "message"), [(5, 0, None), (6, ErrorCode.GROUP_ID_NOT_FOUND, "Group group not found.")]
)
async def test_describing_no_group(version: int, error: int, message: str | None) -> None:
    """It is Dead."""
    async with running_node() as node:
        response = await node.ask(Line("describe", lambda: DescribeRequested(None, version)))  # type: ignore[arg-type]
        assert (response.group_state, response.error_code, response.group_id) == ("Dead", error, "group")
        assert (response.error_message or None) == message


async def test_fetching_from_no_group() -> None:
    """Nothing is committed: for each partition asked for, and for all there are."""
    async with running_node() as node:
        some = await node.ask(lambda: fetches(("orders", 0), ("orders", 1)))
        everything = await node.ask(fetches)
        assert [p.committed_offset for topic in some.topics for p in topic.partitions] == [-1, -1]
        assert (everything.topics, everything.error_code, everything.group_id) == ([], 0, "group")


@pytest.mark.parametrize("version", [1, 2])
async def test_fetch_errors_before_version_2_are_each_partitions(version: int) -> None:
    """v1 has no error of its own."""
    async with running_node(is_loaded=False) as node:
        topic = OffsetFetchRequest.OffsetFetchRequestTopics("orders", partition_indexes=[0, 1])
        request = OffsetFetchRequest.OffsetFetchRequestGroup("group", topics=[topic])
        response = await node.ask(lambda: OffsetFetchRequested(None, request, version))  # type: ignore[arg-type]
        partitions = [(p.error_code, p.committed_offset) for topic in response.topics for p in topic.partitions]
        assert response.error_code == (0 if version == 1 else ErrorCode.NOT_COORDINATOR)
        assert partitions == ([(ErrorCode.NOT_COORDINATOR, -1)] * 2 if version == 1 else [])


async def test_the_group_without_a_name_keeps_offsets() -> None:
    """It can be committed to, fetched, described and deleted, but nobody joins it."""
    async with running_node() as node:
        simple = Actor("simple")
        assert error_of(await node.ask(simple.commits(ORDERS_0), "")) == 0
        assert (await node.ask(lambda: fetches(("orders", 0)), "")).topics[0].partitions[0].committed_offset == 7
        for line in (simple.joins(), simple.beats(), simple.syncs(), simple.leaves()):
            assert (await node.ask(line, "")).error_code == ErrorCode.INVALID_GROUP_ID
        assert (await node.ask(requests()[DescribeRequested], "")).group_state == "Empty"
        assert (await node.ask(requests()[DeleteRequested], "")).error_code == 0
        await node.advance(0)
        assert node.coordinator.groups == []


async def test_a_group_id_no_record_can_hold_makes_no_group() -> None:
    """Whatever bytes it was made of."""
    async with running_node() as node:
        simple = Actor("simple")
        group_id = "\ufffd" * 20_000
        assert error_of(await node.ask(simple.commits(ORDERS_0), group_id)) == ErrorCode.GROUP_ID_NOT_FOUND
        assert (await node.ask(simple.joins(), group_id)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert node.coordinator.groups == []


async def test_made_up_ids_leave_nothing_behind() -> None:
    """A thousand requests to groups that don't exist, and no task, no group, no timer."""
    async with running_node() as node:
        for number in range(1_000):
            for line in requests().values():
                assert node.ask(line, f"made up {number}").done()
        assert node.coordinator.groups == []
        assert node.tasks == set()
        assert node.timer.size == 0


# ── Load and unload ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_group_moves_to_another_node(ana: Actor, bo: Actor) -> None:
    """It is loaded from the log; members go on in the same generation, with their offsets."""
    log = MemoryLog()
    async with running_node(log=log) as first:
        await make_stable(first, ana, bo)
        assert error_of(await first.ask(ana.commits(ORDERS_0))) == 0
    async with running_node(log=log) as second:
        assert (await second.ask(ana.beats())).error_code == 0
        assert (await second.ask(bo.syncs())).assignment == b"bo"
        assert (await second.ask(lambda: fetches(("orders", 0)))).topics[0].partitions[0].committed_offset == 7
        await second.advance(10_000)
        group = classic(*second.coordinator.groups)
        assert not group.members, "their sessions began with the load"


async def test_unloading_answers_whoever_waits(ana: Actor, bo: Actor) -> None:
    """And whoever comes; the partitions of other groups go on."""
    async with running_node() as node:
        await make_stable(node, ana, bo)
        waiting = node.ask(ana.joins())
        other = Actor("other")
        await node.ask(other.joins(), "other group")
        assert node.coordinator.partition_of("other group") != node.group_partition
        node.coordinator.runtime.unload(node.group_partition)
        assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
        assert (await node.ask(bo.beats())).error_code == ErrorCode.NOT_COORDINATOR
        assert [group.group_id for group in node.coordinator.groups] == ["other group"]


async def test_what_was_asked_before_the_unload_is_in_the_log(ana: Actor) -> None:
    """Requests in an inbox are done first, so whoever loads the partition next finds all that was answered."""
    log = MemoryLog()
    async with running_node(log=log) as node:
        await make_stable(node, ana)
        commit = node.ask(ana.commits(ORDERS_0))
        node.load(node.group_partition)  # unloads, and loads again
        assert error_of(await commit) == 0
        assert (await node.ask(lambda: fetches(("orders", 0)))).topics[0].partitions[0].committed_offset == 7


async def test_a_corrupt_log_refuses_its_groups(ana: Actor) -> None:
    """Until it is loaded again."""
    async with running_node() as node:
        loading = node.coordinator.runtime.start_loading(node.group_partition)
        with pytest.raises(CorruptRecordError):
            loading.shard.replay(b"\x00\x02", b"")
        node.coordinator.runtime.fail_loading(node.group_partition, loading)
        assert (await node.ask(ana.joins())).error_code == ErrorCode.NOT_COORDINATOR
        assert node.coordinator.list_groups(ListGroupsRequest()).error_code == 0
        node.load(node.group_partition)
        assert (await node.ask(ana.joins())).error_code == ErrorCode.MEMBER_ID_REQUIRED


async def test_loading_tells_what_it_passed_over() -> None:
    """Records of other kinds of groups, by type."""
    async with running_node() as node:
        loading = node.coordinator.runtime.start_loading(3)
        loading.shard.replay(b"\x00\x03\x00\x01g", b"")
        assert loading.shard.unknown_types == {3: 1}


async def test_groups_come_to_life_one_by_one_and_are_found_all_at_once() -> None:
    """Between the steps others have their turn; until the last one they are told that the partition is being read."""
    log = MemoryLog()
    async with running_node(log=log, offsets_topic_num_partitions=1) as node:
        for name in ("first", "second"):
            assert error_of(await node.ask(Actor("simple").commits(ORDERS_0), name)) == 0
        loading = node.coordinator.runtime.start_loading(0)
        loading.shard.replay_all(log.records(0))
        seen = []
        for _ in node.coordinator.runtime.finish_loading(0, loading):
            fetched = await node.ask(lambda: fetches(("orders", 0)), "first")
            seen.append((list(loading.owners), fetched.error_code))
        in_progress = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert seen == [(["first"], in_progress), (["first", "second"], in_progress)]
        fetched = await node.ask(lambda: fetches(("orders", 0)), "first")
        assert fetched.topics[0].partitions[0].committed_offset == 7


@pytest.mark.parametrize("how", ["unload", "load anew", "fail", "close"])
async def test_a_load_that_is_given_up_leaves_nothing_behind(ana: Actor, how: str) -> None:
    """The groups that came to life already end with it, with their timers and tasks: `running_node` sees to that."""
    async with running_node(offsets_topic_num_partitions=1) as node:
        await make_stable(node, ana)
        loading = node.coordinator.runtime.start_loading(0)
        loading.shard.replay_all(node.log.records(0))
        next(node.coordinator.runtime.finish_loading(0, loading))
        assert classic(loading.owners["group"].machine).members
        if how == "unload":
            node.coordinator.runtime.unload(0)
        elif how == "load anew":
            node.load(0)
        elif how == "fail":
            node.coordinator.runtime.fail_loading(0, loading)
        else:
            node.coordinator.close()
        assert not node.coordinator.runtime.is_loading(0, loading)
        assert loading.owners["group"].is_ended
        alive = [group.group_id for group in node.coordinator.groups]
        assert alive == (["group"] if how == "load anew" else [])
        node.coordinator.runtime.fail_loading(0, loading)  # it is too late for that
        assert [group.group_id for group in node.coordinator.groups] == alive


async def test_loaded_groups_are_swept(ana: Actor) -> None:
    """Even if the time for the sweep came while there were none but those being loaded."""
    async with running_node(offsets_topic_num_partitions=1, offsets_retention_ms=50_000) as node:
        assert error_of(await node.ask(Actor("simple").commits(ORDERS_0))) == 0
        loading = node.coordinator.runtime.start_loading(0)
        loading.shard.replay_all(node.log.records(0))
        await node.advance(node.coordinator.config.offsets_retention_check_interval_ms)
        for _ in node.coordinator.runtime.finish_loading(0, loading):
            pass
        assert [group.group_id for group in node.coordinator.groups] == ["group"]
        await node.advance(node.coordinator.config.offsets_retention_check_interval_ms)
        assert node.coordinator.groups == []


async def test_closing_twice_is_closing(ana: Actor) -> None:
    """Everybody who waits is answered once."""
    async with running_node() as node:
        ana.version = 3
        waiting = node.ask(ana.joins())
        node.coordinator.close()
        node.coordinator.close()
        assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
        assert node.coordinator.list_groups(ListGroupsRequest()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


# ── All groups ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_listing_groups(ana: Actor) -> None:
    """Those of all partitions; none while one of them is being loaded; without those that live elsewhere."""
    async with running_node() as node:
        await make_stable(node, ana)
        assert error_of(await node.ask(Actor("simple").commits(ORDERS_0), "simple")) == 0

        def listed() -> dict[str, str]:
            response = node.coordinator.list_groups(ListGroupsRequest())
            assert response.error_code == 0
            return {group.group_id: group.group_state for group in response.groups}

        assert listed() == {"group": "Stable", "simple": "Empty"}
        assert node.coordinator.list_groups(ListGroupsRequest(["empty"])).groups[0].group_id == "simple"
        node.coordinator.runtime.unload(node.coordinator.partition_of("simple"))
        assert listed() == {"group": "Stable"}
        node.coordinator.runtime.start_loading(node.coordinator.partition_of("simple"))
        response = node.coordinator.list_groups(ListGroupsRequest())
        assert (response.error_code, response.groups) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


async def test_deleted_topics_go_everywhere(ana: Actor) -> None:
    """In all groups at once."""
    async with running_node() as node:
        for number in range(3):
            assert error_of(await node.ask(Actor("simple").commits(ORDERS_0), f"group {number}")) == 0
        node.coordinator.runtime.topic_changed(TopicChange.DELETED, "orders", b"1" * 16)
        await node.advance(0)
        assert [group.offsets.committed for group in node.coordinator.groups] == [{}, {}, {}]


async def test_topics_deleted_together_are_one_walk_over_the_groups(ana: Actor) -> None:
    """However many they are: with thousands of both, a walk for each would take seconds."""
    async with running_node() as node:
        for number in range(3):
            assert error_of(await node.ask(Actor("simple").commits(ORDERS_0), f"group {number}")) == 0
        walks: list[Iterator[None]] = []
        node.coordinator.runtime._topics._start = walks.append
        for name in ("orders", "payments", "refunds"):
            node.coordinator.runtime.topic_changed(TopicChange.DELETED, name, b"1" * 16)
        assert len(walks) == 1
        assert len(list(walks[0])) == 3, "a group with each step"
        assert [group.offsets.committed for group in node.coordinator.groups] == [{}, {}, {}]


async def test_topic_deleted_again_before_the_walk(ana: Actor) -> None:
    """Made anew under its name and deleted again: what was committed for either goes."""
    async with running_node() as node:
        assert error_of(await node.ask(Actor("simple").commits(ORDERS_0), "group")) == 0
        committed = node.coordinator.groups[0].offsets.committed["orders"][0].topic_id
        walks: list[Iterator[None]] = []
        node.coordinator.runtime._topics._start = walks.append
        node.coordinator.runtime.topic_changed(TopicChange.DELETED, "orders", committed)
        node.coordinator.runtime.topic_changed(TopicChange.DELETED, "orders", b"2" * 16)
        for walk in walks:
            exhaust(walk)
        assert node.coordinator.groups[0].offsets.committed == {}


async def test_the_sweep_comes_once_an_interval() -> None:
    """At multiples of it since the start; with nothing to sweep it does not come at all."""
    async with running_node(offsets_retention_check_interval_ms=1_000, offsets_retention_ms=10_000) as node:
        assert node.timer.next_deadline_ms() is None
        await node.advance(2_500)
        simple = Actor("simple")
        assert error_of(await node.ask(simple.commits(ORDERS_0))) == 0
        await node.advance(10_499)  # the sweep at 12 s came too early for it
        assert len(node.coordinator.groups) == 1
        await node.advance(1)
        assert node.coordinator.groups == []
        await node.advance(1_000)
        assert node.timer.next_deadline_ms() is None


async def test_a_group_with_more_expired_offsets_than_a_batch_may_have_goes_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody has asked for all of it at once, so it goes in parts."""
    monkeypatch.setattr(removal, "_TOMBSTONES_BYTES", 120)
    async with running_node(offsets_retention_check_interval_ms=1_000, offsets_retention_ms=10_000) as node:
        simple = Actor("simple")
        for partition in range(20):
            assert error_of(await node.ask(simple.commits({("orders", partition): 1}))) == 0
        node.log.records_max = 5
        await node.advance(12_000)
        assert node.coordinator.groups == []
        parts = node.log.batches[node.group_partition][20:]
        assert sum(map(len, parts)) == 20 + 1, "the group's own is among them"
        assert len(parts) > 4


async def test_defaults_are_kafkas() -> None:
    """What a broker without settings does."""
    config = GroupConfig()
    assert (config.group_min_session_timeout_ms, config.group_max_session_timeout_ms) == (6_000, 1_800_000)
    assert (config.group_initial_rebalance_delay_ms, config.group_max_size) == (3_000, 2**31 - 1)
    assert (config.offset_metadata_max_bytes, config.offsets_topic_num_partitions) == (4_096, 50)
    assert (config.offsets_retention_ms, config.offsets_retention_check_interval_ms) == (604_800_000, 600_000)


async def test_many_groups_many_members() -> None:
    """Each group has its own task; a thousand members of twenty groups are Stable in one generation."""
    async with running_node(group_initial_rebalance_delay_ms=0) as node:

        async def live(node: Node, group_id: str, number: int) -> None:
            actor = Actor(f"member {number}")
            actor.member_id = (await node.ask(actor.joins(), group_id)).member_id
            while True:
                joined = await node.ask(actor.joins(), group_id)
                actor.generation_id = joined.generation_id
                if (await node.ask(actor.syncs(), group_id)).error_code == 0:
                    return

        members = [asyncio.ensure_future(live(node, f"group {n % 20}", n)) for n in range(1_000)]
        while not all(member.done() for member in members):
            await node.advance(1)
        await asyncio.gather(*members)
        assert len(node.tasks) == 20
        for group in node.coordinator.groups:
            group.check()
            assert len(classic(group).members) == 50
