"""Questions to any Kafka, through aiokafka, and the errors that commands show.

`ottla topics` and `ottla groups` work with a real Kafka as with Ottla. Only aiokafka's public interface is used, and it
is imported when a command runs.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ottla.cli.first_contact import NotKafka, check_is_kafka
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.unreachable import nobody_answers

if TYPE_CHECKING:
    from aiokafka.admin import AIOKafkaAdminClient

    from ottla.terminal.output import Item

T = TypeVar("T")
#: Topic and number.
Partition: TypeAlias = tuple[str, int]

TIMEOUT_SECONDS_DEFAULT: Final = 10.0
#: Between two attempts, when a broker says that it will be able to answer soon.
RETRY_SECONDS: Final = 0.1


class NotFound(Exception):
    """The user named something that isn't there; the text is for people."""


class NobodyAnswers(Exception):
    """There is no first connection."""


class UnreachableNode(Exception):
    """The first connection named a broker that can't be reached: the usual trouble with containers."""


class CannotAnswer(Exception):
    """The cluster refuses; the text says why."""


def add_options(parser: argparse.ArgumentParser, *, is_repeated: bool = False) -> None:
    """The options every command has that asks a broker. `is_repeated`: the parser it belongs to has them already."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if is_repeated else value

    option = parser.add_argument
    option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        default=default("127.0.0.1:9092"),
        help="any broker of the cluster (default: 127.0.0.1:9092)",
    )
    option("--json", action="store_true", default=default(False), help="JSON instead of a table")
    option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=default(TIMEOUT_SECONDS_DEFAULT),
        help=f"how long to wait for the complete answer (default: {TIMEOUT_SECONDS_DEFAULT:.0f})",
    )


class Admin:
    """A cluster that answers questions."""

    def __init__(self, bootstrap: str, timeout_ms: int) -> None:
        from aiokafka.admin import AIOKafkaAdminClient

        self._options: dict[str, Any] = {"bootstrap_servers": bootstrap, "request_timeout_ms": timeout_ms}
        self.client: AIOKafkaAdminClient = AIOKafkaAdminClient(client_id="ottla-cli", **self._options)

    async def brokers(self) -> list[Item]:
        """The nodes that are up, as node_id, host, port."""
        described = await self.client.describe_cluster()
        return [{key: broker[key] for key in ("node_id", "host", "port")} for broker in described["brokers"]]

    async def topics(self) -> list[Item]:
        """Every topic, its partitions with their leaders and replicas."""
        described: list[Item] = await self.client.describe_topics()
        return sorted(described, key=lambda topic: str(topic["topic"]))

    async def listed_groups(self, node_id: int) -> list[tuple[str, str]]:
        """The groups this node coordinates, with their protocol types."""
        return [(group[0], group[1]) for group in await self.client.list_consumer_groups([node_id])]

    async def described_groups(self, group_ids: list[str], node_id: int) -> list[Item]:
        """State, protocol and members of groups this node coordinates, in the order of the ids.

        They are asked for one by one, all at once: aiokafka loses its way in an answer about several groups.
        """
        asked = [self.client.describe_consumer_groups([group_id], node_id) for group_id in group_ids]
        return [answers[0].to_object()["groups"][0] for answers in await asyncio.gather(*asked)]

    async def committed(self, group_id: str, node_id: int) -> dict[Partition, int]:
        """What a group has committed, by topic and partition."""
        offsets = await self.client.list_consumer_group_offsets(group_id, node_id)
        return {(topic, index): found.offset for (topic, index), found in offsets.items() if found.offset >= 0}

    async def offsets(
        self, topics: Iterable[Item], partitions: Collection[Partition] | None = None
    ) -> tuple[dict[Partition, int], dict[Partition, int]]:
        """Where the logs of these partitions begin and end; None: of all in `topics`. Those without a leader to ask
        are left out.
        """
        from aiokafka import AIOKafkaConsumer, TopicPartition

        led = [
            TopicPartition(topic["topic"], partition["partition"])
            for topic in topics
            for partition in topic["partitions"]
            if partition["leader"] >= 0
        ]
        asked = [partition for partition in led if partitions is None or partition in partitions]
        if not asked:
            return {}, {}
        consumer = AIOKafkaConsumer(client_id="ottla-cli", **self._options)
        await consumer.start()
        try:
            return await consumer.beginning_offsets(asked), await consumer.end_offsets(asked)
        finally:
            await consumer.stop()


def ask(options: argparse.Namespace, question: Callable[[Admin], Awaitable[T]], show: Callable[[T], None]) -> int:
    """Put a question to the cluster and show the answer; returns the exit code."""
    return converse(options, lambda bootstrap, seconds: _ask(bootstrap, seconds, question), show)


def converse(
    options: argparse.Namespace, have_answer: Callable[[str, float], Awaitable[T]], show: Callable[[T], None]
) -> int:
    """Have an answer from the cluster within the time that is given, and show it; returns the exit code."""
    bootstrap = options.bootstrap_server
    if not _is_bootstrap(bootstrap):
        return fail(f"--bootstrap-server {bootstrap} is not HOST:PORT, such as 127.0.0.1:9092", EXIT_USAGE)
    if not 0 < options.timeout < math.inf:
        return fail(f"--timeout {options.timeout:g} is not a number above 0; it is in seconds", EXIT_USAGE)
    try:
        answer = asyncio.run(_run(bootstrap, options.timeout, have_answer))
    except NotKafka as error:
        return fail(str(error), EXIT_MACHINE)
    except NobodyAnswers:
        return fail(nobody_answers(bootstrap, "--bootstrap-server"), EXIT_MACHINE)
    except UnreachableNode:
        return fail(
            f"{bootstrap} answers, but names a broker that can't be reached from here; "
            "let each broker advertise an address that its clients reach (`ottla serve --advertise HOST:PORT`)",
            EXIT_MACHINE,
        )
    except TimeoutError:
        return fail(
            f"{bootstrap} did not answer within {options.timeout:g} s; "
            "if it is a Kafka that takes longer, raise --timeout SECONDS",
            EXIT_MACHINE,
        )
    except NotFound as error:
        return fail(str(error), EXIT_MACHINE)
    except CannotAnswer as error:
        return fail(f"{bootstrap} can't answer that: {error}", EXIT_MACHINE)
    show(answer)
    return 0


async def _run(bootstrap: str, timeout_seconds: float, have_answer: Callable[[str, float], Awaitable[T]]) -> T:
    async with asyncio.timeout(timeout_seconds):
        await check_is_kafka(bootstrap)
    return await have_answer(bootstrap, timeout_seconds)


async def _ask(bootstrap: str, timeout_seconds: float, question: Callable[[Admin], Awaitable[T]]) -> T:
    """Ask until there is an answer, or an error that time won't mend. Raises `TimeoutError` and what is above."""
    import logging

    from aiokafka.errors import KafkaConnectionError, KafkaError, NodeNotReadyError

    logging.getLogger("aiokafka").addHandler(logging.NullHandler())  # its many lines; the command's error is one
    last_error: KafkaError | None = None
    admin = Admin(bootstrap, round(timeout_seconds * 1000))
    try:
        async with asyncio.timeout(timeout_seconds):
            try:
                await admin.client.start()
            except KafkaConnectionError:
                raise NobodyAnswers from None
            while True:
                try:
                    return await question(admin)
                except KafkaError as error:
                    if not error.retriable:
                        raise CannotAnswer(str(error)) from None
                    last_error = error
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        if isinstance(last_error, NodeNotReadyError):
            raise UnreachableNode from None
        raise
    finally:
        await admin.client.close()


def _is_bootstrap(text: str) -> bool:
    """HOST:PORT, or several with commas between them."""
    addresses = [address.rpartition(":") for address in text.split(",")]
    return all(host and port.isdecimal() and 0 < int(port) < 65_536 for host, _, port in addresses)
