"""`ottla groups`: the consumer groups of any Kafka; `ottla groups describe GROUP`: one of them, its members, its lag.

Brokers are asked which groups they coordinate. Nobody is asked to find a coordinator, for that makes a fresh broker
create its offsets topic, and looking should change nothing.

aiokafka can't ask for the state and the members of groups that use the newer protocol of KIP-848; those show as
unknown, their offsets and lag are there.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ottla.cli.admin import Admin, NotFound, Partition, add_options, ask
from ottla.terminal.output import Columns, Item, print_json, print_line, print_table
from ottla.terminal.printable import printable

#: How a broker answers DescribeGroups for a group it does not keep as a classic one.
_DEAD: Final = "Dead"


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "groups",
        help="list consumer groups, or describe one",
        description="List the consumer groups of any Kafka, or describe one.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.set_defaults(run=run_list)
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    listing = actions.add_parser("list", help="every group, its state and how many members", allow_abbrev=False)
    add_options(listing, is_repeated=True)
    describing = actions.add_parser(
        "describe",
        help="one group: members, what they read, how far they are",
        description="Describe a group. LAG is how far COMMITTED is behind END; a partition never committed shows '-'.",
        allow_abbrev=False,
    )
    describing.add_argument("group", metavar="GROUP")
    add_options(describing, is_repeated=True)
    describing.set_defaults(run=run_describe)


def run_list(options: argparse.Namespace) -> int:
    """List the groups; returns the exit code."""
    return ask(options, list_groups, print_json if options.json else _print_list)


def run_describe(options: argparse.Namespace) -> int:
    """Describe a group; returns the exit code."""
    show = print_json if options.json else _print_group
    return ask(options, lambda admin: describe_group(admin, options.group), show)


@dataclass(slots=True)
class Found:
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


async def list_groups(admin: Admin) -> list[Item]:
    """Every group, by name."""
    return [
        {
            "group_id": group.group_id,
            "state": group.state,
            "protocol_type": group.protocol_type,
            "members": None if group.members is None else len(group.members),
            "coordinator": group.coordinator,
        }
        for group in await _find(admin)
    ]


async def describe_group(admin: Admin, group_id: str) -> Item:
    """One group. Offsets are None where nothing was committed, or the log is not to be had."""
    found = await _find(admin, group_id)
    if not found:
        raise NotFound(f"no broker knows a group {printable(group_id)}; `ottla groups` lists those there are")
    group = found[0]
    members = [_member(group, member) for member in group.members or []]
    return {
        "group_id": group_id,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": None if group.described is None else group.described["protocol"],
        "coordinator": group.coordinator,
        "members": members,
        "offsets": await _offsets(admin, await admin.committed(group_id, group.coordinator["node_id"]), members),
    }


async def _find(admin: Admin, group_id: str | None = None) -> list[Found]:
    """Every group, or the one of this name, by name."""
    found = []
    for broker in await admin.brokers():
        listed = await admin.listed_groups(broker["node_id"])
        wanted = [(listed_id, kind) for listed_id, kind in listed if group_id is None or listed_id == group_id]
        described = await admin.described_groups([listed_id for listed_id, _ in wanted], broker["node_id"])
        for (listed_id, protocol_type), description in zip(wanted, described, strict=True):
            is_classic = description["state"] != _DEAD
            found.append(Found(listed_id, protocol_type, broker, description if is_classic else None))
    return sorted(found, key=lambda group: group.group_id)


def _member(group: Found, member: Item) -> Item:
    """A member, and the partitions that its group's leader gave it."""
    from ottla.protocol.consumer import PROTOCOL_TYPE, read_assignment
    from ottla.protocol.primitives import DecodeError

    assigned: list[Partition] = []
    if group.protocol_type == PROTOCOL_TYPE:
        with suppress(DecodeError):  # a client's own invention: nothing is known of it
            topics = read_assignment(member["member_assignment"]).assigned_partitions
            assigned = sorted((topic.topic, partition) for topic in topics for partition in topic.partitions)
    return {
        "member_id": member["member_id"],
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        "partitions": [{"topic": topic, "partition": partition} for topic, partition in assigned],
    }


async def _offsets(admin: Admin, committed: dict[Partition, int], members: list[Item]) -> list[Item]:
    """How far the group is, in every partition that was committed or is assigned."""
    readers = {
        (partition["topic"], partition["partition"]): member["member_id"]
        for member in members
        for partition in member["partitions"]
    }
    partitions = sorted(committed.keys() | readers.keys())
    _, ends = await admin.offsets(await admin.topics(), partitions)
    return [
        {
            "topic": partition[0],
            "partition": partition[1],
            "committed_offset": committed.get(partition),
            "log_end_offset": ends.get(partition),
            "lag": ends[partition] - committed[partition] if partition in ends and partition in committed else None,
            "member_id": readers.get(partition),
        }
        for partition in partitions
    ]


def _coordinator(group: Item) -> str:
    broker = group["coordinator"]
    return f"{broker['node_id']} at {broker['host']}:{broker['port']}"


_GROUP: Final[Columns] = {"GROUP": "group_id", "STATE": "state", "TYPE": "protocol_type"}
_LISTED: Final[Columns] = {**_GROUP, "MEMBERS": "members", "COORDINATOR": _coordinator}
_DESCRIBED: Final[Columns] = {**_GROUP, "PROTOCOL": "protocol", "COORDINATOR": _coordinator}
_MEMBERS: Final[Columns] = {
    "MEMBER": "member_id",
    "CLIENT": "client_id",
    "HOST": "client_host",
    "PARTITIONS": lambda member: len(member["partitions"]),
}
_OFFSETS: Final[Columns] = {
    "TOPIC": "topic",
    "PARTITION": "partition",
    "COMMITTED": "committed_offset",
    "END": "log_end_offset",
    "LAG": "lag",
    "MEMBER": "member_id",
}


def _print_list(groups: list[Item]) -> None:
    print_table(groups, _LISTED)


def _print_group(group: Item) -> None:
    print_table([group], _DESCRIBED)
    for items, columns in ((group["members"], _MEMBERS), (group["offsets"], _OFFSETS)):
        if items:
            print_line()
            print_table(items, columns)
