"""`ottla topics consume TOPIC`: the records of a topic of any Kafka; `ottla topics tail TOPIC`: its last, and the next.

No group is joined and nothing committed. Reading ends where the partitions ended when it began, unless it is to go on.
Records of one partition come in their order; of several, as their brokers send them.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.admin import NotFound, add_options, silence_aiokafka
from ottla.cli.cluster import ContactedCluster, ask
from ottla.cli.record_lines import text_line
from ottla.cli.start_of_reading import FromOffset, FromTime, NoStart, parse_start
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_data, print_line
from ottla.terminal.printable import printable
from ottla.text.record_json import WrittenRecord, json_line

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

_TAIL_DEFAULT: Final = 10
#: How long to wait for records before looking whether the end is reached.
_LOOK_MS: Final = 200


def add_to(actions: Any) -> None:
    """Add the actions and their options."""
    consuming = actions.add_parser(
        "consume",
        help="print the records of a topic, to its end",
        description="Print the records of a topic: partition and offset, time, key, value, headers. "
        "The command joins no group.",
        allow_abbrev=False,
    )
    _add_options(consuming)
    consuming.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        default="beginning",
        help="beginning, end, an offset, -10 (the last ten of each partition), 15m (ago), or a time such as "
        "2026-11-22T10:00 (default: beginning)",
    )
    consuming.add_argument("--follow", action="store_true", help="continue with new records, until Ctrl-C")
    consuming.set_defaults(run=run)
    tailing = actions.add_parser(
        "tail",
        help="print the last records of a topic, then new ones",
        description="Print the last records of each partition, then new records, until Ctrl-C.",
        allow_abbrev=False,
    )
    _add_options(tailing)
    tailing.add_argument(
        "-n",
        dest="last",
        metavar="N",
        type=int,
        default=_TAIL_DEFAULT,
        help=f"the number of last records of each partition (default: {_TAIL_DEFAULT})",
    )
    tailing.set_defaults(run=run_tail)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--partition", metavar="N", type=int, action="append", default=[], help="only this partition; may be repeated"
    )
    parser.add_argument("--max", metavar="N", type=int, help="stop after this many records")
    parser.add_argument("--values", action="store_true", help="print only values, one a line")
    parser.add_argument(
        "--uncommitted",
        action="store_true",
        help="also records of open and aborted transactions (default: only committed records)",
    )
    add_options(parser, is_repeated=True)


def run_tail(options: argparse.Namespace) -> int:
    """Print the last records and what comes; returns the exit code."""
    if options.last < 0:
        return fail(f"-n {options.last} is below 0; it is how many records to begin with", EXIT_USAGE)
    options.start, options.follow = f"-{options.last}", True
    return run(options)


def run(options: argparse.Namespace) -> int:
    """Print records; returns the exit code."""
    try:
        start = parse_start(options.start, time.time_ns() // 1_000_000)
    except NoStart as error:
        return fail(str(error), EXIT_USAGE)
    if options.max is not None and options.max < 1:
        return fail(f"--max {options.max} is below 1; it is how many records to print", EXIT_USAGE)
    partitions: list[int] = []
    exit_code = ask(options, lambda cluster: _partitions(cluster, options.topic, options.partition), partitions.extend)
    return exit_code or _read(options, start, partitions)


async def _partitions(cluster: ContactedCluster, topic: str, wanted: list[int]) -> list[int]:
    """The partitions to read."""
    there = [partition["partition"] for partition in (await cluster.topic(topic))["partitions"]]
    if missing := sorted(set(wanted) - set(there)):
        raise NotFound(f"{printable(topic)} has no partition {missing[0]}; it has {len(there)}, from 0")
    return wanted or there


def _read(options: argparse.Namespace, start: FromOffset | FromTime | None, partitions: list[int]) -> int:
    import asyncio

    from aiokafka.errors import KafkaError

    try:
        asyncio.run(_Reading(options, start).run(partitions))
    except (KafkaError, TimeoutError) as error:
        return fail(f"{options.bootstrap_server} can't be read: {error or 'it did not answer in time'}", EXIT_MACHINE)
    return 0


class _Reading:
    """One reading of a topic, from its start to its end."""

    def __init__(self, options: argparse.Namespace, start: FromOffset | FromTime | None) -> None:
        self._options = options
        self._start = start
        self._printed = 0

    async def run(self, partitions: list[int]) -> None:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        silence_aiokafka()

        options = self._options
        consumer = AIOKafkaConsumer(
            bootstrap_servers=options.bootstrap_server,
            client_id="ottla-cli",
            request_timeout_ms=round(options.timeout * 1000),
            isolation_level="read_uncommitted" if options.uncommitted else "read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        try:
            asked = [TopicPartition(options.topic, partition) for partition in partitions]
            consumer.assign(asked)
            await self._print_all(consumer, await self._seek(consumer, asked))
        finally:
            await consumer.stop()

    async def _seek(self, consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Go to where reading begins; returns where it ends, for partitions in which there is something to read."""
        begins, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
        match self._start:
            case FromTime(timestamp_ms):
                found = await consumer.offsets_for_times(dict.fromkeys(partitions, timestamp_ms))
                at = {one: ends[one] if found.get(one) is None else found[one].offset for one in partitions}
            case FromOffset(offset) if offset < 0:
                at = {one: ends[one] + offset for one in partitions}
            case FromOffset(offset):
                at = dict.fromkeys(partitions, offset)
            case _:
                at = ends
        for one in partitions:
            at[one] = min(max(at[one], begins[one]), ends[one])
            consumer.seek(one, at[one])
        return {one: ends[one] for one in partitions if at[one] < ends[one]}

    async def _print_all(self, consumer: AIOKafkaConsumer, left: dict[TopicPartition, int]) -> None:
        """Print until nothing is left of what was there at the start, or for ever."""
        options = self._options
        while left or options.follow:
            for partition, records in (await consumer.getmany(timeout_ms=_LOOK_MS)).items():
                for record in records:
                    if not options.follow and record.offset >= left.get(partition, 0):
                        break
                    self._print(record)
                    if self._printed == options.max:
                        return
            if not options.follow:
                left = {one: end for one, end in left.items() if await consumer.position(one) < end}

    def _print(self, record: ConsumerRecord[bytes, bytes]) -> None:
        options = self._options
        said = WrittenRecord(record.key, record.value, record.headers, timestamp_ms=record.timestamp)
        if options.json:
            print_line(json_line(record.topic, record.partition, record.offset, said), flush=options.follow)
        elif options.values:
            print_data(record.value or b"", flush=options.follow)
        else:
            print_line(text_line(record.partition, record.offset, said), flush=options.follow)
        self._printed += 1
