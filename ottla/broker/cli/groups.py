"""`ottla groups`: the consumer groups of any Kafka; `ottla groups describe GROUP`: one of them, its members, its lag.

Brokers are asked which groups they coordinate. Nobody is asked to find a coordinator, for that makes a fresh broker
create its offsets topic, and looking should change nothing.

aiokafka can't ask for the state and the members of groups that use the newer protocol of KIP-848; those show as
unknown, their offsets and lag are there.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ottla.broker.cli.admin import Admin, NotFound, add_options, ask
from ottla.broker.cli.output import print_json, print_table, printable

#: How a broker answers DescribeGroups for a group it does not keep as a classic one.
_DEAD: Final = "Dead"

Json: TypeAlias = dict[str, Any]


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
    coordinator: Json
    described: Json | None

    @property
    def state(self) -> str | None:
        return None if self.described is None else str(self.described["state"])

    @property
    def members(self) -> list[Json] | None:
        return None if self.described is None else self.described["members"]


async def list_groups(admin: Admin) -> list[Json]:
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


async def describe_group(admin: Admin, group_id: str) -> Json:
    """One group. Offsets are None where nothing was committed, or the log is not to be had."""
    found = await _find(admin, group_id)
    if not found:
        raise NotFound(f"no broker knows a group {printable(group_id)}; `ottla groups` lists those there are")
    group = found[0]
    members = [_member(group, member) for member in group.members or []]
    member_ids = {tuple(partition): member["member_id"] for member in members for partition in member["partitions"]}
    committed = await admin.committed(group_id, group.coordinator["node_id"])
    return {
        "group_id": group_id,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": None if group.described is None else group.described["protocol"],
        "coordinator": group.coordinator,
        "members": [
            {**member, "partitions": [{"topic": topic, "partition": index} for topic, index in member["partitions"]]}
            for member in members
        ],
        "offsets": await _offsets(admin, committed, member_ids),
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


def _member(group: Found, member: Json) -> Json:
    from ottla.protocol.consumer import PROTOCOL_TYPE, read_assignment
    from ottla.protocol.primitives import DecodeError

    partitions: list[tuple[str, int]] = []
    if group.protocol_type == PROTOCOL_TYPE:
        try:
            assignment = read_assignment(member["member_assignment"])
        except DecodeError:
            assignment = read_assignment(b"")  # a client's own invention: nothing is known of it
        partitions = sorted(
            (topic.topic, index) for topic in assignment.assigned_partitions for index in topic.partitions
        )
    return {
        "member_id": member["member_id"],
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        "partitions": partitions,
    }


async def _offsets(admin: Admin, committed: dict[tuple[str, int], int], member_ids: dict[Any, str]) -> list[Json]:
    """How far the group is, of every partition that was committed or is assigned."""
    partitions = sorted(committed.keys() | member_ids.keys())
    led = {
        (topic["topic"], partition["partition"])
        for topic in await admin.topics()
        for partition in topic["partitions"]
        if partition["leader"] >= 0
    }
    _, ends = await admin.offsets([partition for partition in partitions if partition in led])
    rows = []
    for topic_partition in partitions:
        offset, end = committed.get(topic_partition), ends.get(topic_partition)
        rows.append(
            {
                "topic": topic_partition[0],
                "partition": topic_partition[1],
                "committed_offset": offset,
                "log_end_offset": end,
                "lag": None if offset is None or end is None else end - offset,
                "member_id": member_ids.get(topic_partition),
            }
        )
    return rows


def _print_list(groups: list[Json]) -> None:
    headers = ("GROUP", "STATE", "TYPE", "MEMBERS", "COORDINATOR")
    print_table(
        headers,
        [
            (group["group_id"], group["state"], group["protocol_type"], group["members"], _broker(group["coordinator"]))
            for group in groups
        ],
    )


def _print_group(group: Json) -> None:
    print_table(
        ("GROUP", "STATE", "TYPE", "PROTOCOL", "COORDINATOR"),
        [
            (
                group["group_id"],
                group["state"],
                group["protocol_type"],
                group["protocol"],
                _broker(group["coordinator"]),
            )
        ],
    )
    if group["members"]:
        print()
        print_table(
            ("MEMBER", "CLIENT", "HOST", "PARTITIONS"),
            [
                (member["member_id"], member["client_id"], member["client_host"], len(member["partitions"]))
                for member in group["members"]
            ],
        )
    if group["offsets"]:
        print()
        print_table(
            ("TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"),
            [
                tuple(
                    row[key] for key in ("topic", "partition", "committed_offset", "log_end_offset", "lag", "member_id")
                )
                for row in group["offsets"]
            ],
        )


def _broker(broker: Json) -> str:
    return f"{broker['node_id']} at {broker['host']}:{broker['port']}"
