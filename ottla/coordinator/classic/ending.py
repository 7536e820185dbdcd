"""How a group ends: deleted, never written in the first place, or coordinated elsewhere.

What waits in it is answered with an error that makes clients ask again, and it is Dead from then on: what still
arrives is answered as in `decisions`, if the owner has not passed it on by then. Its timers end with it.
Kafka: GroupMetadataManager.onUnloaded; deleted groups and those that can't be written are simply absent there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic.members import refuse_join, refuse_sync
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.offsets.answers import fetch_refused
from ottla.coordinator.runtime.effects import Ended, Reply
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects


def unload(group: Group, now_ms: int, effects: Effects) -> None:
    """Another node answers for the group now."""
    note(group, effects, GroupEvents.GROUP_UNLOADED)
    _end(group, now_ms, ErrorCode.NOT_COORDINATOR, effects)


def end_deleted(group: Group, now_ms: int, cause: Cause, effects: Effects) -> None:
    """Its tombstone is written. Requests wait in it only if they came while it was being written."""
    if group.state is not GroupState.DEAD:
        note(group, effects, GroupEvents.GROUP_DELETED, cause=cause)
        _end(group, now_ms, ErrorCode.COORDINATOR_NOT_AVAILABLE, effects)


def end_unwritten(group: Group, now_ms: int, error: ErrorCode, effects: Effects) -> None:
    """Its first record could not be written. Kafka answers its creator; here all requests that wait are answered."""
    if group.state is not GroupState.DEAD:
        note(group, effects, GroupEvents.GROUP_DELETED, cause=Cause.WRITE_FAILED)
        _end(group, now_ms, error, effects, names_members=False)


def _end(group: Group, now_ms: int, error: ErrorCode, effects: Effects, *, names_members: bool = True) -> None:
    for member in group.members.values():
        refuse_join(group, member, error, member.member_id if names_members else "", effects)
        refuse_sync(member, error, effects)
    for fetch in group.offsets.waiting_fetches:
        effects.append(Reply(fetch.token, fetch_refused(fetch, error)))
    group.move(GroupState.DEAD, now_ms)
    group.members.clear()
    group.static_members.clear()
    group.supported_protocols.clear()
    group.pending_joins.clear()
    group.pending_syncs.clear()
    group.offsets.clear()
    group.leader_id = group.rebalance = group.join_deadline_ms = group.sync_deadline_ms = None
    effects.append(Ended())
