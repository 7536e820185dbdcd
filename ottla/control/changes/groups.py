"""What is done to a group by hand, by no client: end a session, remove a member, call all members back.

The group's kind says by which events that is done, or why it can't be. They go into the group's inbox like a client's
request, and are done when the function returns.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ottla.control.changes.topics import ChangeRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ottla.broker.node.services import Services
    from ottla.coordinator.groups.coordinator import Coordinator
    from ottla.coordinator.kinds.kind import Group, GroupKind


def expire(services: Services, group_id: str, member: str) -> list[str]:
    """End the sessions of the members of this name now, and no others; returns their ids.

    `member`: a member id or group instance id, in which `*` stands for anything. Raises `ChangeRefused` if there is no
    such member, or if one waits for the answer to a JoinGroup or SyncGroup: a session can't end then.
    """
    coordinator, group, kind = _find(services, group_id)
    found = _members(group, kind, member)
    _intervene(coordinator, group, lambda: kind.expire(group, found))
    return found


def evict(services: Services, group_id: str, member: str, reason: str | None = None) -> list[str]:
    """Remove the members of this name as an admin does, who sends LeaveGroup for them; returns their ids.

    `member`: as for `expire`. `reason`: added to what the admin client says. Raises `ChangeRefused`.
    """
    coordinator, group, kind = _find(services, group_id)
    found = _members(group, kind, member)
    _intervene(coordinator, group, lambda: kind.evict(group, found, reason))
    return found


def force_rebalance(services: Services, group_id: str, reason: str | None = None) -> None:
    """Call all members back, as Consumer.enforceRebalance of one of them would. Raises `ChangeRefused`."""
    coordinator, group, kind = _find(services, group_id)
    _intervene(coordinator, group, lambda: kind.rebalance(group, reason))


def _find(services: Services, group_id: str) -> tuple[Coordinator, Group, GroupKind[Any]]:
    for coordinator in services.group_coordination.of_node.values():
        owner = coordinator.runtime.owners.get(group_id)
        if owner is not None:
            return coordinator, owner.machine, coordinator.kind_of(owner.machine)
    raise ChangeRefused(f"there is no group {group_id}")


def _members(group: Group, kind: GroupKind[Any], name: str) -> list[str]:
    members = kind.members(group)
    found = [
        member.member_id
        for member in members
        if fnmatchcase(member.member_id, name) or fnmatchcase(member.group_instance_id or "", name)
    ]
    if not found:
        known = ", ".join(member.member_id for member in members) or "none"
        raise ChangeRefused(f"group {group.group_id} has no member {name}; its members are {known}")
    return found


def _intervene(coordinator: Coordinator, group: Group, events: Callable[[], Sequence[object]]) -> None:
    from ottla.coordinator.kinds.kind import CannotBeDone

    try:
        for event in events():
            coordinator.intervene(group.group_id, event)
    except CannotBeDone as impossible:
        raise ChangeRefused(str(impossible)) from None
