"""The stories of groups, told to the pure core under a clock that stands still."""

from __future__ import annotations

from ottla.coordinator.states import GroupState
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, Playbook
from tests.coordinator.actors import Actor, new_group

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


def test_story_g1_regular_cycle() -> None:
    ana, bo = Actor("ana"), Actor("bo")
    group = new_group()
    assert (
        Playbook(group)
        >> ana.joins()
        << ana.is_given_id()
        << Is(EMPTY)
        >> ana.joins()
        << Is(PREPARING)
        >> At(3_000)
        << ana.joined(generation_id=1, leader=ana)
        << Is(COMPLETING)
        >> ana.syncs({ana: b"all"})
        << ana.synced(b"all")
        << Is(STABLE)
        >> bo.joins()
        << bo.is_given_id()
        << Is(STABLE)
        >> bo.joins()
        << Is(PREPARING)
        >> ana.beats()
        << ana.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
        << Is(COMPLETING)
        >> bo.syncs()
        >> ana.syncs({ana: b"a", bo: b"b"})
        << ana.synced(b"a")
        << bo.synced(b"b")
        << Is(STABLE)
    )
