"""What a test does to a group without being a member: end one session, remove a member, call all of them back.

Each goes into the group's inbox like a client's request, and is done when the function returns.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from ottla.control.changes.topics import ChangeRefused
from ottla.coordinator.classic.events import LeaveRequested, RebalanceWanted, SessionEnded
from ottla.coordinator.classic.states import GroupState
from ottla.protocol.messages.leave_group import LeaveGroupRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.broker.node.services import Services
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member
    from ottla.coordinator.groups.coordinator import Coordinator

#: Kafka: KafkaAdminClient.DEFAULT_LEAVE_GROUP_REASON.
ADMIN_REASON: Final = "member was removed by an admin"
_LEAVE_VERSION: Final = 5


def expire(services: Services, group_id: str, member: str) -> list[str]:
    """End the sessions of the members of this name now, and of nobody else; returns their ids.

    `member`: a member id or group instance id, in which `*` stands for anything. Raises `ChangeRefused` if there is no
    such member, or if one waits for the answer to a JoinGroup or SyncGroup: a session can't end then.
    """
    coordinator, group = _find(services, group_id)
    found = _members(group, member)
    if kept := [one.member_id for one in found if one.is_kept_alive]:
        raise ChangeRefused(
            f"group {group_id} is {group.state.value}, and {', '.join(kept)} waits for an answer, by which it is "
            "alive; wait for state='Stable' first"
        )
    return _each(coordinator, group, found, lambda one: SessionEnded(one.member_id))


def evict(services: Services, group_id: str, member: str, reason: str | None = None) -> list[str]:
    """Remove the members of this name as an admin does, who sends LeaveGroup for them; returns their ids.

    `member`: as for `expire`. `reason`: added to what the admin client says. Raises `ChangeRefused`.
    """
    coordinator, group = _find(services, group_id)
    said = ADMIN_REASON if reason is None else f"{ADMIN_REASON}: {reason}"
    found = _members(group, member)
    members = [LeaveGroupRequest.MemberIdentity(one.member_id, one.group_instance_id, said) for one in found]
    event = LeaveRequested(_Unanswered(), LeaveGroupRequest(group_id, members=members), _LEAVE_VERSION)
    coordinator.intervene(group_id, event)
    return [one.member_id for one in found]


def force_rebalance(services: Services, group_id: str, reason: str | None = None) -> None:
    """Call all members back, as Consumer.enforceRebalance of one of them would. Raises `ChangeRefused`."""
    coordinator, group = _find(services, group_id)
    if group.state is GroupState.EMPTY:
        raise ChangeRefused(f"group {group_id} is Empty: there is nobody to rebalance")
    coordinator.intervene(group_id, RebalanceWanted(reason))


class _Unanswered:
    """Takes an answer that nobody waits for."""

    def answer(self, _response: Any, /) -> None:
        """The members are gone, which their group shows."""


def _each(
    coordinator: Coordinator, group: Group, members: list[Member], event: Callable[[Member], SessionEnded]
) -> list[str]:
    ids = [member.member_id for member in members]
    for member in members:
        coordinator.intervene(group.group_id, event(member))
    return ids


def _find(services: Services, group_id: str) -> tuple[Coordinator, Group]:
    for coordinator in services.group_coordination.of_node.values():
        owner = coordinator.runtime.owners.get(group_id)
        if owner is not None:
            return coordinator, owner.machine
    raise ChangeRefused(f"there is no group {group_id}")


def _members(group: Group, name: str) -> list[Member]:
    found = [
        member
        for member in group.members.values()
        if fnmatchcase(member.member_id, name) or fnmatchcase(member.group_instance_id or "", name)
    ]
    if not found:
        known = ", ".join(group.members) or "none"
        raise ChangeRefused(f"group {group.group_id} has no member {name}; its members are {known}")
    return found
