"""`ottla wait`: return when a group, a topic or the broker is as it should be; for scripts that would sleep.

ottla wait kitchen --members 2 --state Stable
ottla wait kitchen --committed orders-0 --at-least 7
ottla wait --topic orders --records 7
ottla wait --idle
"""

from __future__ import annotations

import argparse
from typing import Any

from ottla.cli import control_client
from ottla.terminal.exit_codes import EXIT_USAGE, fail
from ottla.terminal.output import print_json, print_line


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "wait",
        help="wait for a state of a group, a topic or the broker",
        description="Wait until all conditions are true. Exit code 0: they are; 1: not within --timeout, and a line "
        "shows the present state. Uses the control API of a running Ottla.",
        allow_abbrev=False,
    )
    parser.add_argument("group", metavar="GROUP", nargs="?", help="the group to wait for")
    parser.add_argument("--state", metavar="STATE", help="the group's state, such as Stable or Empty")
    parser.add_argument("--members", metavar="N", type=int, help="the group has this many members")
    parser.add_argument("--generation", metavar="N", type=int, help="the group is in this generation")
    parser.add_argument("--lag", metavar="N", type=int, help="the lag is this many records, in all partitions together")
    parser.add_argument("--assigned", action="store_true", help="every partition of its topics has a reader")
    parser.add_argument("--committed", metavar="TOPIC-PARTITION", help="with --at-least: the committed partition")
    parser.add_argument("--at-least", metavar="OFFSET", type=int, help="with --committed: this offset, or a later one")
    parser.add_argument("--topic", metavar="TOPIC", help="with --records: the topic to wait for")
    parser.add_argument("--records", metavar="N", type=int, help="with --topic: at least this many records")
    parser.add_argument("--idle", action="store_true", help="no group rebalances, and the broker has no work")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=10.0, help="at most 25 (default: %(default)s)"
    )
    control_client.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Wait; returns the exit code."""
    try:
        wish = _wish(options)
    except ValueError as error:
        return fail(str(error), EXIT_USAGE)
    answer = control_client.ask(options, "POST", "/wait", wish)
    if isinstance(answer, int):
        return answer
    print_json(answer) if options.json else print_line(f"waited for {answer['waited_for']}")
    return 0


def _wish(options: argparse.Namespace) -> dict[str, Any]:
    """What the control API is asked. Raises `ValueError`."""
    if not 0 <= options.timeout <= _TIMEOUT_SECONDS_MAX:
        raise ValueError(f"--timeout is from 0 to {_TIMEOUT_SECONDS_MAX} seconds, not {options.timeout:g}")
    named = ("group", "state", "members", "generation", "lag", "topic", "records", "at_least")
    wish = {name: value for name in named if (value := getattr(options, name)) is not None}
    if options.committed is not None:
        topic, _, partition = options.committed.rpartition("-")
        if not topic or not partition.isdecimal():
            raise ValueError(f"--committed is TOPIC-PARTITION, such as orders-0, not {options.committed}")
        wish.update(topic=topic, partition=int(partition))
    if options.assigned:
        wish["assigned"] = True
    if options.idle:
        wish["idle"] = True
    if not wish:
        raise ValueError("say what to wait for: GROUP with --state, --members, --lag or others, --topic, or --idle")
    return {**wish, "timeout_ms": int(options.timeout * 1000)}


#: Less than the client of the control API waits.
_TIMEOUT_SECONDS_MAX = 25
