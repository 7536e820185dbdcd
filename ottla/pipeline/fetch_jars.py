"""`ottla pipeline fetch-jars DIR`: put the connector's jars into a folder, for machines without a network.

Spark itself resolves them, as it does for a job, so mirrors and credentials set up for Spark (`spark.jars.ivySettings`,
`spark.jars.repositories`) count here too.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ottla.pipeline import machine
from ottla.pipeline.launch import add_spark_options, spark_settings
from ottla.pipeline.refusals import CannotWork, Refusal
from ottla.pipeline.session import CONNECTOR, open_session
from ottla.terminal.exit_codes import fail
from ottla.terminal.output import print_line

NAME = "fetch-jars"


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        NAME,
        help="put Spark's Kafka connector into a folder, for machines without a network",
        description=f"Put {CONNECTOR} and its dependencies into a folder, some 10 MB. "
        "Jobs use the folder with --jars DIR.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="created if missing")
    add_spark_options(parser, takes_jars=False)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Fetch them; returns the exit code."""
    folder: Path = options.folder
    try:
        settings = spark_settings(options)
        machine.refuse_if_missing()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with open_session(NAME, settings, needs_connector=True) as spark:
                jars = spark.sparkContext.getConf().get("spark.jars", "").split(",")
                fetched = [shutil.copy(urlsplit(unquote(jar)).path, folder) for jar in jars]
        except OSError as error:
            raise CannotWork(f"cannot write to {folder}: {error.strerror}; name a folder that can be") from None
    except Refusal as refusal:
        return fail(str(refusal), refusal.exit_code)
    size = sum(Path(jar).stat().st_size for jar in fetched)
    print_line(f"{NAME}: {len(fetched)} jars, {size:,} bytes; give --jars {folder}")
    return 0
