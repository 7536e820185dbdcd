"""`ottla topics`: what topics there are, in any Kafka. Also a health check: it fails unless a broker answers."""

from __future__ import annotations

import argparse
from typing import Any

from ottla.broker.cli.admin import Admin, add_options, ask
from ottla.broker.cli.output import print_json, print_table


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


async def list_topics(admin: Admin) -> list[dict[str, Any]]:
    """Every topic, by name. Offsets are None where a partition has no leader to ask."""
    topics = await admin.topics()
    led = [
        (topic["topic"], partition["partition"])
        for topic in topics
        for partition in topic["partitions"]
        if partition["leader"] >= 0
    ]
    starts, ends = await admin.offsets(led)
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


def _print_table(topics: list[dict[str, Any]]) -> None:
    headers = ("TOPIC", "PARTITIONS", "REPLICATION", "INTERNAL", "RECORDS")
    print_table(headers, [_row(topic) for topic in topics])


def _row(topic: dict[str, Any]) -> tuple[object, ...]:
    partitions = topic["partitions"]
    records = None
    if all(partition["log_end_offset"] is not None for partition in partitions):
        records = sum(partition["log_end_offset"] - partition["log_start_offset"] for partition in partitions)
    replication = max((len(partition["replicas"]) for partition in partitions), default=None)
    return topic["topic"], len(partitions), replication, topic["is_internal"], records
