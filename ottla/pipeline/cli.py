"""`ottla pipeline`: every module of `jobs/` is a command, found by its file's name."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ottla.pipeline import fetch_jars, jobs
from ottla.pipeline.job import Job
from ottla.pipeline.launch import add_options, help_texts, run
from ottla.terminal.parser import Parser


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    options = make_parser().parse_args(arguments)
    exit_code: int = options.run(options)
    return exit_code


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="ottla pipeline",
        description="Spark jobs over topics, groups and journals, for Ottla and any other Kafka. "
        "They need `pip install 'ottla[spark]'` and Java 17 or newer.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="JOB", required=True)
    for job in all_jobs():
        command = commands.add_parser(job.name, help=job.summary, **help_texts(job, f"ottla pipeline {job.name}"))
        add_options(command, job)
        command.set_defaults(run=partial(run, job))
    fetch_jars.add_to(commands)
    return parser


def all_jobs() -> Iterator[Job[Any]]:
    """Every job there is, by name."""
    for module in sorted(pkgutil.iter_modules(jobs.__path__), key=lambda module: module.name):
        job: Job[Any] = importlib.import_module(f"{jobs.__name__}.{module.name}").JOB
        yield job
