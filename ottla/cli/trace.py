"""`ottla trace`: a page to look at, made of a journal, of saved events, or of two runs to compare."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_line


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "trace",
        help="make a page for the browser from a journal or from events",
        description="Make one page of HTML with lanes of groups and members, and all events with their causes. FILE is "
        "a journal, events saved from GET /events, or the page of a trace. With two files, the page shows their first "
        "difference.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="a journal, events, or a trace")
    parser.add_argument("other", metavar="OTHER", type=Path, nargs="?", help="another run, to compare with")
    parser.add_argument(
        "--out", metavar="PAGE", type=Path, help="where to write the page (default: FILE with .html at its end)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the page; returns the exit code."""
    from ottla.testing.trace.of_file import NoTrace, read_traces
    from ottla.testing.trace.page import write_page

    paths = [options.file] if options.other is None else [options.file, options.other]
    page = options.out or options.file.with_suffix(".compared.html" if options.other else ".html")
    if page in paths:
        return fail(f"{page} would be written over; say another one with --out", EXIT_USAGE)
    traces = []
    for path in paths:
        try:
            traces.append(read_traces(path)[0])
        except NoTrace as error:
            return fail(f"no trace can be made of {path}: {error}", EXIT_USAGE)
        except OSError as error:
            return fail(f"cannot read {path}: {error.strerror}", EXIT_MACHINE)
    try:
        write_page(page, traces, " and ".join(path.name for path in paths))
    except OSError as error:
        return fail(f"cannot write {page}: {error.strerror}", EXIT_MACHINE)
    print_line(str(page))
    return 0
