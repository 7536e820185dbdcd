"""The consumer groups of any Kafka, found by asking its brokers.

Every broker is asked which groups it coordinates. No request looks for a coordinator: that makes a fresh broker create
its offsets topic, and a question should change nothing.

aiokafka can't ask for the state and the members of groups with the newer protocol of KIP-848. They are shown as
unknown, with their offsets and lag.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ottla.cli.admin import Admin, Partition
from ottla.terminal.output import Item

#: How a broker answers DescribeGroups for a group it does not keep as a classic one.
_DEAD: Final = "Dead"


@dataclass(slots=True)
class FoundGroup:
    """A group as its coordinator lists and describes it. `described` is None if it is of a newer kind."""

    group_id: str
    protocol_type: str
    coordinator: Item
    described: Item | None

    @property
    def state(self) -> str | None:
        return None if self.described is None else str(self.described["state"])

    @property
    def members(self) -> list[Item] | None:
        return None if self.described is None else self.described["members"]


async def find_groups(admin: Admin, group_id: str | None = None) -> list[FoundGroup]:
    """Every group, or the one of this name, by name."""
    found = []
    for broker in await admin.brokers():
        listed = await admin.listed_groups(broker["node_id"])
        wanted = [(listed_id, kind) for listed_id, kind in listed if group_id is None or listed_id == group_id]
        described = await admin.described_groups([listed_id for listed_id, _ in wanted], broker["node_id"])
        for (listed_id, protocol_type), description in zip(wanted, described, strict=True):
            is_classic = description["state"] != _DEAD
            found.append(FoundGroup(listed_id, protocol_type, broker, description if is_classic else None))
    return sorted(found, key=lambda group: group.group_id)


def assigned_to(group: FoundGroup, member: Item) -> list[Partition]:
    """The partitions that its group's leader gave a member."""
    from ottla.protocol.consumer import PROTOCOL_TYPE, read_assignment
    from ottla.protocol.primitives import DecodeError

    if group.protocol_type == PROTOCOL_TYPE:
        with suppress(DecodeError):  # a client's own invention: nothing is known of it
            topics = read_assignment(member["member_assignment"]).assigned_partitions
            return sorted((topic.topic, partition) for topic in topics for partition in topic.partitions)
    return []
