"""`ottla groups`: the consumer groups of any Kafka; `ottla groups describe GROUP`: one of them, its members, its lag;
`ottla groups lag`: how far all of them are behind, topic by topic.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from ottla.cli import group_lags
from ottla.cli.admin import NotFound, Partition, add_options
from ottla.cli.cluster import ContactedCluster, ask
from ottla.cli.found_groups import assigned_to, committed_by, find_groups
from ottla.terminal.output import Columns, Item, print_json, print_line, print_table
from ottla.terminal.printable import printable


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "groups",
        help="list consumer groups, describe one, or show their lag",
        description="List the consumer groups of any Kafka, describe one, or see how far they are behind.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.set_defaults(run=run_list)
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    listing = actions.add_parser("list", help="every group, with its state and number of members", allow_abbrev=False)
    add_options(listing, is_repeated=True)
    describing = actions.add_parser(
        "describe",
        help="one group: members, assignments, offsets",
        description="Describe a group. LAG is END minus COMMITTED; '-' means no committed offset.",
        allow_abbrev=False,
    )
    describing.add_argument("group", metavar="GROUP")
    add_options(describing, is_repeated=True)
    describing.set_defaults(run=run_describe)
    group_lags.add_to(actions)


def run_list(options: argparse.Namespace) -> int:
    """List the groups; returns the exit code."""
    return ask(options, list_groups, print_json if options.json else _print_list)


def run_describe(options: argparse.Namespace) -> int:
    """Describe a group; returns the exit code."""
    show = print_json if options.json else _print_group
    return ask(options, lambda cluster: describe_group(cluster, options.group), show)


async def list_groups(cluster: ContactedCluster) -> list[Item]:
    """Every group, by name."""
    return [
        {
            "group_id": group.group_id,
            "state": group.state,
            "protocol_type": group.protocol_type,
            "members": None if group.described is None else len(group.members),
            "coordinator": group.coordinator,
        }
        for group in await find_groups(cluster)
    ]


async def describe_group(cluster: ContactedCluster, group_id: str) -> Item:
    """One group. Offsets are None where nothing was committed, or the log is not to be had."""
    found = await find_groups(cluster, group_id)
    if not found:
        raise NotFound(f"no broker knows a group {printable(group_id)}; `ottla groups` lists those there are")
    group = found[0]
    members = [
        {
            "member_id": member.member_id,
            "client_id": member.client_id,
            "client_host": member.client_host,
            "partitions": [{"topic": topic, "partition": index} for topic, index in assigned_to(group, member)],
        }
        for member in group.members
    ]
    return {
        "group_id": group_id,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": None if group.described is None else group.described.protocol_data,
        "coordinator": group.coordinator,
        "members": members,
        "offsets": await _offsets(cluster, await committed_by(cluster, group), members),
    }


async def _offsets(cluster: ContactedCluster, committed: dict[Partition, int], members: list[Item]) -> list[Item]:
    """How far the group is, in every partition that was committed or is assigned."""
    readers = {
        (partition["topic"], partition["partition"]): member["member_id"]
        for member in members
        for partition in member["partitions"]
    }
    partitions = sorted(committed.keys() | readers.keys())
    there = await cluster.partitions()
    ends = await cluster.log_ends({place: there[place] for place in partitions if place in there})
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
