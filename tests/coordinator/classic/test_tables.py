"""Every cell of every table: what is answered in each state to each situation, written down here once more.

The numbers are Kafka's error codes. A group is brought into the state, the request is made so that it is in that
situation, and the answer is compared; "-" is a cell nobody can get to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.coordinator.classic.decisions import EXPIRY, HEARTBEAT, JOIN, LEAVE, OFFSET_COMMIT, SYNC, TXN_OFFSET_COMMIT
from ottla.coordinator.classic.situations import (
    CommitSituation,
    ExpirySituation,
    GroupKind,
    JoinSituation,
    LeaveSituation,
    MemberSituation,
    SyncSituation,
    situate,
    situate_commit,
    situate_expiry,
    situate_join,
    situate_leave,
    situate_sync,
)
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.groups.tables import document
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.events import DeleteRequested, OffsetDeleteRequested, TransactionEnded
from ottla.coordinator.offsets.expiry import Expiry
from ottla.coordinator.runtime.effects import Arm
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from tests.coordinator.actors import Name
from tests.coordinator.stage import Stage, grid

# ── Transitions ───────────────────────────────────────────────────────────────────────────────────────────────────────

ALLOWED = {
    ("EMPTY", "PREPARING_REBALANCE"),
    ("PREPARING_REBALANCE", "COMPLETING_REBALANCE"),
    ("PREPARING_REBALANCE", "EMPTY"),
    ("COMPLETING_REBALANCE", "STABLE"),
    ("COMPLETING_REBALANCE", "PREPARING_REBALANCE"),
    ("STABLE", "PREPARING_REBALANCE"),
    *((state.name, "DEAD") for state in GroupState),
}


@pytest.mark.parametrize("target", GroupState)
@pytest.mark.parametrize("state", GroupState)
def test_transitions(state: GroupState, target: GroupState) -> None:
    """A group moves where Kafka's does; any other move is a mistake of ours, and nothing happens."""
    group = Stage(GroupState.EMPTY).group
    group.state = state
    if (state.name, target.name) in ALLOWED:
        group.move(target, 77)
        assert (group.state, group.state_timestamp_ms) == (target, 77)
    else:
        with pytest.raises(AssertionError):
            group.move(target, 77)
        assert group.state is state


def test_a_rebalance_can_begin_where_preparing_can_be_reached() -> None:
    """In Empty, Completing and Stable; in Preparing it has begun, in Dead it never will."""
    can = {state for state in GroupState if Stage(state).group.can_rebalance}
    assert can == {GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}


# ── Heartbeat ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        MemberSituation,
        """
                          EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        UNKNOWN_INSTANCE  25     25         25                    25      15
        FENCED_INSTANCE   -      82         82                    82      15
        UNKNOWN_MEMBER    25     25         25                    25      15
        OTHER_GENERATION  -      22         22                    22      15
        CURRENT           -      27!        0!                    0!      15
        """,
    ),
)
def test_heartbeat(state: GroupState, situation: MemberSituation, expected: str) -> None:
    """ "!" moves the session's deadline; nothing else does."""
    stage = Stage(state)
    event: Any = stage.beat(situation)()
    if expected == "-":
        assert HEARTBEAT[state][situation].error is not ErrorCode.NONE
        return
    if state is not GroupState.DEAD:
        request = event.request
        assert situate(stage.group, request.member_id, request.group_instance_id, request.generation_id) is situation
    *timers, reply = stage.play(event)
    assert reply.response.error_code == int(expected.rstrip("!"))  # type: ignore[union-attr]
    assert timers == ([Arm("heartbeat-bo-2", stage.now_ms + 10_000)] if expected.endswith("!") else [])


# ── JoinGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        JoinSituation,
        """
                                 EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        GROUP_FULL               -      81         81                    81      15
        OTHER_PROTOCOLS          23     23         23                    23      15
        NEW_MEMBER               79     79         79                    79      15
        NEW_MEMBER_BEFORE_V4     park   park       park                  park    15
        NEW_STATIC_MEMBER        park   park       park                  park    15
        RETURNING_STATIC_MEMBER  -      park       park                  0       -
        PENDING_MEMBER           park   park       park                  park    -
        PENDING_STATIC_MEMBER    -1     -1         -1                    -1      -
        UNKNOWN_INSTANCE         25     25         25                    25      15
        FENCED_INSTANCE          -      82         82                    82      -
        UNKNOWN_MEMBER           25     25         25                    25      15
        LEADER_UNCHANGED         -      park       0                     park    -
        LEADER_CHANGED           -      park       park                  park    -
        FOLLOWER_UNCHANGED       -      park       0                     0       -
        FOLLOWER_CHANGED         -      park       park                  park    -
        """,
    ),
)
def test_join(state: GroupState, situation: JoinSituation, expected: str) -> None:
    """Parked, answered at once, or refused; whoever is refused keeps the id it came with, unless there is no room."""
    stage = Stage(state)
    event: Any = stage.join(situation)()
    if expected == "-":
        assert isinstance(JOIN[state][situation], ErrorCode)
        return
    if state is not GroupState.DEAD:
        assert situate_join(stage.group, event) is situation
    response = stage.answer(event)
    if expected == "park":
        assert response is None
        assert stage.group.state is GroupState.PREPARING_REBALANCE
        assert any(member.parked_join is event for member in stage.group.members.values())
    else:
        assert response.error_code == int(expected)
        if situation in {JoinSituation.GROUP_FULL, JoinSituation.PENDING_STATIC_MEMBER}:
            assert response.member_id == ""
        elif int(expected) not in {0, 79}:
            assert response.member_id == event.request.member_id
            assert response.protocol_type is None
            assert response.protocol_name == ("" if event.api_version < 7 else None)
            assert (response.generation_id, response.leader, response.members) == (-1, "", [])


# ── SyncGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        SyncSituation,
        """
                          EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        UNKNOWN_INSTANCE  25     25         25                    25      15
        FENCED_INSTANCE   25     82         82                    82      15
        UNKNOWN_MEMBER    25     25         25                    25      15
        OTHER_GENERATION  25     22         22                    22      15
        OTHER_PROTOCOL    25     23         23                    23      15
        LEADER            25     27         0                     0       15
        FOLLOWER          25     27         park                  0       15
        """,
    ),
)
def test_sync(state: GroupState, situation: SyncSituation, expected: str) -> None:
    """The leader's answer leaves once its assignment is written; a follower's with it, or at once in Stable."""
    stage = Stage(state)
    event: Any = stage.sync(situation)()
    if state not in {GroupState.EMPTY, GroupState.DEAD}:
        assert situate_sync(stage.group, event) is situation
    response = stage.answer(event)
    if expected == "park":
        assert response is None
        assert stage.group.members[stage.bo.member_id].parked_sync is event
    else:
        assert response.error_code == int(expected)
        if response.error_code:
            assert (response.assignment, response.protocol_type, response.protocol_name) == (b"", None, None)


# ── LeaveGroup ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        LeaveSituation,
        """
                          EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        INSTANCE          -      0          0                     0       15
        UNNAMED           25     25         25                    25      15
        PENDING_MEMBER    0      0          0                     0       15
        UNKNOWN_INSTANCE  25     25         25                    25      15
        FENCED_INSTANCE   -      82         82                    82      15
        UNKNOWN_MEMBER    25     25         25                    25      15
        MEMBER            -      0          0                     0       15
        """,
    ),
)
def test_leave(state: GroupState, situation: LeaveSituation, expected: str) -> None:
    """Each member is answered for itself, with the ids it was named by; in Dead the whole request is refused."""
    stage = Stage(state)
    event: Any = stage.leave(situation)()
    if expected == "-":
        assert situate_leave(stage.group, event.request.members[0]) is not situation
        return
    if state is GroupState.DEAD:
        assert stage.answer(event).error_code == int(expected)
        return
    (identity,) = event.request.members
    assert situate_leave(stage.group, identity) is situation
    response = stage.answer(event)
    assert response.error_code == 0
    (member,) = response.members
    assert member.error_code == int(expected)
    assert (member.member_id, member.group_instance_id) == (identity.member_id, identity.group_instance_id)


# ── Offsets ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        CommitSituation,
        """
                            EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        WITHOUT_GENERATION  0      25         25                    25      15
        UNKNOWN_INSTANCE    25     25         25                    25      15
        FENCED_INSTANCE     -      82         82                    82      15
        UNKNOWN_MEMBER      25     25         25                    25      15
        OTHER_GENERATION    -      22         22                    22      15
        CURRENT             -      0!         27                    0!      15
        """,
    ),
)
def test_offset_commit(state: GroupState, situation: CommitSituation, expected: str) -> None:
    """ "!" moves the session's deadline; what is answered 0 is committed, and nothing else is."""
    stage = Stage(state)
    event: Any = stage.commit(situation)()
    if expected == "-":
        assert OFFSET_COMMIT[state][situation].error is not ErrorCode.NONE
        return
    if state is not GroupState.DEAD:
        assert situate_commit(stage.group, event.request) is situation
    effects = stage.play(event)
    response: Any = effects[-1].response  # type: ignore[union-attr]
    assert [p.error_code for t in response.topics for p in t.partitions] == [int(expected.rstrip("!"))]
    assert (Arm("heartbeat-bo-2", stage.now_ms + 10_000) in effects) == expected.endswith("!")
    assert bool(stage.group.offsets.committed) == expected.startswith("0")


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        CommitSituation,
        """
                            EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        WITHOUT_GENERATION  0      0          0                     0       15
        UNKNOWN_INSTANCE    25     25         25                    25      15
        FENCED_INSTANCE     -      82         82                    82      15
        UNKNOWN_MEMBER      25     25         25                    25      15
        OTHER_GENERATION    -      22         22                    22      15
        CURRENT             -      0          0                     0       15
        """,
    ),
)
def test_offset_commit_in_a_transaction(state: GroupState, situation: CommitSituation, expected: str) -> None:
    """No session goes on by it; what is answered 0 waits for the transaction's end, and then counts."""
    stage = Stage(state)
    event: Any = stage.commit_in_transaction(situation)()
    if expected == "-":
        assert TXN_OFFSET_COMMIT[state][situation] is not ErrorCode.NONE
        return
    if state is not GroupState.DEAD:
        assert situate_commit(stage.group, event.request) is situation
    effects = stage.play(event)
    response: Any = effects[-1].response  # type: ignore[union-attr]
    assert [p.error_code for t in response.topics for p in t.partitions] == [int(expected)]
    assert not any(isinstance(effect, Arm) for effect in effects)
    assert stage.group.offsets.is_pending("orders", 0) == (expected == "0")
    assert not stage.group.offsets.committed
    stage.play(TransactionEnded(1, is_commit=True))
    assert bool(stage.group.offsets.committed) == (expected == "0")


