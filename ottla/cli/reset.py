"""`ottla reset`: reset a running broker to its state after the start: no topics, no groups, all nodes up."""

from __future__ import annotations

import argparse
from typing import Any

from ottla.cli import control_client
from ottla.terminal.output import print_json, print_line


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "reset",
        help="reset a running Ottla to its state at the start",
        description="Delete every topic and group of a running Ottla, undo changes of settings, and start stopped "
        "nodes, through its control API. Connections stay.",
        allow_abbrev=False,
    )
    control_client.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Reset; returns the exit code."""
    answer = control_client.ask(options, "POST", "/reset", {})
    if isinstance(answer, int):
        return answer
    print_json(answer) if options.json else print_line("the broker is as it was at its start")
    return 0
