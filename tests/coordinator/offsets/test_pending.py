"""Offsets of transactions that are still open: what counts when they end, and what they hold back until then."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.records import group_record
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.events import DeleteRequested, OffsetDeleteRequested, SweepDue
from ottla.coordinator.offsets.records import offset_record, offset_tombstone
from ottla.coordinator.runtime.effects import Ended
from ottla.coordinator.runtime.events import Loaded, TopicsChanged
from ottla.coordinator.runtime.records import Record
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.testing.playbook import Playbook
from tests.coordinator.actors import Actor, Answer, Fetched, Name, classic, fetches, make_stable, new_group, perform

ORDERS_0 = ("orders", 0)
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
TOPIC_ID = b"o" * 16


def offset(value: int, topic: str = "orders", group_id: str = "group", topic_id: bytes = TOPIC_ID) -> Record:
    return offset_record(group_id, topic, 0, CommittedOffset(value, -1, "", 0, topic_id=topic_id))


def new_shard() -> GroupShard:
    return GroupShard(0, GroupConfig(), 0)


def group_with_pending(value: int = 5, **of: Any) -> Group:
    """A group that is loaded while producer 1's transaction, which has committed this, is open."""
    shard = new_shard()
    shard.replay(*offset(value, **of), producer_id=1)
    return classic(shard.machines["group"])


def errors(group: Group, *partitions: tuple[str, int], require_stable: bool = True) -> dict[tuple[str, int], Any]:
    """What a fetch finds: an offset, or an error."""
    (reply,) = perform(group, 0, fetches(*partitions, require_stable=require_stable))
    response: Any = reply.response
    assert response.error_code == ErrorCode.NONE
    return {
        (topic.name, p.partition_index): p.error_code or p.committed_offset
        for topic in response.topics
        for p in topic.partitions
    }


def test_stable_offsets_are_held_back() -> None:
    """Only where the transaction has committed; a fetch that does not ask for stable ones sees what counts."""
    shard = new_shard()
    shard.replay_all([offset(3), offset(4, "payments")])
    for topic in ("orders", "refunds"):
        shard.replay(*offset(5, topic), producer_id=1)
    group = classic(shard.machines["group"])
    asked = (ORDERS_0, ("payments", 0), ("refunds", 0), ("others", 0))
    stable = {ORDERS_0: UNSTABLE, ("payments", 0): 4, ("refunds", 0): UNSTABLE, ("others", 0): -1}
    counting = {ORDERS_0: 3, ("payments", 0): 4, ("refunds", 0): -1, ("others", 0): -1}
    assert errors(group, *asked) == stable
    assert errors(group, *asked, require_stable=False) == counting


def test_of_all_topics_those_that_count_are_listed() -> None:
    """A partition that has pending offsets only is not there, to Kafka; one that has both is held back."""
    shard = new_shard()
    shard.replay_all([offset(3)])
    for topic in ("orders", "payments"):
        shard.replay(*offset(5, topic), producer_id=1)
    assert errors(classic(shard.machines["group"])) == {ORDERS_0: UNSTABLE}
    assert errors(classic(shard.machines["group"]), require_stable=False) == {ORDERS_0: 3}


@pytest.mark.parametrize(("is_commit", "found"), [(True, 5), (False, 3)])
def test_the_marker_decides(is_commit: bool, found: int) -> None:
    """What was committed counts then, or never, and nothing is held back any more: in every group it touched."""
    shard = new_shard()
    for group_id in ("group", "other"):
        shard.replay_all([offset(3, group_id=group_id)])
        shard.replay(*offset(5, group_id=group_id), producer_id=1)
    shard.end_transaction(1, is_commit=is_commit)
    assert [errors(classic(group), ORDERS_0) for group in shard.machines.values()] == [{ORDERS_0: found}] * 2


def test_a_transaction_that_ended_twice_ended_once() -> None:
    """A marker for a producer that has nothing pending means nothing."""
    shard = new_shard()
    shard.replay(*offset(5), producer_id=1)
    shard.end_transaction(1, is_commit=True)
    shard.replay_all([offset(6)])
    shard.end_transaction(1, is_commit=True)
    shard.end_transaction(2, is_commit=True)
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: 6}


def test_a_later_commit_without_transaction_stays() -> None:
    """It counts at once; that the transaction is open holds back stable offsets nevertheless, as in Kafka."""
    shard = new_shard()
    shard.replay(*offset(5), producer_id=1)
    shard.replay_all([offset(7)])
    group = classic(shard.machines["group"])
    assert errors(group, ORDERS_0, require_stable=False) == {ORDERS_0: 7}
    assert errors(group, ORDERS_0) == {ORDERS_0: UNSTABLE}
    shard.end_transaction(1, is_commit=True)
    assert errors(group, ORDERS_0) == {ORDERS_0: 7}


