"""How offsets and groups go: by retention, with their topics, on request."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.records import group_tombstone
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.offsets.commit import OffsetsWritten
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.events import DeleteRequested, OffsetDeleteRequested, SweepDue
from ottla.coordinator.offsets.records import offset_tombstone
from ottla.coordinator.offsets.removal import TombstonesWritten
from ottla.coordinator.runtime.effects import Append, Effect, Ended
from ottla.coordinator.runtime.events import Loaded, TopicsChanged, Unloaded
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.testing.playbook import At, Is, NotWritten, Playbook, Written
from tests.coordinator.actors import Actor, Answer, Name, fetches, make_stable, new_group, perform, protocols

DAY_MS = 24 * 60 * 60 * 1000
RETENTION_MS = 7 * DAY_MS
EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
STABLE = GroupState.STABLE
DELETED = Name("delete")
TOPIC_ID = b"1" * 16


class CommitAppended:
    """Expected: committed offsets."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, OffsetsWritten)


class TombstonesAppended:
    """Expected: tombstones."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, TombstonesWritten)


def commit(group: Group, **commit_timestamps_ms: int) -> None:
    """Offset 1 of partition 0 of each topic was committed at these times."""
    for topic, commit_timestamp_ms in commit_timestamps_ms.items():
        group.offsets.keep(topic, 0, CommittedOffset(1, -1, "", commit_timestamp_ms))


def deletes(*topics: str) -> OffsetDeleteRequested:
    asked = [
        OffsetDeleteRequest.OffsetDeleteRequestTopic(topic, [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)])
        for topic in topics
    ]
    return OffsetDeleteRequested(DELETED, OffsetDeleteRequest("group", asked))


class Deleted:
    """Expected: the answer to an OffsetDelete, as topic and error."""

    def __init__(self, **errors: ErrorCode) -> None:
        self.errors = errors

    def matches(self, effect: Effect) -> bool:
        if getattr(effect, "token", None) != DELETED:
            return False
        response: Any = effect.response  # type: ignore[union-attr]
        errors = {topic.name: p.error_code for topic in response.topics for p in topic.partitions}
        return response.error_code == 0 and errors == self.errors


# ── The sweep ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bare_empty_group_goes_however_young(ana: Actor) -> None:
    """Created by a join that never came to anything; ids that were handed out go with it."""
    group = new_group()
    book = Playbook(group)
    assert book >> ana.joins() << ana.is_given_id() >> SweepDue() << Ended() << Is(GroupState.DEAD)
    assert book.log[-1] == group_tombstone("group")
    assert book.timers == {}


def test_offsets_of_a_simple_group_expire_by_their_commits() -> None:
    """One by one; when the last has gone, so does the group."""
    group = new_group(is_unwritten=False)
    commit(group, orders=0, payments=DAY_MS)
    book = Playbook(group)
    assert book >> At(RETENTION_MS - 1) >> SweepDue()
    assert book.log == []
    assert book >> At(RETENTION_MS) >> SweepDue()
    assert book.log == [offset_tombstone("group", "orders", 0)]
    assert group.offsets.committed.keys() == {"payments"}
    assert book >> At(RETENTION_MS + DAY_MS) >> SweepDue() << Ended()
    assert book.log[1:] == [offset_tombstone("group", "payments", 0), group_tombstone("group")]


def test_offsets_of_an_emptied_group_expire_since_it_is_empty(ana: Actor) -> None:
    """All at once, whenever they were committed: also one committed just now does not prolong it."""
    group = new_group()
    make_stable(group, ana)
    commit(group, orders=0)
    perform(group, DAY_MS, ana.leaves()())
    book = Playbook(group, now_ms=DAY_MS) >> At(DAY_MS + RETENTION_MS - 1)
    assert book >> SweepDue() << Is(EMPTY)
    commit(group, payments=DAY_MS + RETENTION_MS - 1)
    assert book >> At(DAY_MS + RETENTION_MS) >> SweepDue() << Ended()


def test_an_empty_group_that_does_not_know_since_when(ana: Actor) -> None:
    """Loaded from a record too old to say: the commits count."""
    group = new_group()
    make_stable(group, ana)
    perform(group, 0, ana.leaves()())
    group.state_timestamp_ms = None
    commit(group, orders=DAY_MS)
    assert Playbook(group) >> At(RETENTION_MS) >> SweepDue() << Is(EMPTY)
    assert Playbook(group) >> At(RETENTION_MS + DAY_MS) >> SweepDue() << Ended()


def test_a_stable_group_loses_what_it_does_not_read(ana: Actor) -> None:
    """Ana reads orders; offsets of payments expire by their commits, those of orders never."""
    group = new_group()
    ana.session_timeout_ms = 1_800_000
    make_stable(group, ana)
    commit(group, orders=0, payments=0)
    assert perform(group, RETENTION_MS, SweepDue()) == []
    assert group.offsets.committed.keys() == {"orders"}
    assert group.state is STABLE


@pytest.mark.parametrize("why", ["preparing", "other type", "unknown topics"])
def test_nothing_expires_under_members_whose_topics_are_not_sure(ana: Actor, why: str) -> None:
    """While they rebalance; of another protocol type; if their subscriptions can't be read."""
    group = new_group()
    if why == "other type":
        ana.fields["protocol_type"] = "connect"
    if why == "unknown topics":
        ana.protocols = protocols("range", metadata=b"?")
    make_stable(group, ana)
    commit(group, payments=0)
    if why == "preparing":
        bo = Actor("bo", version=3)
        perform(group, 0, bo.joins()())
        assert group.state is PREPARING
    assert perform(group, 2 * RETENTION_MS, SweepDue()) == []
    assert group.offsets.committed.keys() == {"payments"}


