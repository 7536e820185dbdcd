"""`ottla topics`: what topics there are, in any Kafka; `ottla topics describe TOPIC`: the partitions of one of them;
`consume`, `tail` and `produce`: its records.

The list is a health check as well: it fails unless a broker answers.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from ottla.cli import topic_consume, topic_produce
from ottla.cli.admin import add_options
from ottla.cli.cluster import ContactedCluster, ask
from ottla.terminal.output import Columns, Item, print_json, print_line, print_table


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "topics",
        help="list topics, describe one, read and write records",
        description="List the topics of any Kafka, describe one, read and write records. RECORDS counts "
        "the offsets from the start of the logs to their end. A log that is compacted or has transactions has fewer "
        "records.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.set_defaults(run=run_list)
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    listing = actions.add_parser("list", help="every topic, with its number of partitions", allow_abbrev=False)
    add_options(listing, is_repeated=True)
    describing = actions.add_parser(
        "describe",
        help="one topic: partitions, leaders, first and last offsets",
        description="Describe a topic. ISR are the replicas in sync. START and END are the first and the next offset "
        "of a log, '-' if the partition has no leader.",
        allow_abbrev=False,
    )
    describing.add_argument("topic", metavar="TOPIC")
    add_options(describing, is_repeated=True)
    describing.set_defaults(run=run_describe)
    topic_consume.add_to(actions)
    topic_produce.add_to(actions)


def run_list(options: argparse.Namespace) -> int:
    """List the topics; returns the exit code."""
    return ask(options, list_topics, print_json if options.json else _print_list)


def run_describe(options: argparse.Namespace) -> int:
    """Describe a topic; returns the exit code."""
    show = print_json if options.json else _print_topic
    return ask(options, lambda cluster: describe_topic(cluster, options.topic), show)


async def list_topics(cluster: ContactedCluster) -> list[Item]:
    """Every topic, by name. Offsets are None where a partition has no leader to ask."""
    return await _with_offsets(cluster, await cluster.topics())


async def describe_topic(cluster: ContactedCluster, name: str) -> Item:
    """One topic, as it stands in the list."""
    return (await _with_offsets(cluster, [await cluster.topic(name)]))[0]


async def _with_offsets(cluster: ContactedCluster, topics: list[Item]) -> list[Item]:
    partitions = {(topic["topic"], one["partition"]): one for topic in topics for one in topic["partitions"]}
    starts, ends = await cluster.log_starts(partitions), await cluster.log_ends(partitions)
    for place, partition in partitions.items():
        partition |= {"log_start_offset": starts.get(place), "log_end_offset": ends.get(place)}
    return topics


def _replication(topic: Item) -> int | None:
    return max((len(partition["replicas"]) for partition in topic["partitions"]), default=None)


def _records(topic: Item) -> int | None:
    """Offsets from the start to the end of all logs; None if one of them is unknown."""
    partitions = topic["partitions"]
    if any(partition["log_end_offset"] is None for partition in partitions):
        return None
    records: int = sum(partition["log_end_offset"] - partition["log_start_offset"] for partition in partitions)
    return records


def _node_ids(ids: list[int]) -> str:
    return ",".join(map(str, ids))


_LISTED: Final[Columns] = {
    "TOPIC": "topic",
    "PARTITIONS": lambda topic: len(topic["partitions"]),
    "REPLICATION": _replication,
    "INTERNAL": "is_internal",
    "RECORDS": _records,
}
_PARTITIONS: Final[Columns] = {
    "PARTITION": "partition",
    "LEADER": lambda partition: None if partition["leader"] < 0 else partition["leader"],
    "REPLICAS": lambda partition: _node_ids(partition["replicas"]),
    "ISR": lambda partition: _node_ids(partition["isr"]),
    "START": "log_start_offset",
    "END": "log_end_offset",
}


def _print_list(topics: list[Item]) -> None:
    print_table(topics, _LISTED)


def _print_topic(topic: Item) -> None:
    print_table([topic], _LISTED)
    print_line()
    print_table(topic["partitions"], _PARTITIONS)
