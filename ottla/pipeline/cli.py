"""`ottla pipeline`: every module of `jobs/` is a command, found by its file's name."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Sequence
from functools import partial
from typing import Any

from ottla.pipeline import fetch_jars, jobs
from ottla.pipeline.job import Job
from ottla.pipeline.launch import add_options, help_texts, run
from ottla.terminal.parser import Parser


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    parser = make_parser(arguments)
    if not arguments:
        parser.print_help()
        return 0
    options = parser.parse_args(arguments)
    exit_code: int = options.run(options)
    return exit_code


def make_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """What reads these arguments. If they begin with a job, it knows no other: nothing else has to be loaded."""
    parser = Parser(
        prog="ottla pipeline",
        description="Spark jobs over topics, groups and journals, for Ottla and any other Kafka. "
        "They need `pip install 'ottla[spark]'` and Java 17 to 22.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="JOB", required=True)
    names = job_names()
    for name in arguments[:1] if arguments[:1] and arguments[0] in names else names:
        job = find_job(name)
        command = commands.add_parser(name, help=job.summary, **help_texts(job, f"ottla pipeline {name}"))
        add_options(command, job)
        command.set_defaults(run=partial(run, job))
    fetch_jars.add_to(commands)
    return parser


def job_names() -> list[str]:
    """Every job there is."""
    return sorted(module.name for module in pkgutil.iter_modules(jobs.__path__))


def find_job(name: str) -> Job[Any]:
    job: Job[Any] = importlib.import_module(f"{jobs.__name__}.{name}").JOB
    return job
