"""`ottla conformance HOST:PORT`: does a broker answer as Kafka does? The suite is loaded when it is asked for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

#: The release of Kafka whose answers count where no other is named.
_RELEASE = "4.4"


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "conformance",
        help="compare any broker's answers with Kafka's",
        description="Send some thousand recorded exchanges of requests to a broker, and compare its answers with "
        "Kafka's. The command writes topics, groups and transactions, and deletes them at the end: use a broker for "
        "tests. Exit code 0: all answers are equal; 1: some differ; 2: the command line can't be used.",
        allow_abbrev=False,
    )
    parser.add_argument("broker", metavar="HOST:PORT", nargs="?", help="the broker to ask, a cluster of one")
    parser.add_argument(
        "--area", metavar="AREAS", action="append", default=[], help="only these areas, separated by commas"
    )
    parser.add_argument(
        "--api",
        metavar="APIS",
        action="append",
        default=[],
        help="only scripts with these requests, separated by commas: JoinGroup, JoinGroup:9, JoinGroup:5-9",
    )
    parser.add_argument("--only", metavar="NAME", default="*", help="only scripts of this name, with wildcards")
    parser.add_argument("--list", action="store_true", help="print the scripts that would run, and run none")
    parser.add_argument("--settings", action="store_true", help="print the settings with which all scripts can run")
    parser.add_argument(
        "--assume",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="assume that the broker has this setting; may be repeated",
    )
    parser.add_argument(
        "--release", metavar="X.Y", default=_RELEASE, help="the release of Kafka (default: %(default)s)"
    )
    parser.add_argument(
        "--tries",
        metavar="N",
        type=int,
        default=3,
        help="a difference counts if it appears in this many tries (default: 3)",
    )
    parser.add_argument(
        "--patience", metavar="SECONDS", type=float, default=5.0, help="how long to wait for an answer (default: 5)"
    )
    parser.add_argument("--against", metavar="HOST:PORT", help="compare with this broker instead of recorded answers")
    parser.add_argument(
        "--walks", metavar="N", type=int, help="with --against: this many new random walks of each kind"
    )
    parser.add_argument(
        "--seed", metavar="S", type=int, default=1_000, help="the seed of the first of --walks (default: 1000)"
    )
    parser.add_argument("--all-steps", action="store_true", help="show every step that differs, not the first three")
    parser.add_argument("--bytes", action="store_true", help="show the bytes of requests and answers that differ")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the card as a page")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the card as JSON")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="write the card as JUnit's XML")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Play the scripts; returns the exit code."""
    from ottla.conformance.command import run as play

    return play(options)
