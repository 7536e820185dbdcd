"""The command line: `ottla serve`, and small commands for people at a terminal, a module each.

Exit codes: 0 fine, 1 the machine refused (a busy port, no answer), 2 what the user wrote can't be used. An error is one
line on stderr that says what to do.

`serve` has to start fast, so only the module of the named command is imported, and it imports what it needs.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final, TextIO

from ottla.terminal.exit_codes import EXIT_INTERRUPTED, EXIT_MACHINE, fail
from ottla.terminal.output import print_line
from ottla.terminal.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Sequence

#: In the order of `ottla --help`; each is a module here.
_COMMANDS: Final = (
    "serve",
    "topics",
    "groups",
    "transactions",
    "nodes",
    "fault",
    "wait",
    "reset",
    "events",
    "log",
    "trace",
    "rebalances",
    "pipeline",
    "conformance",
)
_NOT_WRITTEN: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may have letters that a terminal has not
    words = sys.argv[1:] if arguments is None else arguments
    try:
        options = make_parser(words[0] if words else None).parse_args(words)
        exit_code: int = options.run(options)
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        exit_code = _drop(sys.stdout, error)
    except KeyboardInterrupt:
        exit_code = EXIT_INTERRUPTED
    finally:
        flushed = _flush(sys.stdout)
        _flush(sys.stderr)
    return exit_code or flushed


def make_parser(command: str | None = None) -> Parser:
    """The parser of this command; of all commands, if there is none of this name."""
    parser = Parser(prog="ottla", description="A Kafka stand-in for tests and laptops.", allow_abbrev=False)
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show the version and exit")
    # With `prog` said, argparse need not lay out a line of usage to find it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog=parser.prog)
    for name in (command,) if command in _COMMANDS else _COMMANDS:
        import_module(f"{__name__}.{name}").add_to(commands)
    return parser


class _ShowVersion(argparse.Action):
    """Looks the version up, which takes a while, only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_unused: object) -> None:
        from ottla import __version__

        print_line(f"ottla {__version__}")
        parser.exit()


def _flush(stream: TextIO | None) -> int:
    """Write what is left, or Python would at its end, and make it the exit code if that fails. Returns our own."""
    if stream is None:  # closed, before we came
        return 0
    try:
        stream.flush()
    except OSError as error:
        return _drop(stream, error)
    return 0


def _drop(stream: TextIO, error: OSError) -> int:
    """stdout or stderr can't be written. A closed pipe is no error to tell; any other failure is."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_MACHINE
    return fail(f"what was found cannot be written: {error.strerror}", EXIT_MACHINE)
