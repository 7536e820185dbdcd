"""DescribeGroups (api key 15), v0–v6: what a classic group looks like from outside.

Metadata of members is shown in Stable only, where it is the chosen protocol's. Ids that were handed out are not members
and don't show. Kafka: GroupMetadataManager.describeGroups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.runtime.effects import Reply
from ottla.protocol.messages.describe_groups import DescribeGroupsResponse

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import DescribeRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects


def describe(group: Group, event: DescribeRequested, effects: Effects) -> None:
    """Answer with the group's state and members."""
    if group.state is GroupState.DEAD:
        effects.append(Reply(event.token, answers.describe_not_found(group.group_id, event.api_version)))
        return
    protocol_name = group.protocol_name if group.state is GroupState.STABLE else None
    described = DescribeGroupsResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=[
            DescribeGroupsResponse.DescribedGroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                b"" if protocol_name is None else member.metadata(protocol_name) or b"",
                member.assignment,
            )
            for member in group.members.values()
        ],
    )
    effects.append(Reply(event.token, described))
