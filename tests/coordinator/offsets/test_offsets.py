"""OffsetCommit and OffsetFetch: what is committed, when it counts, and what is found."""

from __future__ import annotations

import pytest

from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.offsets import records
from ottla.coordinator.offsets.commit import OffsetsWritten
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.events import OffsetCommitRequested, OffsetFetchRequested, SweepDue
from ottla.coordinator.offsets.records import offset_record, read_place
from ottla.coordinator.runtime.effects import Append, Effect, Ended, Reply
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.primitives import ZERO_UUID
from ottla.testing.playbook import At, Is, NotWritten, Playbook, Written
from tests.coordinator.actors import Actor, Answer, Fetched, Name, fetches, make_stable, new_group, perform

EMPTY = GroupState.EMPTY
STABLE = GroupState.STABLE
ORDERS_0 = ("orders", 0)
FIRST_ID = b"1" * 16
SECOND_ID = b"2" * 16


class OffsetsAppended:
    """Expected: committed offsets."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, OffsetsWritten)


@pytest.fixture
def simple() -> Actor:
    """A consumer that is in no group, or an admin: without member id and generation."""
    return Actor("simple")


# ── Commits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_counts_once_it_is_written(ana: Actor) -> None:
    """Neither the answer nor a fetch sees it before."""
    group = new_group()
    make_stable(group, ana)
    book = Playbook(group, writes=True)
    assert (
        book
        >> ana.commits({ORDERS_0: 5}, leader_epoch=3, metadata="md", topic_id=FIRST_ID)
        << OffsetsAppended()
        >> fetches(ORDERS_0)
        << Fetched({ORDERS_0: -1})
        >> Written()
        << ana.committed()
        >> fetches(ORDERS_0)
        << Fetched({ORDERS_0: 5})
    )
    committed = CommittedOffset(5, 3, "md", 0, -1, FIRST_ID)
    assert book.log == [offset_record("group", "orders", 0, committed)]
    assert group.offsets.committed == {"orders": {0: committed}}


def test_a_commit_that_cannot_be_written_changes_nothing(ana: Actor) -> None:
    """Every partition is answered with the error, also one that would have been refused by itself."""
    group = new_group(offset_metadata_max_bytes=2)
    make_stable(group, ana)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    request = OffsetCommitRequest(
        "group", 1, ana.member_id, topics=[topic("orders", partitions=[partition(0, 5), partition(1, 5, -1, "long")])]
    )
    assert (
        Playbook(group, writes=True)
        >> OffsetCommitRequested(Name("ana commit"), request, 9)
        << OffsetsAppended()
        >> NotWritten(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        << ana.committed(ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR)
    )
    assert group.offsets.committed == {}


def test_a_commit_that_the_log_has_no_room_for(ana: Actor) -> None:
    """It is refused as if it had been tried, and nobody tries."""
    group = new_group()
    make_stable(group, ana)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partitions = [OffsetCommitRequest.OffsetCommitRequestPartition(0, 5)]
    request = OffsetCommitRequest("group", 1, ana.member_id, topics=[topic("orders", partitions=partitions)])
    assert (
        Playbook(group, writes=True)
        >> OffsetCommitRequested(Name("ana commit"), request, 9, is_too_large=True)
        << ana.committed(ErrorCode.UNKNOWN_SERVER_ERROR)
    )
    assert not group.offsets.writes


def test_one_batch_for_all_partitions(ana: Actor) -> None:
    """All of a request or nothing."""
    group = new_group()
    make_stable(group, ana)
    book = Playbook(group, writes=True)
    assert (
        book
        >> ana.commits({("orders", 0): 1, ("orders", 1): 2, ("payments", 0): 3})
        << OffsetsAppended()
        >> Written()
        << ana.committed()
    )
    assert len(book.log) == 3


@pytest.mark.parametrize(
    ("metadata", "fits"),
    [("", True), (None, True), ("four", True), ("fives", False), ("éééé", True), ("😀😀", True), ("😀😀😀", False)],
    ids=["empty", "null", "4 characters", "5", "4 of 8 bytes", "4 UTF-16 units", "6 UTF-16 units"],
)
def test_metadata_is_counted_in_utf_16(simple: Actor, metadata: str | None, fits: bool) -> None:
    """The setting says bytes, and Kafka counts a Java string's length."""
    group = new_group(offset_metadata_max_bytes=4)
    error = ErrorCode.NONE if fits else ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert Playbook(group) >> simple.commits({ORDERS_0: 1}, metadata=metadata) << simple.committed(error)
    assert (group.offsets.committed["orders"][0].metadata == (metadata or "")) if fits else not group.offsets.committed