def test_an_own_expiry_counts_under_the_same_conditions(ana: Actor) -> None:
    """Not in a group that reads the topic, nor while it rebalances."""
    group = new_group()
    make_stable(group, ana)
    for topic in ("orders", "payments"):
        group.offsets.keep(topic, 0, CommittedOffset(1, -1, "", 0, expire_timestamp_ms=5))
    perform(group, 4, SweepDue())
    assert group.offsets.committed.keys() == {"orders", "payments"}
    perform(group, 5, SweepDue())
    assert group.offsets.committed.keys() == {"orders"}


def test_a_sweep_that_cannot_be_written_tries_again() -> None:
    """Nothing is gone until it is gone in the log."""
    group = new_group(is_unwritten=False)
    commit(group, orders=0)
    assert (
        Playbook(group, writes=True)
        >> At(RETENTION_MS)
        >> SweepDue()
        << TombstonesAppended()
        >> NotWritten(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        << Is(EMPTY)
        >> SweepDue()
        << TombstonesAppended()
        >> Written()
        << Ended()
    )


def test_a_group_with_members_is_never_swept_away(ana: Actor) -> None:
    """Though it has no offsets at all."""
    group = new_group()
    make_stable(group, ana)
    assert Playbook(group, writes=True) >> SweepDue() << Is(STABLE)


def test_a_sweep_waits_for_commits_on_their_way() -> None:
    """An Empty group whose first offset is being written is not bare."""
    simple = Actor("simple")
    group = new_group()
    assert (
        Playbook(group, writes=True)
        >> simple.commits({("orders", 0): 1})
        << CommitAppended()
        >> SweepDue()
        << Is(EMPTY)
        >> Written()
        << simple.committed()
    )


# ── Deleted topics ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("committed_id", "is_deleted"),
    [(bytes(16), True), (TOPIC_ID, True), (b"2" * 16, False)],
    ids=["by name", "this topic", "another topic of that name"],
)
def test_offsets_go_with_their_topic(committed_id: bytes, is_deleted: bool) -> None:
    """If it is the topic they were committed for, as far as that is known."""
    group = new_group(is_unwritten=False)
    for topic in ("orders", "payments"):
        group.offsets.keep(topic, 0, CommittedOffset(1, -1, "", 0, topic_id=committed_id))
    book = Playbook(group)
    assert book >> TopicsChanged(deleted={"orders": TOPIC_ID, "unheard of": TOPIC_ID}) << Is(EMPTY)
    assert ("orders" not in group.offsets.committed) == is_deleted
    assert "payments" in group.offsets.committed
    assert book.log == ([offset_tombstone("group", "orders", 0)] if is_deleted else [])


def test_offsets_go_with_their_topic_under_members_too(ana: Actor) -> None:
    """Whether they read it or not."""
    group = new_group()
    make_stable(group, ana)
    commit(group, orders=0)
    assert Playbook(group) >> TopicsChanged(deleted={"orders": TOPIC_ID}) << Is(STABLE)
    assert group.offsets.committed == {}


# ── On request ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_offsets_are_deleted_topic_by_topic(ana: Actor) -> None:
    """What the group reads is refused; what was never committed is no error."""
    group = new_group()
    make_stable(group, ana)
    commit(group, orders=0, payments=0)
    errors = {"orders": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, "payments": ErrorCode.NONE, "unknown": ErrorCode.NONE}
    book = Playbook(group)
    assert book >> deletes("orders", "payments", "unknown") << Deleted(**errors)
    assert group.offsets.committed.keys() == {"orders"}
    assert book.log == [offset_tombstone("group", "payments", 0)]