@pytest.mark.parametrize(
    ("ended", "found"),
    [([1, 2], 6), ([2, 1], 6), ([1], UNSTABLE), ([2], UNSTABLE)],
)
def test_the_later_of_two_transactions_counts(ended: list[int], found: int) -> None:
    """By their places in the log, whichever ends first; as long as one is open, stable offsets are held back."""
    shard = new_shard()
    shard.replay(*offset(5), producer_id=1)
    shard.replay(*offset(6), producer_id=2)
    for producer_id in ended:
        shard.end_transaction(producer_id, is_commit=True)
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: found}


def test_a_producer_that_commits_twice_is_as_late_as_its_last() -> None:
    """Though it was first, too."""
    shard = new_shard()
    for producer_id, value in ((1, 5), (2, 6), (1, 7)):
        shard.replay(*offset(value), producer_id=producer_id)
    for producer_id in (1, 2):
        shard.end_transaction(producer_id, is_commit=True)
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: 7}


def test_a_tombstone_takes_what_is_pending() -> None:
    """Nothing is held back any more, and nothing comes of the transaction."""
    shard = new_shard()
    shard.replay(*offset(5), producer_id=1)
    shard.replay_all([offset_tombstone("group", "orders", 0)])
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: -1}
    shard.end_transaction(1, is_commit=True)
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: -1}


def test_a_groups_record_leaves_its_pending_offsets(ana: Actor) -> None:
    """The group is another one in memory then, and keeps what the former had."""
    make_stable(stable := new_group(), ana)
    shard = new_shard()
    shard.replay(*offset(5), producer_id=1)
    shard.replay_all([group_record(stable)])
    perform(classic(shard.machines["group"]), 0, Loaded())
    assert classic(shard.machines["group"]).members.keys() == {ana.member_id}
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: UNSTABLE}
    shard.end_transaction(1, is_commit=True)
    assert errors(classic(shard.machines["group"]), ORDERS_0) == {ORDERS_0: 5}


# ── How they go ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_sweep_leaves_them_alone() -> None:
    """Neither they nor what counts there expire, nor does the group go, however old all is."""
    shard = new_shard()
    shard.replay_all([offset(3)])
    shard.replay(*offset(5), producer_id=1)
    book = Playbook(group := classic(shard.machines["group"]), now_ms=10**12)
    assert book >> SweepDue()
    assert (book.log, book.is_ended) == ([], False)
    shard.end_transaction(1, is_commit=False)
    assert book >> SweepDue() << Ended()
    assert book.log[0] == offset_tombstone("group", "orders", 0)
    assert not group.offsets.places


def test_a_group_that_has_nothing_else_stays() -> None:
    """What counts elsewhere expires; the group is there for what is pending."""
    shard = new_shard()
    shard.replay_all([offset(4, "payments")])
    shard.replay(*offset(5), producer_id=1)
    book = Playbook(classic(shard.machines["group"]), now_ms=10**12)
    for _ in range(2):
        assert book >> SweepDue()
        assert (book.log, book.is_ended) == ([offset_tombstone("group", "payments", 0)], False)


@pytest.mark.parametrize(
    ("topic_id", "is_deleted"), [(TOPIC_ID, True), (b"\0" * 16, True), (b"another topic id", False)]
)
def test_topics_that_are_deleted_take_them(topic_id: bytes, is_deleted: bool) -> None:
    """If it was that topic, or it is not known which."""
    book = Playbook(group := group_with_pending(topic_id=topic_id))
    assert book >> TopicsChanged(deleted={"orders": TOPIC_ID, "payments": b"p" * 16})
    assert book.log == ([offset_tombstone("group", "orders", 0)] if is_deleted else [])
    assert group.offsets.is_pending("orders", 0) is not is_deleted


def test_offset_delete_takes_them() -> None:
    """Also where nothing counts yet."""
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(0)
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic("orders", [partition])
    book = Playbook(group := group_with_pending())
    event = OffsetDeleteRequested(Name("delete"), OffsetDeleteRequest("group", [topic]))
    assert book >> event << Answer(Name("delete"), {"error_code": ErrorCode.NONE})
    assert book.log == [offset_tombstone("group", "orders", 0)]
    assert book >> fetches(ORDERS_0, require_stable=True) << Fetched({ORDERS_0: -1})
    assert not group.offsets.places


def test_deleting_the_group_takes_them() -> None:
    """One tombstone for each partition, whether something counts there, is pending, or both."""
    shard = new_shard()
    shard.replay_all([offset(3)])
    for topic in ("orders", "payments"):
        shard.replay(*offset(5, topic), producer_id=1)
    book = Playbook(classic(shard.machines["group"]))
    answered = Answer(Name("delete"), {"error_code": ErrorCode.NONE})
    assert book >> DeleteRequested(Name("delete")) << answered << Ended()
    assert book.log[:-1] == [offset_tombstone("group", topic, 0) for topic in ("orders", "payments")]
