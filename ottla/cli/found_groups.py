"""The consumer groups of any Kafka, found by asking its brokers.

Every broker is asked which groups it coordinates. No request looks for a coordinator: that makes a fresh broker create
its offsets topic, and a question should change nothing.

The state and the members of groups with the newer protocol of KIP-848 are shown as unknown, with their offsets and lag.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.cluster import check
from ottla.protocol.consumer import PROTOCOL_TYPE, read_assignment, read_subscribed_topics
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.primitives import DecodeError
from ottla.terminal.printable import printable

if TYPE_CHECKING:
    from ottla.cli.admin import Partition
    from ottla.cli.cluster import ContactedCluster
    from ottla.terminal.output import Item

#: The state, before v6 of DescribeGroups, of a group that the broker does not keep as a classic one.
_DEAD: Final = "Dead"
#: The last version of OffsetFetch for a single group.
_OFFSET_FETCH_MAX: Final = 7


@dataclass(slots=True)
class FoundGroup:
    """A group as its coordinator lists and describes it. `described` is None if it is of a newer kind."""

    group_id: str
    protocol_type: str
    coordinator: Item
    described: DescribeGroupsResponse.DescribedGroup | None

    @property
    def state(self) -> str | None:
        return None if self.described is None else self.described.group_state

    @property
    def members(self) -> Sequence[DescribeGroupsResponse.DescribedGroupMember]:
        return () if self.described is None else self.described.members


async def find_groups(cluster: ContactedCluster, group_id: str | None = None) -> list[FoundGroup]:
    """Every group, or the one of this name, by name."""
    found = []
    for node_id, answer in (await cluster.ask_all(ListGroupsRequest())).items():
        check(answer.error_code, f"node {node_id} lists no groups")
        listed = {one.group_id: one for one in answer.groups if group_id is None or one.group_id == group_id}
        if not listed:
            continue
        for described in (await cluster.ask(node_id, DescribeGroupsRequest(list(listed)))).groups:
            is_classic = described.group_state != _DEAD and described.error_code != ErrorCode.GROUP_ID_NOT_FOUND
            if is_classic:
                check(described.error_code, f"group {printable(described.group_id)}")
            group = listed[described.group_id]
            coordinator = cluster.brokers[node_id]
            found.append(
                FoundGroup(group.group_id, group.protocol_type, coordinator, described if is_classic else None)
            )
    return sorted(found, key=lambda group: group.group_id)


async def committed_by(cluster: ContactedCluster, group: FoundGroup) -> dict[Partition, int]:
    """What a group has committed, by topic and partition."""
    request = OffsetFetchRequest(group.group_id, None)
    answer = await cluster.ask(group.coordinator["node_id"], request, 2, _OFFSET_FETCH_MAX)
    check(answer.error_code, f"group {printable(group.group_id)}")
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in answer.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
    }


def assigned_to(group: FoundGroup, member: DescribeGroupsResponse.DescribedGroupMember) -> list[Partition]:
    """The partitions that its group's leader gave a member."""
    if group.protocol_type == PROTOCOL_TYPE:
        with suppress(DecodeError):  # the client's own format: nothing is known of it
            topics = read_assignment(member.member_assignment).assigned_partitions
            return sorted((topic.topic, partition) for topic in topics for partition in topic.partitions)
    return []


def subscribed_by(group: FoundGroup, member: DescribeGroupsResponse.DescribedGroupMember) -> list[str]:
    """The topics that a member wants to read."""
    if group.protocol_type == PROTOCOL_TYPE:
        with suppress(DecodeError):
            return read_subscribed_topics(member.member_metadata)
    return []
