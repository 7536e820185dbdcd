"""`ottla topics produce TOPIC`: make records from the lines of a file or of stdin of any Kafka.

Each line is a value; with --key-separator a key and a value; with --json what `ottla topics consume --json` prints.
Every record is acknowledged by all replicas in sync before it counts.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from ottla.cli.admin import add_options, silence_aiokafka
from ottla.cli.cluster import ContactedCluster, ask
from ottla.cluster.topic_names import name_fault
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_json, print_line
from ottla.text.record_json import NotARecord, WrittenRecord, read_json_line

#: How many records are read and sent before their acknowledgements are waited for.
_IN_FLIGHT_MAX: Final = 1_000


def add_to(actions: Any) -> None:
    """Add the action and its options."""
    parser = actions.add_parser(
        "produce",
        help="write the lines of a file or of stdin as records",
        description="Append a record to a topic for each line of a file or of stdin. The line is the value. With "
        "--json a line is what `ottla topics consume --json` prints; its partition and time are kept, its topic "
        "and offset are ignored.",
        allow_abbrev=False,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("file", metavar="FILE", nargs="?", help="default: stdin")
    parser.add_argument("--partition", metavar="N", type=int, help="the partition (default: chosen by the key, or any)")
    parser.add_argument("--key", metavar="TEXT", help="the key of all records")
    parser.add_argument(
        "--key-separator", metavar="TEXT", help="the text between key and value; a line without it has no key"
    )
    parser.add_argument(
        "--header", metavar="NAME=VALUE", action="append", default=[], help="a header of all records; may be repeated"
    )
    add_options(parser, is_repeated=True)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Append records; returns the exit code."""
    if options.json and (options.key is not None or options.key_separator is not None):
        return fail("--json lines have keys of their own; leave out --key and --key-separator", EXIT_USAGE)
    if unnamed := [header for header in options.header if "=" not in header]:
        return fail(f"--header {unnamed[0]} is not NAME=VALUE, such as from=ana", EXIT_USAGE)
    if fault := name_fault(options.topic):
        return fail(f"no topic can have this name: {fault}", EXIT_USAGE)
    exit_code = ask(options, _answers, lambda _brokers: None)
    return exit_code or _produce(options)


async def _answers(cluster: ContactedCluster) -> object:
    return cluster.brokers


def _produce(options: argparse.Namespace) -> int:
    import asyncio

    from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError

    try:
        with _opened(options.file) as lines:
            partitions = asyncio.run(_send(options, _records(options, lines)))
    except NotARecord as error:
        return fail(str(error), EXIT_USAGE)
    except OSError as error:
        return fail(f"cannot read {error.filename or options.file}: {error.strerror}", EXIT_MACHINE)
    except UnknownTopicOrPartitionError:
        return fail(f"there is no topic {options.topic}, and the broker did not create it", EXIT_MACHINE)
    except (KafkaError, ValueError) as error:
        return fail(f"{options.topic} did not take a record: {error or type(error).__name__}", EXIT_MACHINE)
    said = {"topic": options.topic, "records": sum(partitions.values()), "partitions": partitions}
    if options.json:
        print_json(said)
    else:
        records = said["records"]
        print_line(f"{records} {'record' if records == 1 else 'records'} to {options.topic}")
    return 0


@contextmanager
def _opened(name: str | None) -> Iterator[BinaryIO]:
    if name is None or name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file


def _records(options: argparse.Namespace, lines: BinaryIO) -> Iterator[WrittenRecord]:
    """A record for each line. Raises `NotARecord`."""
    headers = [(name, value.encode()) for name, _, value in (header.partition("=") for header in options.header)]
    separator = None if options.key_separator is None else options.key_separator.encode()
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if not options.json:
            key, found, value = text.partition(separator) if separator else (b"", b"", text)
            own_key = key if found else None if options.key is None else options.key.encode()
            yield WrittenRecord(own_key, value if found else text, headers, partition=options.partition)
        elif text.strip():
            try:
                record = read_json_line(text.decode())
            except (NotARecord, UnicodeDecodeError) as error:
                raise NotARecord(f"line {number}: {error}") from None
            partition = record.partition if options.partition is None else options.partition
            yield replace(record, headers=[*record.headers, *headers], partition=partition)


async def _send(options: argparse.Namespace, records: Iterator[WrittenRecord]) -> dict[int, int]:
    """Append all of them; returns how many are in each partition."""
    from aiokafka import AIOKafkaProducer

    silence_aiokafka()
    producer = AIOKafkaProducer(
        bootstrap_servers=options.bootstrap_server,
        client_id="ottla-cli",
        acks="all",
        request_timeout_ms=round(options.timeout * 1000),
    )
    await producer.start()
    counts = Counter[int]()
    try:
        there = await producer.partitions_for(options.topic)
        while some := list(islice(records, _IN_FLIGHT_MAX)):
            if missing := {record.partition for record in some} - there - {None}:
                raise NotARecord(f"{options.topic} has no partition {missing.pop()}; it has {len(there)}, from 0")
            sent = [
                await producer.send(
                    options.topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )
                for record in some
            ]
            # All are awaited: an error that is not taken is reported once more, for each record, when it goes.
            for result in await asyncio.gather(*sent, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
                counts[result.partition] += 1
    finally:
        await producer.stop()
    return dict(sorted(counts.items()))
