"""`ottla groups lag`: how far the consumer groups of any Kafka are behind, topic by topic."""

from __future__ import annotations

import argparse
from typing import Any, Final

from ottla.cli.admin import NotFound, Partition, add_options
from ottla.cli.cluster import ContactedCluster, ask
from ottla.cli.found_groups import FoundGroup, assigned_to, committed_by, find_groups
from ottla.terminal.output import Columns, Item, print_json, print_table
from ottla.terminal.printable import printable


def add_to(actions: Any) -> None:
    """Add the action and its options."""
    parser = actions.add_parser(
        "lag",
        help="the lag of groups, topic by topic",
        description="Show the lag of groups behind the ends of the logs, topic by topic, the largest first. LAG is the "
        "sum over all partitions, WORST the largest of one partition. UNCOMMITTED partitions have a reader but no "
        "committed offset: their lag is unknown, and not in the sum.",
        allow_abbrev=False,
    )
    parser.add_argument("groups", metavar="GROUP", nargs="*", help="only these groups (default: all)")
    add_options(parser, is_repeated=True)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Say how far groups are behind; returns the exit code."""
    return ask(options, lambda cluster: lags(cluster, options.groups), print_json if options.json else _print)


async def lags(cluster: ContactedCluster, group_ids: list[str]) -> list[Item]:
    """How far each of these groups is behind in each topic; of all groups, if none is named."""
    found = [group for group in await find_groups(cluster) if not group_ids or group.group_id in group_ids]
    if missing := set(group_ids) - {group.group_id for group in found}:
        raise NotFound(f"no broker knows a group {printable(min(missing))}; `ottla groups` lists those there are")
    committed = {group.group_id: await committed_by(cluster, group) for group in found}
    readers = {
        group.group_id: {partition for member in group.members for partition in assigned_to(group, member)}
        for group in found
    }
    concerned = set[Partition]().union(*committed.values(), *readers.values())
    there = await cluster.partitions()
    ends = await cluster.log_ends({place: there[place] for place in concerned if place in there})
    return sorted(
        (item for group in found for item in _lags_of(group, committed[group.group_id], readers[group.group_id], ends)),
        key=lambda item: (-item["lag"], item["group_id"], item["topic"]),
    )


def _lags_of(
    group: FoundGroup, committed: dict[Partition, int], read: set[Partition], ends: dict[Partition, int]
) -> list[Item]:
    """A group's lag in each topic that it has committed or reads."""
    partitions = committed.keys() | read
    items = []
    for topic in sorted({topic for topic, _ in partitions}):
        of_topic = sorted(partition for partition in partitions if partition[0] == topic)
        behind = {
            index: ends[topic, index] - committed[topic, index]
            for _, index in of_topic
            if (topic, index) in committed and (topic, index) in ends
        }
        items.append(
            {
                "group_id": group.group_id,
                "state": group.state,
                "topic": topic,
                "partitions": len(of_topic),
                "uncommitted_partitions": sum(partition not in committed for partition in of_topic),
                "lag": sum(behind.values()),
                "worst_partition": max(behind, key=lambda index: behind[index], default=None),
                "worst_lag": max(behind.values(), default=None),
            }
        )
    return items


_LAGS: Final[Columns] = {
    "GROUP": "group_id",
    "STATE": "state",
    "TOPIC": "topic",
    "PARTITIONS": "partitions",
    "LAG": "lag",
    "WORST": "worst_lag",
    "IN PARTITION": "worst_partition",
    "UNCOMMITTED": "uncommitted_partitions",
}


def _print(items: list[Item]) -> None:
    print_table(items, _LAGS)