def test_metadata_no_record_can_hold_is_too_large(simple: Actor) -> None:
    """However high the limit is set."""
    group = new_group(offset_metadata_max_bytes=100_000)
    too_large = simple.committed(ErrorCode.OFFSET_METADATA_TOO_LARGE)
    assert Playbook(group) >> simple.commits({ORDERS_0: 1}, metadata="é" * 20_000) << too_large


def test_commits_in_an_own_retention_expire_by_themselves(simple: Actor) -> None:
    """OffsetCommit v2–v4: the offset lives for retention_time_ms, written in a form without epoch and topic id."""
    group = new_group()
    book = Playbook(group, now_ms=1_000)
    line = simple.commits({ORDERS_0: 5}, version=4, leader_epoch=3, topic_id=FIRST_ID, retention_time_ms=2_000)
    assert book >> line << simple.committed()
    committed = CommittedOffset(5, -1, "", 1_000, 3_000)
    assert group.offsets.committed == {"orders": {0: committed}}
    assert book.log == [offset_record("group", "orders", 0, committed)]
    assert book >> At(2_999) >> SweepDue() >> fetches(ORDERS_0) << Fetched({ORDERS_0: 5})
    assert book >> At(3_000) >> SweepDue() << Ended()


def test_an_endless_retention_wraps_as_in_java(simple: Actor) -> None:
    """now + retention_time_ms beyond an int64 is long past."""
    group = new_group()
    line = simple.commits({ORDERS_0: 5}, version=4, retention_time_ms=2**63 - 1)
    assert Playbook(group, now_ms=10) >> line << simple.committed()
    assert group.offsets.committed["orders"][0].expire_timestamp_ms == -(2**63) + 9
    assert Playbook(group, now_ms=10) >> SweepDue() << Ended()


@pytest.mark.parametrize("offset", [0, -1, -(2**63), 2**63 - 1])
def test_any_offset_is_taken_as_it_is(simple: Actor, offset: int) -> None:
    """Kafka does not ask whether the topic has it."""
    group = new_group()
    assert Playbook(group) >> simple.commits({ORDERS_0: offset}) << simple.committed()
    assert Playbook(group) >> fetches(ORDERS_0) << Fetched({ORDERS_0: offset})


def test_a_commit_without_generation_makes_a_simple_group(simple: Actor) -> None:
    """It has no protocol type; no record but the offsets' says that it is there."""
    group = new_group()
    book = Playbook(group)
    assert book >> simple.commits({ORDERS_0: 5}) << simple.committed() << Is(EMPTY)
    assert group.protocol_type is None
    assert len(book.log) == 1


def test_a_simple_group_that_cannot_be_written_never_was(simple: Actor) -> None:
    """The answer says why."""
    assert (
        Playbook(new_group(), writes=True)
        >> simple.commits({ORDERS_0: 5})
        << OffsetsAppended()
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << simple.committed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        << Ended()
    )


def test_commits_that_come_while_a_simple_group_is_written(simple: Actor) -> None:
    """If the first can't be written there is no group, but all are answered."""
    assert (
        Playbook(new_group(), writes=True)
        >> simple.commits({ORDERS_0: 5})
        << OffsetsAppended()
        >> simple.commits({ORDERS_0: 6}, token="second")
        << OffsetsAppended()
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << simple.committed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        << Ended()
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << Answer(Name("second"), {"throttle_time_ms": 0})
        << Is(GroupState.DEAD)
    )


