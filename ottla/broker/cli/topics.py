"""`ottla topics`: what topics there are, in any Kafka. Also a health check: it fails unless a broker answers."""

from __future__ import annotations

import argparse
from typing import Any, Final

from ottla.broker.cli.admin import Admin, add_options, ask
from ottla.terminal.output import Columns, Item, print_json, print_table


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "topics",
        help="list topics",
        description="List the topics of any Kafka. RECORDS counts the offsets from the start of the logs to their end; "
        "where a log is compacted or has transactions there are fewer records.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List the topics; returns the exit code."""
    return ask(options, list_topics, print_json if options.json else _print_table)


async def list_topics(admin: Admin) -> list[Item]:
    """Every topic, by name. Offsets are None where a partition has no leader to ask."""
    topics = await admin.topics()
    starts, ends = await admin.offsets(topics)
    return [
        {
            "topic": topic["topic"],
            "is_internal": topic["is_internal"],
            "partitions": [
                {
                    "partition": partition["partition"],
                    "leader": partition["leader"],
                    "replicas": partition["replicas"],
                    "isr": partition["isr"],
                    "log_start_offset": starts.get((topic["topic"], partition["partition"])),
                    "log_end_offset": ends.get((topic["topic"], partition["partition"])),
                }
                for partition in sorted(topic["partitions"], key=lambda partition: int(partition["partition"]))
            ],
        }
        for topic in topics
    ]


def _replication(topic: Item) -> int | None:
    return max((len(partition["replicas"]) for partition in topic["partitions"]), default=None)


def _records(topic: Item) -> int | None:
    """Offsets from the start to the end of all logs; None if one of them is unknown."""
    partitions = topic["partitions"]
    if any(partition["log_end_offset"] is None for partition in partitions):
        return None
    records: int = sum(partition["log_end_offset"] - partition["log_start_offset"] for partition in partitions)
    return records


_COLUMNS: Final[Columns] = {
    "TOPIC": "topic",
    "PARTITIONS": lambda topic: len(topic["partitions"]),
    "REPLICATION": _replication,
    "INTERNAL": "is_internal",
    "RECORDS": _records,
}


def _print_table(topics: list[Item]) -> None:
    print_table(topics, _COLUMNS)
