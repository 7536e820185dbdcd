"""`ottla rebalances`: its options, and what it shows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from ottla.rebalances.found import Found

#: As `found.TOP_DEFAULT`, which is imported only when the command runs.
_TOP = 20


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "rebalances",
        help="why, how often and how long groups rebalanced",
        description="Read journals of `ottla serve --journal FILE`. Show why, how often and how long groups "
        "rebalanced, and for how long partitions may have had no reader. Times are milliseconds. UNSTABLE MS is the "
        "time of rebalances. UNREAD MS adds the silence of members that the broker then removed.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "journals",
        metavar="FILE",
        nargs="+",
        help="a journal, a .gz, or a folder of journals; - is stdin. Several are merged by time",
    )
    parser.add_argument(
        "--group", metavar="GROUP", action="append", default=[], help="only this group; may be repeated"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=_TOP,
        help=f"the number of groups, members and rebalances to show (default: {_TOP})",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one JSON object")
    shown.add_argument("--html", metavar="PAGE", type=Path, help="write a page with a timeline")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, and show what was found; returns the exit code."""
    from ottla.rebalances.analysis import find
    from ottla.rebalances.journals import Journals, NoJournal

    if options.top < 0:
        return fail(f"--top {options.top} is below 0; it is how many groups to show", EXIT_USAGE)
    try:
        journals = Journals(options.journals)
        if options.html is not None and options.html.resolve() in journals.paths:
            return fail(f"--html {options.html} would be written over a journal; name another file", EXIT_USAGE)
        found = find(journals, options.group, options.top)
    except NoJournal as error:
        return fail(str(error), EXIT_MACHINE)
    except OSError as error:
        return fail(f"cannot read {error.filename or 'the journal'}: {error.strerror or error}", EXIT_MACHINE)
    if found.passed_over:
        fail(f"{found.passed_over:,} of {found.lines:,} lines were passed over: they could not be read", 0)
    if options.html is not None:
        return _write(options.html, found)
    if options.json:
        names = [name for name in type(found).__dataclass_fields__ if name != "states"]
        print_json({name: getattr(found, name) for name in names})
    else:
        _show(found, options.top)
    return 0


def _write(path: Path, found: Found) -> int:
    from ottla.rebalances.page import report

    try:
        path.write_text(report(found), "utf-8", errors="replace")  # a journal may have half a character
    except OSError as error:
        return fail(f"cannot write {path}: {error.strerror}", EXIT_MACHINE)
    print_line(str(path))
    return 0


def _show(found: Found, top: int) -> None:
    from ottla.rebalances.conclusion import conclusion
    from ottla.rebalances.found import tables

    print_line(conclusion(found))
    for items, columns in tables(found, top).values():
        if items:
            print_line()
            print_table(items, columns)
