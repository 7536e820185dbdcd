"""ListGroups (api key 16), v0–v5: the groups of a node, of every kind.

Kafka: GroupMetadataManager.listGroups; ClassicGroup.asListedGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ottla.coordinator.kinds.kind import Group, Kinds


def listed(groups: Iterable[Group], request: ListGroupsRequest, kinds: Kinds) -> list[ListGroupsResponse.ListedGroup]:
    """The groups in one of these states and of one of these types; no filter lets all pass, an unknown value none."""
    states = {state.lower().strip() for state in request.states_filter}
    types = {group_type.lower() for group_type in request.types_filter}
    found = [
        ListGroupsResponse.ListedGroup(
            group.group_id, group.protocol_type or "", str(group.state.value), kinds[type(group)].name
        )
        for group in groups
    ]
    return [
        group
        for group in found
        if (not states or group.group_state.lower() in states) and (not types or group.group_type in types)
    ]
