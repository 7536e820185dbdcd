"""Classic groups, as the coordinator and its tools know them: one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import intervention, view
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.offsets import is_sweep_due
from ottla.coordinator.classic.records import GROUP_TYPE, read_group, read_group_id
from ottla.coordinator.classic.requests import REQUESTS
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.step import CLASSIC
from ottla.coordinator.classic.timers import REBALANCES, SESSION, SESSIONS
from ottla.coordinator.kinds.kind import GroupKind
from ottla.coordinator.notes import Cause

if TYPE_CHECKING:
    from ottla.coordinator.kinds.kind import GroupsOfShard


def _replay_group(groups: GroupsOfShard, key: bytes, value: bytes | None) -> None:
    """A group's record is all of it but its offsets, which have records of their own and went before a tombstone."""
    group_id = read_group_id(key)
    if not groups.is_about(group_id):
        return
    former = groups.machines.pop(group_id, None)
    if value is None:
        return
    group = groups.machines[group_id] = read_group(group_id, value, groups.config)
    group.notes_wanted = groups.notes_wanted
    if former is not None:
        group.offsets = former.offsets


CLASSIC_GROUPS: Final = GroupKind(
    name="classic",
    machine=Group,
    runtime=CLASSIC,
    create=Group,
    states=GroupState,
    rebalancing=frozenset((GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE)),
    causes=Cause,
    member_timers=(SESSION,),
    purgatories=(SESSIONS, REBALANCES),
    parks_in=(REBALANCES,),
    records={GROUP_TYPE: _replay_group},
    requests=REQUESTS,
    is_sweep_due=is_sweep_due,
    members=view.members,
    waits_for=view.waits_for,
    expire=intervention.expire,
    evict=intervention.evict,
    rebalance=intervention.rebalance,
)