@pytest.mark.parametrize("fields", [{"member_id": "made up"}, {"group_instance_id": "nobody's"}], ids=str)
def test_offset_commit_without_generation_but_with_a_name(fields: dict[str, Any]) -> None:
    """In an Empty group a commit without generation is accepted whoever it claims to be; a group of members asks."""
    simple = {"generation_id_or_member_epoch": -1, **fields}
    empty, stable = Stage(GroupState.EMPTY), Stage(GroupState.STABLE)
    accepted = empty.answer(empty.eve.commits({("orders", 0): 1}, **simple)())
    refused = stable.answer(stable.eve.commits({("orders", 0): 1}, **simple)())
    assert accepted.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert refused.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("state", "kind", "expected"),
    grid(
        GroupKind,
        """
                   EMPTY  PREPARING  COMPLETING_REBALANCE  STABLE  DEAD
        CONSUMERS  0      0          0                     0       69
        OTHERS     0      68         68                    68      69
        """,
    ),
)
def test_offset_delete(state: GroupState, kind: GroupKind, expected: str) -> None:
    """Offsets of topics nobody reads can be deleted under a live group if it is one of consumers."""
    stage = Stage(state)
    group = stage.group
    if kind is GroupKind.OTHERS:
        group.protocol_type, group.subscribed_topics = "connect", None
    group.offsets.keep("payments", 0, CommittedOffset(1, -1, "", 0))
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
        "payments", [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
    )
    response = stage.answer(OffsetDeleteRequested(Name("delete"), OffsetDeleteRequest("group", [topic])))
    assert response.error_code == int(expected)
    assert ("payments" in group.offsets.committed) == (expected != "0")


@pytest.mark.parametrize(
    ("state", "expected"),
    list(zip(GroupState, [0, 68, 68, 68, 69], strict=True)),
    ids=[state.value for state in GroupState],
)
def test_delete_group(state: GroupState, expected: int) -> None:
    """Only an Empty group can be deleted; ids that were handed out go with it."""
    stage = Stage(state)
    assert stage.answer(DeleteRequested(Name("delete"))).error_code == expected
    assert (stage.group.state is GroupState.DEAD) == (expected != 68)


@pytest.mark.parametrize(
    ("state", "situation", "expected"),
    grid(
        ExpirySituation,
        """
                   EMPTY         PREPARING     COMPLETING_REBALANCE  STABLE        DEAD
        SIMPLE     SINCE_COMMIT  SINCE_COMMIT  SINCE_COMMIT          SINCE_COMMIT  SINCE_COMMIT
        CONSUMERS  SINCE_EMPTY   NEVER         NEVER                 SINCE_COMMIT  NEVER
        OTHERS     SINCE_EMPTY   NEVER         NEVER                 NEVER         NEVER
        """,
    ),
)
def test_expiry(state: GroupState, situation: ExpirySituation, expected: str) -> None:
    """From when on retention counts."""
    group = Stage(state).group
    if situation is ExpirySituation.SIMPLE:
        group.protocol_type = None
    elif situation is ExpirySituation.OTHERS:
        group.subscribed_topics = None
    elif state is GroupState.DEAD:
        group.subscribed_topics = frozenset()
    elif state is GroupState.PREPARING_REBALANCE:
        assert group.subscribed_topics == frozenset({"orders"})
    assert situate_expiry(group) is situation
    assert EXPIRY[state][situation] is Expiry[expected]


# ── The document ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_document_is_current() -> None:
    """docs/groups.md is what `make docs` prints."""
    page = Path(__file__).parents[3] / "docs" / "groups.md"
    assert page.read_text() == document(), "run `make docs`"


def test_the_document_has_every_cell() -> None:
    """A row for each situation of each table, and nothing else that a table has."""
    page = document()
    for table in (
        HEARTBEAT,
        JOIN,
        SYNC,
        LEAVE,
        OFFSET_COMMIT,
        TXN_OFFSET_COMMIT,
        EXPIRY,
    ):
        for situation in table[GroupState.STABLE]:
            assert f"| {situation.value} |" in page
