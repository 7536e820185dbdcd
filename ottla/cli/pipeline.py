"""`ottla pipeline`: passes its arguments to the data pipeline, which is imported only then."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command. It has no options here: every word is the pipeline's, those with a dash too."""
    parser = commands.add_parser(
        "pipeline",
        help="Spark jobs over topics, groups and journals",
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a job; returns the exit code."""
    from ottla.pipeline.cli import main

    return main(options.arguments)