def test_nothing_can_be_deleted_while_the_topics_are_unknown(ana: Actor) -> None:
    """In the first rebalance of consumers, and if their subscriptions can't be read."""
    group = new_group()
    ana.version = 3
    perform(group, 0, ana.joins()())
    refused = Deleted(payments=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
    assert Playbook(group) >> deletes("payments") << refused << Is(PREPARING)
    group = new_group()
    ana.member_id, ana.protocols = "", protocols("range", metadata=b"?")
    make_stable(group, ana)
    assert Playbook(group) >> deletes("payments") << refused << Is(STABLE)


def test_an_offset_delete_that_cannot_be_written(ana: Actor) -> None:
    """The whole request is refused, and nothing is deleted."""
    group = new_group(is_unwritten=False)
    commit(group, payments=0)
    assert (
        Playbook(group, writes=True)
        >> deletes("payments")
        << TombstonesAppended()
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << Answer(DELETED, {"error_code": ErrorCode.COORDINATOR_NOT_AVAILABLE, "topics": []})
    )
    assert group.offsets.committed.keys() == {"payments"}


def test_a_group_is_deleted_with_its_offsets(ana: Actor) -> None:
    """Tombstones for all of them, and then its own; the answer waits for that."""
    group = new_group()
    make_stable(group, ana)
    commit(group, orders=0, payments=0)
    perform(group, 0, ana.leaves()())
    book = Playbook(group, writes=True)
    assert (
        book
        >> DeleteRequested(DELETED)
        << TombstonesAppended()
        >> Written()
        << Answer(DELETED, {"group_id": "group", "error_code": 0})
        << Ended()
    )
    assert book.log == [
        offset_tombstone("group", "orders", 0),
        offset_tombstone("group", "payments", 0),
        group_tombstone("group"),
    ]


def test_a_group_that_cannot_be_deleted_stays(ana: Actor) -> None:
    """Because of its members, or of the log."""
    group = new_group()
    make_stable(group, ana)
    refused = Answer(DELETED, {"error_code": ErrorCode.NON_EMPTY_GROUP, "group_id": "group"})
    assert Playbook(group) >> DeleteRequested(DELETED) << refused << Is(STABLE)
    perform(group, 0, ana.leaves()())
    assert (
        Playbook(group, writes=True)
        >> DeleteRequested(DELETED)
        << TombstonesAppended()
        >> NotWritten(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        << Answer(DELETED, {"error_code": ErrorCode.NOT_COORDINATOR, "group_id": "group"})
        << Is(EMPTY)
    )


def test_whoever_joins_while_the_group_is_deleted_asks_again(ana: Actor) -> None:
    """Its JoinGroup came after the decision; it is answered with an error that makes it come back."""
    group = new_group(is_unwritten=False)
    ana.version = 3
    assert (
        Playbook(group, writes=True)
        >> DeleteRequested(DELETED)
        << TombstonesAppended()
        >> ana.joins()
        << Is(PREPARING)
        >> Written()
        << Answer(DELETED, {"error_code": 0})
        << ana.is_refused("join", ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id="ana-1")
        << Ended()
    )


# ── Load and unload ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_unloading_tells_everybody_who_waits(ana: Actor, bo: Actor) -> None:
    """In Preparing those who join; nobody else waits."""
    group = new_group()
    make_stable(group, ana, bo)
    unloaded = ana.is_refused("join", ErrorCode.NOT_COORDINATOR, member_id=ana.member_id)
    assert Playbook(group) >> ana.joins() << Is(PREPARING) >> Unloaded() << unloaded << Ended()
    assert Playbook(new_group(is_unwritten=False)) >> Unloaded() << Ended() << Is(GroupState.DEAD)


def test_unloading_tells_fetches_that_wait() -> None:
    """Of stable offsets, for commits on their way."""
    simple = Actor("simple")
    group = new_group()

    assert (
        Playbook(group, writes=True)
        >> simple.commits({("orders", 0): 1})
        << CommitAppended()
        >> fetches(("orders", 0), require_stable=True)
        >> Unloaded()
        << Answer(Name("fetch"), {"error_code": ErrorCode.NOT_COORDINATOR})
        << Ended()
        >> Written()
        << simple.committed()
    )


def test_loading_begins_all_sessions(ana: Actor, bo: Actor) -> None:
    """Each with its own session timeout; a group within its limits stays Stable."""
    group = new_group()
    bo.session_timeout_ms = 30_000
    make_stable(group, ana, bo)
    for member in group.members.values():
        member.deadline_ms = None
    book = Playbook(group, now_ms=1_000)
    assert book >> Loaded() << Is(STABLE)
    assert book.timers == {"heartbeat-ana-1": 11_000, "heartbeat-bo-2": 31_000}


def test_loading_a_group_that_is_too_large_rebalances(ana: Actor, bo: Actor, cy: Actor) -> None:
    """The limit was lowered meanwhile; nobody is put out before all had a chance to commit."""
    group = new_group(group_max_size=2)
    group.config = new_group().config
    make_stable(group, ana, bo, cy)
    group.config = new_group(group_max_size=2).config
    assert (
        Playbook(group)
        >> Loaded()
        << Is(PREPARING)
        >> cy.commits({("orders", 0): 1})
        << cy.committed()
        >> ana.joins()
        >> bo.joins()
        >> cy.joins()
        << cy.is_refused("join", ErrorCode.GROUP_MAX_SIZE_REACHED)
    )
    assert len(group.members) == 2
