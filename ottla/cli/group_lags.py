"""`ottla groups lag`: how far the consumer groups of any Kafka are behind, topic by topic."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any, Final

from ottla.cli.admin import NotFound, Partition, add_options
from ottla.cli.cluster import ContactedCluster, ask
from ottla.cli.found_groups import FoundGroup, assigned_to, committed_by, find_groups, subscribed_by
from ottla.terminal.output import Columns, Item, print_json, print_table
from ottla.terminal.printable import printable


def add_to(actions: Any) -> None:
    """Add the action and its options."""
    parser = actions.add_parser(
        "lag",
        help="the lag of groups, topic by topic",
        description="Show the lag of groups behind the ends of the logs, topic by topic, the largest first. LAG is the "
        "sum over all partitions, WORST the largest of one partition. UNCOMMITTED partitions have no committed "
        "offset: their lag counts from the log start.",
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
    there = await cluster.partitions()
    partitions = {group.group_id: _read_by(group, committed[group.group_id], there) for group in found}
    known = {place: there[place] for place in set[Partition]().union(*partitions.values()) if place in there}
    uncommitted = {
        place for group_id, places in partitions.items() for place in places if place not in committed[group_id]
    }
    starts = await cluster.log_starts({place: known[place] for place in uncommitted if place in known})
    ends = await cluster.log_ends(known)
    return sorted(
        (
            item
            for group in found
            for item in _lags_of(group, partitions[group.group_id], starts, committed[group.group_id], ends)
        ),
        key=lambda item: (-item["lag"], item["group_id"], item["topic"]),
    )


def _read_by(group: FoundGroup, committed: Collection[Partition], there: Collection[Partition]) -> set[Partition]:
    """What a group has committed or was given, and every other partition of those topics and of subscribed ones."""
    places = {*committed, *(place for member in group.members for place in assigned_to(group, member))}
    topics = {topic for topic, _ in places}.union(*(subscribed_by(group, member) for member in group.members))
    return places | {place for place in there if place[0] in topics}


def _lags_of(
    group: FoundGroup,
    partitions: set[Partition],
    starts: dict[Partition, int],
    committed: dict[Partition, int],
    ends: dict[Partition, int],
) -> list[Item]:
    """A group's lag in each topic of these partitions."""
    items = []
    next_offsets = starts | committed
    for topic in sorted({topic for topic, _ in partitions}):
        of_topic = sorted(partition for partition in partitions if partition[0] == topic)
        behind = {
            index: ends[topic, index] - next_offsets[topic, index]
            for _, index in of_topic
            if (topic, index) in next_offsets and (topic, index) in ends
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
