"""What all commands that ask a Kafka share: their options, and the errors that they show."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from ottla.cli.first_contact import NotKafka, check_is_kafka
from ottla.terminal.bootstrap import fault_of, no_answer
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail

T = TypeVar("T")
#: Topic and number.
Partition: TypeAlias = tuple[str, int]

TIMEOUT_SECONDS_DEFAULT: Final = 10.0
#: Between two attempts, when a broker says that it will be able to answer soon.
RETRY_SECONDS: Final = 0.1


class NotFound(Exception):
    """The user named something that isn't there; the text is for people."""


class NoAnswer(Exception):
    """No broker of --bootstrap-server can be reached."""


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


def converse(
    options: argparse.Namespace, have_answer: Callable[[str, float], Awaitable[T]], show: Callable[[T], None]
) -> int:
    """Have an answer from the cluster within the time that is given, and show it; returns the exit code."""
    bootstrap = options.bootstrap_server
    if fault := fault_of(bootstrap, "--bootstrap-server", options.timeout):
        return fail(fault, EXIT_USAGE)
    try:
        answer = asyncio.run(_run(bootstrap, options.timeout, have_answer))
    except NotKafka as error:
        return fail(str(error), EXIT_MACHINE)
    except NoAnswer:
        return fail(no_answer(bootstrap, "--bootstrap-server"), EXIT_MACHINE)
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


def silence_aiokafka() -> None:
    """It logs many lines where a command says one."""
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
