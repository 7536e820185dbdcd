"""SyncGroup (api key 14), v0–v5: a member asks for its assignment, and the leader brings those of all.

A follower's request is parked until the leader's came and its assignments are in the log; then all are answered and the
group is Stable. They may come in any order, and a request that comes late is answered at once. The answer to each
depends on its sender and on the group's state: `decisions.SYNC`.

If the log refuses the assignments all that wait are told, and the group rebalances. If the group has moved on while
they were being written, nothing happens: they are history.

v3 adds group_instance_id (KIP-345), v5 names the protocol and its type in both directions (KIP-559).
Kafka: GroupMetadataManager.classicGroupSyncToClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic import answers, rebalance
from ottla.coordinator.classic.decisions import SYNC, SyncStep
from ottla.coordinator.classic.members import park_sync, start_session, unpark_sync
from ottla.coordinator.classic.records import group_record
from ottla.coordinator.classic.situations import situate_sync
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.runtime.effects import Append, Completion, Effects, Reply
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.write_errors import GROUP_WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.classic.events import SyncRequested
    from ottla.coordinator.classic.group import Group


@frozen
class AssignmentsWritten(Completion):
    """The leader's assignments, by member id, are in the log."""

    generation_id: int
    assignments: Mapping[str, bytes]


def sync(group: Group, event: SyncRequested, effects: Effects) -> None:
    """Answer a SyncGroup, or park it."""
    request = event.request
    cell = SYNC[group.state][situate_sync(group, event)]
    if isinstance(cell, ErrorCode):
        effects.append(Reply(event.token, answers.sync_refused(cell)))
        return
    member = group.members[request.member_id]
    rebalance.has_synced(group, member.member_id, effects)
    if cell is SyncStep.ANSWER:
        effects.append(Reply(event.token, answers.sync_accepted(group, member)))
        return
    park_sync(member, event, effects)
    if cell is SyncStep.ASSIGN:
        # A member that is assigned nothing gets nothing; an id that is no member's is passed over.
        assignments = {assigned.member_id: assigned.assignment for assigned in request.assignments}
        written = AssignmentsWritten(group.generation_id, assignments)
        effects.append(Append([group_record(group, assignments)], written))


def assignments_written(
    group: Group, now_ms: int, written: AssignmentsWritten, error: ErrorCode, effects: Effects
) -> None:
    """The assignments are in the log: hand them out, and the group is Stable. Or they are not: rebalance."""
    is_current = written.generation_id == group.generation_id
    if group.state is not GroupState.COMPLETING_REBALANCE or not is_current:
        return
    if error is not ErrorCode.NONE:
        answered = GROUP_WRITE_ERRORS.get(error, error)
        note(group, effects, GroupEvents.GROUP_WRITE_FAILED, what="assignments", error=answered.name)
        rebalance.withdraw_assignment(group, now_ms, answered, effects)
        rebalance.begin(group, now_ms, effects, rebalance.Trigger(Cause.WRITE_FAILED))
        return
    for member in group.members.values():
        member.assignment = written.assignments.get(member.member_id, b"")
        if (parked := unpark_sync(member)) is not None:
            effects.append(Reply(parked.token, answers.sync_accepted(group, member)))
            # Its session may have run out while it was parked, and been ignored.
            start_session(member, now_ms, member.session_timeout_ms, effects)
    group.move(GroupState.STABLE, now_ms)
    _note_completed(group, now_ms, effects)
    group.rebalance = None


def _note_completed(group: Group, now_ms: int, effects: Effects) -> None:
    is_wanted = GroupEvents.GROUP_REBALANCE_COMPLETED in group.notes_wanted
    members = group.members if is_wanted else {}
    note(
        group,
        effects,
        GroupEvents.GROUP_REBALANCE_COMPLETED,
        cause=None if group.rebalance is None else group.rebalance.cause,
        leader=group.leader_id,
        protocol_name=group.protocol_name,
        assignment_bytes={member_id: len(member.assignment) for member_id, member in members.items()},
        duration_ms=rebalance.duration_ms(group, now_ms),
    )
