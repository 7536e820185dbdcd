"""Random walks: several members, dynamic and static, do anything at any time, and appends fail.

After every step `Group.check()` holds, the timers that were armed are those that the state says are running, and nobody
is answered twice. In the end everybody was answered once, and the log tells all that Kafka persists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.coordinator.classic.events import DescribeRequested
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.offsets.committed import CommittedOffset, TopicPartition
from ottla.coordinator.offsets.events import DeleteRequested, OffsetDeleteRequested, SweepDue
from ottla.coordinator.offsets.pending import PendingOffset
from ottla.coordinator.runtime.effects import Reply
from ottla.coordinator.runtime.events import TopicsChanged
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from tests.coordinator.actors import LATEST_LEAVE, Actor, fetches, protocols
from tests.coordinator.world import World

ORDERS_ID = b"o" * 16
ACTORS = st.integers(0, 4)
PRODUCERS = st.sampled_from([7, 8])
#: In the other states the log still has the generation before.
WRITTEN = {GroupState.STABLE, GroupState.EMPTY}
#: Lists of protocols; the last names one twice.
PROTOCOLS = [("range", "sticky"), ("sticky", "range"), ("range",), ("roundrobin",), ("range", "range", "sticky")]
ERRORS = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE]


class Walk(RuleBasedStateMachine):
    """Appends are done at once, as in the broker."""

    delays_appends = False

    def __init__(self) -> None:
        super().__init__()
        self.world = World(GroupConfig(group_max_size=4, group_initial_rebalance_delay_ms=3_000))
        self.world.delays_appends = self.delays_appends
        self.world.observers.append(self._observe)
        self.actors = [
            Actor("ana", session_timeout_ms=10_000),
            Actor("bo", version=3, session_timeout_ms=30_000, rebalance_timeout_ms=2_000),
            Actor("cy", group_instance_id="cy's", session_timeout_ms=10_000),
            Actor("dee", group_instance_id="dee's", session_timeout_ms=120_000, version=8),
            Actor("eve", session_timeout_ms=60_000, rebalance_timeout_ms=10_000),
        ]
        self.asking: dict[str, Actor] = {}
        self.ghosts: dict[int, str] = {}

    def _observe(self, reply: Reply) -> None:
        """Actors learn from answers, if they know the request was theirs."""
        actor = self.asking.pop(str(reply.token), None)
        response: Any = reply.response
        if actor is not None and response.error_code in {0, ErrorCode.MEMBER_ID_REQUIRED} and response.member_id:
            actor.member_id = response.member_id
            actor.generation_id = response.generation_id

    # ── Good members: without them a walk would hardly ever get beyond the first join ─────────────────────────────────

    @rule(index=ACTORS)
    def proceed(self, index: int) -> None:
        """A member does what a client does next."""
        actor = self.actors[index]
        group = self.world.group
        member = group.members.get(actor.member_id) if group is not None else None
        if group is None or member is None:
            if group is None or actor.member_id not in group.pending_joins:
                actor.member_id = ""
            self.join(index, None)
        elif group.state is GroupState.PREPARING_REBALANCE and member.parked_join is None:
            self.join(index, None)
        elif group.state is GroupState.COMPLETING_REBALANCE and member.parked_sync is None:
            self.sync(index, assigns=True)
        else:
            self.beat(index, is_stale=False)

    @rule(indexes=st.lists(ACTORS, min_size=1, max_size=4, unique=True), protocol=st.sampled_from(["range", "sticky"]))
    def settle(self, indexes: list[int], protocol: str) -> None:
        """Some members join until the group waits for their syncs, and sync."""
        for index in indexes:
            self.actors[index].protocols = protocols(protocol, "roundrobin")
        for _ in range(3):
            for index in indexes:
                self.proceed(index)
            group = self.world.group
            if group is not None and group.join_deadline_ms is not None:
                self.world.advance(max(0, group.join_deadline_ms - self.world.now_ms))

    # ── What members do ───────────────────────────────────────────────────────────────────────────────────────────────

    @rule(index=ACTORS, names=st.sampled_from([None, None, *PROTOCOLS]))
    def join(self, index: int, names: tuple[str, ...] | None) -> None:
        actor = self.actors[index]
        if names is not None:
            actor.protocols = protocols(*names)
        token = self.world.token(f"{actor} join")
        self.asking[token] = actor
        self.world.submit(actor.joins(token=token)())  # type: ignore[arg-type]

    @rule(index=ACTORS, assigns=st.booleans())
    def sync(self, index: int, assigns: bool) -> None:
        actor = self.actors[index]
        assignments = {other: other.name.encode() for other in self.actors} if assigns else {}
        self.world.submit(actor.syncs(assignments, token=self.world.token(f"{actor} sync"))())  # type: ignore[arg-type]

    @rule(index=ACTORS, is_stale=st.booleans())
    def beat(self, index: int, is_stale: bool) -> None:
        actor = self.actors[index]
        token = self.world.token(f"{actor} beat")
        generation_id = actor.generation_id - is_stale
        self.world.submit(actor.beats(token=token, generation_id=generation_id)())  # type: ignore[arg-type]

    @rule(index=ACTORS, partition=st.integers(0, 2), offset=st.integers(0, 99), is_simple=st.booleans())
    def commit(self, index: int, partition: int, offset: int, is_simple: bool) -> None:
        actor = self.actors[index]
        token = self.world.token(f"{actor} commit")
        simple: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
        line = actor.commits(
            {("orders", partition): offset, ("payments", 0): offset},
            token=token,
            topic_id=ORDERS_ID,
            retention_time_ms=5_000 if offset == 13 else -1,
            **(simple if is_simple else {}),
        )
        self.world.submit(line())  # type: ignore[arg-type]

    @rule(index=ACTORS, by_instance=st.booleans(), other=ACTORS)
    def leave(self, index: int, by_instance: bool, other: int) -> None:
        actor = self.actors[index]
        line = actor.leaves(
            self.actors[other],
            version=LATEST_LEAVE,
            token=self.world.token(f"{actor} leave"),
            **({"member_id": ""} if by_instance else {}),
        )
        self.world.submit(line())  # type: ignore[arg-type]

    @rule(index=st.sampled_from([0, 1, 2, 2, 2, 3, 3, 3, 4]))
    def restart(self, index: int) -> None:
        """The client starts anew, without its member id; the old one still runs somewhere, as a ghost."""
        actor = self.actors[index]
        if actor.member_id:
            self.ghosts[index] = actor.member_id
            actor.member_id = ""
        self.join(index, None)

    @rule(index=ACTORS, does=st.sampled_from(["join", "sync", "beat", "leave"]))
    def haunt(self, index: int, does: str) -> None:
        """A client that was replaced does not know it yet."""
        actor = self.actors[index]
        member_id, actor.member_id = actor.member_id, self.ghosts.get(index, "ghost")
        if does == "join":
            self.world.submit(actor.joins(token=self.world.token("ghost join"))())  # type: ignore[arg-type]
        elif does == "sync":
            self.sync(index, assigns=True)
        elif does == "beat":
            self.beat(index, is_stale=False)
        else:
            self.leave(index, by_instance=False, other=index)
        actor.member_id = member_id

    # ── What the broker does ──────────────────────────────────────────────────────────────────────────────────────────

    @rule(ms=st.sampled_from([0, 1, 1_000, 2_000, 3_000, 3_000, 5_000, 10_000, 61_000, 301_000]))
    def advance(self, ms: int) -> None:
        self.world.advance(ms)

    @rule(error=st.sampled_from(ERRORS))
    def log_answers(self, error: ErrorCode) -> None:
        self.world.append_error = error

    @rule(require_stable=st.booleans(), finds_all=st.booleans())
    def fetch(self, require_stable: bool, finds_all: bool) -> None:
        token = self.world.token("fetch")
        asked = [] if finds_all else [("orders", 0), ("orders", 9)]
        self.world.submit(fetches(*asked, require_stable=require_stable, token=token))

    @rule()
    def describe(self) -> None:
        self.world.submit(DescribeRequested(self.world.token("describe"), 6))

    @rule()
    def delete_offsets(self) -> None:
        topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
            "payments", [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
        )
        self.world.submit(OffsetDeleteRequested(self.world.token("delete"), OffsetDeleteRequest("group", [topic])))

    @rule(
        rare=st.sampled_from(
            ["nothing", "nothing", "nothing", "nothing", "delete group", "delete topic", "sweep", "fail over"]
        )
    )
    def something_rare_happens(self, rare: str) -> None:
        if rare == "delete group":
            self.world.submit(DeleteRequested(self.world.token("delete")))
        elif rare == "fail over":
            self.world.reload()
        elif self.world.group is not None and rare != "nothing":
            self.world.happen(SweepDue() if rare == "sweep" else TopicsChanged(deleted={"orders": ORDERS_ID}))

    # ── What always holds ─────────────────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_log_tells_all(self) -> None:
        """What is replayed is what lives, as far as Kafka persists it; also from a compacted log."""
        world = self.world
        if world.delays_appends:
            return
        group = world.group
        assert pending(world.read_back()) == pending(group)
        for replayed in (world.read_back(), *([] if world.producers else [world.replayed(world.compacted_log)])):
            assert committed(replayed) == committed(group)
            if world.is_group_written and (group is None or group.state in WRITTEN) and not is_bare(group):
                assert dict(persisted(replayed)) == dict(persisted(group))

    def teardown(self) -> None:
        self.world.close()


class DelayedWalk(Walk):
    """Appends take their time, so the group may have moved on when one is done."""

    delays_appends = True

    @precondition(lambda self: bool(self.world.appends))
    @rule()
    def append_is_done(self) -> None:
        self.world.complete_append()


class TransactionalWalk(Walk):
    """Offsets are committed in transactions too, of two producers, whose markers come in any order and late."""

    @rule(
        index=ACTORS,
        producer_id=PRODUCERS,
        partition=st.integers(0, 2),
        offset=st.integers(0, 99),
        is_simple=st.booleans(),
    )
    def commit_in_transaction(self, index: int, producer_id: int, partition: int, offset: int, is_simple: bool) -> None:
        simple: dict[str, Any] = {"member_id": "", "generation_id_or_member_epoch": -1, "group_instance_id": None}
        line = self.actors[index].commits_in_transaction(
            {("orders", partition): offset, ("payments", 0): offset},
            producer_id=producer_id,
            token=self.world.token("commit in transaction"),
            topic_id=ORDERS_ID,
            **(simple if is_simple else {}),
        )
        self.world.submit(line())  # type: ignore[arg-type]

    @rule(producer_id=PRODUCERS, is_commit=st.booleans())
    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        self.world.end_transaction(producer_id, is_commit=is_commit)


def is_bare(group: Group | None) -> bool:
    """Whether there is nothing to write about it: it never had members, and has lost the offsets it was made for."""
    is_simple = group is not None and group.state is GroupState.EMPTY and group.protocol_type is None
    return is_simple and not committed(group)


def pending(group: Group | None) -> dict[TopicPartition, dict[int, PendingOffset]]:
    """What open transactions have committed, and whether it was overruled."""
    return {} if group is None else group.offsets.pending.at


def committed(group: Group | None) -> dict[str, dict[int, CommittedOffset]]:
    return {} if group is None else group.offsets.committed


def persisted(group: Group | None) -> Iterator[tuple[str, object]]:
    """What a record of the group says; nothing if there is none."""
    if group is None:
        return
    yield "state", group.state
    yield "generation", group.generation_id
    yield "protocol type", group.protocol_type
    yield "protocol", group.protocol_name
    yield "leader", group.leader_id
    yield "topics", group.subscribed_topics
    if group.state is GroupState.EMPTY and group.protocol_type is not None:
        yield "since", group.state_timestamp_ms
    for member in group.members.values():
        yield (
            member.member_id,
            (
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.session_timeout_ms,
                member.rebalance_timeout_ms,
                member.metadata(group.protocol_name or ""),
                member.assignment,
            ),
        )


TestWalk = Walk.TestCase
TestWalk.settings = settings(stateful_step_count=100)
TestTransactionalWalk = TransactionalWalk.TestCase
TestTransactionalWalk.settings = settings(stateful_step_count=100)
TestDelayedWalk = DelayedWalk.TestCase
TestDelayedWalk.settings = settings(stateful_step_count=100)
