"""`ottla events`: what happened last in a running broker, as a table; with `--follow` what happens from now on."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

from ottla.cli import control_client
from ottla.terminal.exit_codes import EXIT_MACHINE, fail
from ottla.terminal.output import print_json, print_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

_DATA: Final = b"data: "


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "events",
        help="show past events, or follow new ones",
        description="Show the last events of a running Ottla as a table. With --follow, print each event when it "
        "happens, as a line of JSON, until Ctrl-C or the broker's end. Uses the control API.",
        allow_abbrev=False,
    )
    parser.add_argument("--follow", action="store_true", help="print new events")
    parser.add_argument(
        "--kind",
        metavar="KIND",
        action="append",
        default=[],
        help="with --follow: only this kind, such as group.*; may be repeated (default: all)",
    )
    control_client.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Tell; returns the exit code."""
    if options.follow:
        return _follow(options)
    answer = control_client.ask(options, "GET", "/timeline")
    if isinstance(answer, int):
        return answer
    if options.json:
        print_json(answer)
    else:
        for line in answer["text"].splitlines():
            print_line(line)
    return 0


def _follow(options: argparse.Namespace) -> int:
    from urllib.parse import urlencode

    query = urlencode([("kind", kind) for kind in options.kind])
    feed = control_client.follow(options, f"/events?{query}" if query else "/events")
    if isinstance(feed, int):
        return feed
    with feed:
        for event in _events(feed):
            print_line(json.dumps(event), flush=True)
    return fail("the broker has stopped", EXIT_MACHINE)


def _events(feed: HTTPResponse) -> Iterator[dict[str, Any]]:
    """What the server-sent events say, until they end."""
    for line in feed:
        if line.startswith(_DATA):
            yield json.loads(line.removeprefix(_DATA))
