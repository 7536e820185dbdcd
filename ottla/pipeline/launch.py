"""What is the same for every job: its options, the looks before Spark starts, the session, the closing line.

Exit codes are the broker's: 0 fine, 1 the machine refused, 2 what the user wrote can't be used, 130 Ctrl-C; each with
one line on stderr. On stdout is what the job found, and then the closing line; with `--json`, one object that has both.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.pipeline import machine
from ottla.pipeline.job import Job, JobOutcome, JobPlan
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork, Refusal
from ottla.pipeline.session import open_session
from ottla.terminal.exit_codes import EXIT_INTERRUPTED, fail
from ottla.terminal.output import print_json, print_line
from ottla.terminal.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What makes a session; tests have one of their own.
Open: TypeAlias = Callable[..., "AbstractContextManager[SparkSession]"]

SPARK_OPTIONS: Final = "Spark"


def main(job: Job[Any], arguments: Sequence[str] | None = None) -> int:
    """Run a job as a script, as spark-submit does; returns the exit code."""
    parser = Parser(prog=job.name, **help_texts(job, job.name))
    add_options(parser, job)
    return run(job, parser.parse_args(arguments))


def help_texts(job: Job[Any], program: str) -> dict[str, Any]:
    """What its parser has to be given."""
    return {
        "description": "\n".join(textwrap.fill(paragraph, 100) for paragraph in job.description.splitlines()),
        "epilog": f"example:\n  {program.removesuffix(job.name)}{job.example}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }


def add_options(parser: argparse.ArgumentParser, job: Job[Any]) -> None:
    """The job's own options, and those all jobs have."""
    job.add_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text for people")
    add_spark_options(parser, takes_jars=job.needs_connector)


def add_spark_options(parser: argparse.ArgumentParser, *, takes_jars: bool) -> None:
    group = parser.add_argument_group(SPARK_OPTIONS)
    if takes_jars:
        group.add_argument(
            "--jars",
            metavar="DIR",
            type=Path,
            help="take the connector from here, where `ottla pipeline fetch-jars` put it (default: Spark fetches it)",
        )
    group.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting of Spark, such as spark.driver.memory=2g (default: 1g) or spark.master=local[2] "
        "(default: local[*], all cores); may be repeated",
    )


def run(job: Job[JobPlan], options: argparse.Namespace, open_spark: Open = open_session) -> int:
    """Check, run, and say what came of it; returns the exit code."""
    started = time.monotonic()
    progress = Progress(job.name)
    try:
        settings = spark_settings(options)
        jars = jars_folder(options)
        machine.refuse_if_missing()
        plan = job.check(options)
        progress.step("starting Spark")
        with open_spark(job.name, settings, needs_connector=job.needs_connector, jars=jars) as spark:
            with progress.watching(spark.sparkContext):
                outcome = job.run(spark, plan, progress)
            _tell(job, outcome, time.monotonic() - started, as_json=options.json)
    except (Exception, KeyboardInterrupt) as error:
        if _is_interruption(error):
            return fail(f"{job.name} was stopped before its end", EXIT_INTERRUPTED)
        if isinstance(error, Refusal):
            return fail(str(error), error.exit_code)
        raise
    return 0


def _is_interruption(error: BaseException) -> bool:
    """Whether it is Ctrl-C, or what came of it: a call that PySpark makes on the way out may fail in its turn."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__context__
    return found is not None


def spark_settings(options: argparse.Namespace) -> dict[str, str]:
    """What `--conf` says. Raises `CannotUse`."""
    settings: dict[str, str] = {}
    for text in options.conf:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise CannotUse(f"--conf {text} is not KEY=VALUE with a key of Spark, such as spark.driver.memory=2g")
        settings[key] = value
    return settings


def jars_folder(options: argparse.Namespace) -> Path | None:
    """What `--jars` says. Raises `CannotWork` if there are none."""
    jars: Path | None = getattr(options, "jars", None)
    if jars is not None and not any(jars.glob("*.jar")):
        raise CannotWork(f"--jars {jars} has no jars; `ottla pipeline fetch-jars {jars}` puts them there")
    return jars


def _tell(job: Job[Any], outcome: JobOutcome, seconds: float, *, as_json: bool) -> None:
    """What was found, and the closing line."""
    rows, partitions, size = outcome.rows, outcome.partitions, outcome.bytes
    if as_json:
        numbers = {"rows": rows, "partitions": partitions, "bytes": size, "seconds": round(seconds, 3)}
        print_json({"job": job.name, **numbers, **outcome.found})
    else:
        outcome.show()
        print_line(f"{job.name}: {rows:,} rows, {partitions:,} partitions, {size:,} bytes, {seconds:.1f} seconds")
    sys.stdout.flush()
