"""The command line: `ottla serve`, and small commands for people at a terminal, a module each.

Exit codes: 0 fine, 1 the machine refused (a busy port, nobody answers), 2 what the user wrote can't be used. Whatever
goes wrong is one line on stderr that says what to do.

Imports here are few: what a command needs it imports itself, for `serve` has to be up in a blink.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from ottla import __version__
from ottla.broker.cli import groups, log, nodes, pipeline, serve, topics
from ottla.terminal.exit_codes import EXIT_INTERRUPTED, EXIT_MACHINE, fail
from ottla.terminal.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = Parser(prog="ottla", description="A Kafka stand-in for tests and laptops.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"ottla {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (serve, topics, groups, nodes, log, pipeline):
        command.add_to(commands)
    try:
        options = parser.parse_args(arguments)
        exit_code: int = options.run(options)
    except BrokenPipeError:  # whoever read our output has seen enough
        exit_code = EXIT_MACHINE
    except KeyboardInterrupt:
        exit_code = EXIT_INTERRUPTED
    finally:
        is_written = _flush(sys.stdout)
        _flush(sys.stderr)
    return exit_code if is_written else EXIT_MACHINE


def _flush(stream: TextIO | None) -> bool:
    """Write what is left; returns whether anybody took it. What nobody takes is dropped, for Python would try again at
    its end, and make that the exit code."""
    if stream is None:  # closed, before we came
        return True
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            fail(f"what was found cannot be written: {error.strerror}", EXIT_MACHINE)
        return False
    return True
