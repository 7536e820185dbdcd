"""The stage of the table tests: a group in each state, with one of every kind of member, and what each could send.

Ana leads, Bo follows, Cy is static, Pat has been handed an id. In Preparing Dee has just joined and the others have not
come back; in Completing nobody has synced; in Empty all but Pat have left; Dead was unloaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, TypeVar

import pytest

from ottla.coordinator.classic.events import Event
from ottla.coordinator.classic.situations import (
    CommitSituation,
    JoinSituation,
    LeaveSituation,
    MemberSituation,
    SyncSituation,
)
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.step import step
from ottla.coordinator.runtime.effects import Append, Effect, Reply
from ottla.coordinator.runtime.events import AppendCompleted, Unloaded
from ottla.protocol.errors import ErrorCode
from tests.coordinator.actors import Actor, Line, bring_in, make_stable, new_group, perform, protocols

Situation = TypeVar("Situation", bound=Enum)
#: A newer member's protocols: the same names, something else behind them.
OTHERS = protocols("range", metadata=b"something else")
UNHEARD_OF = protocols("unheard of")


class Stage:
    """A group in this state, and its cast."""

    def __init__(self, state: GroupState) -> None:
        self.ana, self.bo, self.cy = Actor("ana"), Actor("bo"), Actor("cy", group_instance_id="cy's")
        self.pat, self.dee = Actor("pat"), Actor("dee", version=3)
        self.eve = Actor("eve")
        self.now_ms = 5_000
        self.group = group = new_group()
        members = (self.ana, self.bo, self.cy)
        if state is GroupState.COMPLETING_REBALANCE:
            bring_in(group, *members)
        else:
            make_stable(group, *members)
        if state is GroupState.EMPTY:
            perform(group, 0, self.ana.leaves(self.bo, self.cy)())
        if state is GroupState.PREPARING_REBALANCE:
            perform(group, 0, self.dee.joins()())
        (reply,) = perform(group, 0, self.pat.joins()())
        assert self.pat.is_given_id().matches(reply)
        if state is GroupState.DEAD:
            perform(group, 0, Unloaded())
        assert group.state is state

    def play(self, event: Event) -> list[Effect]:
        """All effects, also those of the appends, which succeed."""
        effects = []
        events = [event]
        while events:
            for effect in step(self.group, self.now_ms, events.pop(0)):
                effects.append(effect)
                if isinstance(effect, Append):
                    events.append(AppendCompleted(effect.completion, ErrorCode.NONE))
        self.group.check()
        return effects

    def answer(self, event: Any) -> Any:
        """The answer to this request; None: it is parked."""
        replies = [
            effect.response for effect in self.play(event) if isinstance(effect, Reply) and effect.token == event.token
        ]
        assert len(replies) <= 1
        return replies[0] if replies else None

    def join(self, situation: JoinSituation) -> Line:
        if situation is JoinSituation.GROUP_FULL:
            self.group.config = replace(self.group.config, group_max_size=1)
        empty = self.group.state is GroupState.EMPTY
        lines: Mapping[JoinSituation, Line] = {
            JoinSituation.GROUP_FULL: self.eve.joins(),
            JoinSituation.OTHER_PROTOCOLS: self.eve.joins(protocols=[] if empty else UNHEARD_OF),
            JoinSituation.NEW_MEMBER: self.eve.joins(),
            JoinSituation.NEW_MEMBER_BEFORE_V4: self.eve.joins(version=3),
            JoinSituation.NEW_STATIC_MEMBER: self.eve.joins(group_instance_id="eve's"),
            JoinSituation.RETURNING_STATIC_MEMBER: self.cy.joins(member_id=""),
            JoinSituation.PENDING_MEMBER: self.pat.joins(),
            JoinSituation.PENDING_STATIC_MEMBER: self.pat.joins(group_instance_id="pat's"),
            JoinSituation.UNKNOWN_INSTANCE: self.bo.joins(group_instance_id="nobody's"),
            JoinSituation.FENCED_INSTANCE: self.bo.joins(group_instance_id="cy's"),
            JoinSituation.UNKNOWN_MEMBER: self.eve.joins(member_id="made up"),
            JoinSituation.LEADER_UNCHANGED: self.ana.joins(),
            JoinSituation.LEADER_CHANGED: self.ana.joins(protocols=OTHERS),
            JoinSituation.FOLLOWER_UNCHANGED: self.bo.joins(),
            JoinSituation.FOLLOWER_CHANGED: self.bo.joins(protocols=OTHERS),
        }
        return lines[situation]

    def sync(self, situation: SyncSituation) -> Line:
        lines: Mapping[SyncSituation, Line] = {
            SyncSituation.UNKNOWN_INSTANCE: self.bo.syncs(group_instance_id="nobody's"),
            SyncSituation.FENCED_INSTANCE: self.bo.syncs(group_instance_id="cy's"),
            SyncSituation.UNKNOWN_MEMBER: self.pat.syncs(generation_id=1),
            SyncSituation.OTHER_GENERATION: self.bo.syncs(generation_id=0),
            SyncSituation.OTHER_PROTOCOL: self.bo.syncs(protocol_name="unheard of"),
            SyncSituation.LEADER: self.ana.syncs({self.ana: b"a"}),
            SyncSituation.FOLLOWER: self.bo.syncs(),
        }
        return lines[situation]

    def beat(self, situation: MemberSituation) -> Line:
        lines: Mapping[MemberSituation, Line] = {
            MemberSituation.UNKNOWN_INSTANCE: self.bo.beats(group_instance_id="nobody's"),
            MemberSituation.FENCED_INSTANCE: self.bo.beats(group_instance_id="cy's"),
            MemberSituation.UNKNOWN_MEMBER: self.pat.beats(generation_id=1),
            MemberSituation.OTHER_GENERATION: self.bo.beats(generation_id=0),
            MemberSituation.CURRENT: self.bo.beats(),
        }
        return lines[situation]

    def commit(self, situation: CommitSituation) -> Line:
        actor, fields = self._committer(situation)
        return actor.commits({("orders", 0): 7}, **fields)

    def commit_in_transaction(self, situation: CommitSituation) -> Line:
        actor, fields = self._committer(situation)
        return actor.commits_in_transaction({("orders", 0): 7}, **fields)

    def _committer(self, situation: CommitSituation) -> tuple[Actor, dict[str, Any]]:
        """Who commits, and what it says that isn't so."""
        who: Mapping[CommitSituation, tuple[Actor, dict[str, Any]]] = {
            CommitSituation.WITHOUT_GENERATION: (self.eve, {}),
            CommitSituation.UNKNOWN_INSTANCE: (self.bo, {"group_instance_id": "nobody's"}),
            CommitSituation.FENCED_INSTANCE: (self.bo, {"group_instance_id": "cy's"}),
            CommitSituation.UNKNOWN_MEMBER: (self.pat, {"generation_id_or_member_epoch": 1}),
            CommitSituation.OTHER_GENERATION: (self.bo, {"generation_id_or_member_epoch": 0}),
            CommitSituation.CURRENT: (self.bo, {}),
        }
        return who[situation]

    def leave(self, situation: LeaveSituation) -> Line:
        lines: Mapping[LeaveSituation, Line] = {
            LeaveSituation.INSTANCE: self.cy.leaves(member_id=""),
            LeaveSituation.UNNAMED: self.eve.leaves(member_id=""),
            LeaveSituation.PENDING_MEMBER: self.pat.leaves(),
            LeaveSituation.UNKNOWN_INSTANCE: self.bo.leaves(group_instance_id="nobody's"),
            LeaveSituation.FENCED_INSTANCE: self.bo.leaves(group_instance_id="cy's"),
            LeaveSituation.UNKNOWN_MEMBER: self.eve.leaves(member_id="made up"),
            LeaveSituation.MEMBER: self.bo.leaves(),
        }
        return lines[situation]


def grid(situations: type[Situation], text: str) -> list[Any]:
    """Read a table of expected answers: a line for each situation, a column for each state; "-" can't happen.

    Returned as pytest parameters (state, situation, expected), one for each cell; every cell must be there.
    """
    header, *lines = text.strip().splitlines()
    states = [GroupState[name.upper()] for name in header.replace("PREPARING", "PREPARING_REBALANCE").split()]
    cells = []
    for line in lines:
        name, *row = line.split()
        assert len(row) == len(states), line
        cells += [(state, situations[name], cell) for state, cell in zip(states, row, strict=True)]
    everything = {(state, situation) for state in GroupState for situation in situations}
    assert {(state, situation) for state, situation, _ in cells} == everything, "a cell is missing"
    return [pytest.param(*cell, id=f"{cell[0].value}-{cell[1].name}") for cell in cells]