@pytest.mark.parametrize("instance", ["nobody's", "bo's"])
def test_static_members_are_checked(ana: Actor, instance: str) -> None:
    """An unknown instance is unknown, another member's is fenced."""
    group = new_group()
    make_stable(group, ana, Actor("bo", group_instance_id="bo's"))
    error = ErrorCode.FENCED_INSTANCE_ID if instance == "bo's" else ErrorCode.UNKNOWN_MEMBER_ID
    assert Playbook(group) >> ana.commits({ORDERS_0: 1}, group_instance_id=instance) << ana.committed(error)


# ── Fetches ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("committed_id", "asked_id", "offset"),
    [
        (FIRST_ID, FIRST_ID, 5),
        (FIRST_ID, SECOND_ID, -1),
        (FIRST_ID, ZERO_UUID, 5),
        (ZERO_UUID, SECOND_ID, 5),
        (ZERO_UUID, ZERO_UUID, 5),
    ],
    ids=["same", "recreated", "asked by name", "committed by name", "both by name"],
)
def test_topic_ids(simple: Actor, committed_id: bytes, asked_id: bytes, offset: int) -> None:
    """What was committed for another topic of that name is not found."""
    group = new_group()
    assert Playbook(group) >> simple.commits({ORDERS_0: 5}, topic_id=committed_id) << simple.committed()
    assert Playbook(group) >> fetches(ORDERS_0, topic_id=asked_id) << Fetched({ORDERS_0: offset})


def test_stable_offsets_wait_for_what_is_on_its_way(simple: Actor) -> None:
    """For all of it; a fetch of any offsets sees what is there now."""
    group = new_group()
    stable = fetches(ORDERS_0, require_stable=True, token="stable")
    assert (
        Playbook(group, writes=True)
        >> simple.commits({ORDERS_0: 5})
        << OffsetsAppended()
        >> stable
        >> fetches(ORDERS_0)
        << Fetched({ORDERS_0: -1})
        >> simple.commits({ORDERS_0: 6}, token="second")
        << OffsetsAppended()
        >> Written()
        << simple.committed()
        >> fetches(ORDERS_0)
        << Fetched({ORDERS_0: 5})
        >> Written()
        << Answer(Name("second"), {"throttle_time_ms": 0})
        << Fetched({ORDERS_0: 6}, "stable")
        >> stable
        << Fetched({ORDERS_0: 6}, "stable")
    )


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_stable_offsets_fail_with_what_they_wait_for(ana: Actor, failure: ErrorCode, answer: ErrorCode) -> None:
    """Older clients don't know COORDINATOR_NOT_AVAILABLE here, so they are told to look for another coordinator."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group, writes=True)
        >> ana.commits({ORDERS_0: 5})
        << OffsetsAppended()
        >> fetches(ORDERS_0, require_stable=True)
        >> NotWritten(failure)
        << Answer(Name("ana commit"), {"throttle_time_ms": 0})
        << Answer(Name("fetch"), {"error_code": answer, "topics": []})
    )


def test_a_fetch_needs_no_membership(ana: Actor) -> None:
    """Whoever asks, in whatever state the group is."""
    group = new_group()
    make_stable(group, ana)
    request = OffsetFetchRequest.OffsetFetchRequestGroup("group", "made up", 99, None)
    event = OffsetFetchRequested(Name("fetch"), request, 10)
    assert isinstance(perform(group, 0, event)[0], Reply)
    assert group.state is STABLE


def test_a_group_made_by_a_refused_commit_is_made_once(simple: Actor, ana: Actor) -> None:
    """Its metadata was too long, so nothing was written; a join that follows finds the group there, as in Kafka."""
    group = new_group(offset_metadata_max_bytes=1)
    assert (
        Playbook(group, writes=True)
        >> simple.commits({ORDERS_0: 1}, metadata="long")
        << simple.committed(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        << Is(EMPTY)
        >> ana.joins()
        << ana.is_given_id()
    )


def test_long_group_ids_are_not_remembered() -> None:
    """A client may have any number of them, of 32 KiB each; their records are as those of others."""
    offset, remembered = CommittedOffset(1, -1, "", 0), records._remembered_beginning.cache_info
    before = remembered().currsize
    for number in range(20):
        group_id = f"{number}".ljust(1_000, "x")
        key, _ = offset_record(group_id, "orders", 0, offset)
        assert read_place(key) == (group_id, "orders", 0)
    assert remembered().currsize == before
