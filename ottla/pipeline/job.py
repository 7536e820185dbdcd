"""What a job is: options, a check before Spark starts, a run, and an outcome in numbers.

`JobPlan` is whatever `check` found out and `run` goes by, mostly a small dataclass. Everything a user can get wrong is
said in `check`, as a `Refusal`; `run` may raise one too, for what only the cluster's file systems know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from ottla.pipeline.progress import Progress

JobPlan = TypeVar("JobPlan")


@dataclass(frozen=True)
class Job(Generic[JobPlan]):
    """A job, as `ottla pipeline` and spark-submit run it."""

    name: str
    summary: str
    """One line, for the list of jobs."""
    description: str
    """What comes out, and what has to be known."""
    example: str
    """A whole command line, without `ottla pipeline`."""
    add_options: Callable[[argparse.ArgumentParser], None]
    check: Callable[[argparse.Namespace], JobPlan]
    """Before Spark starts. Raises `Refusal`."""
    run: Callable[[SparkSession, JobPlan, Progress], JobOutcome]
    needs_connector: bool = True
    """Whether it reads or writes topics through Spark; without, no jars are needed."""


@dataclass
class JobOutcome:
    """What a job has done. For the closing line, all of them; `found` is what `--json` adds."""

    rows: int
    partitions: int
    bytes: int
    """Of keys and values, or of files: what was read or written, as the job's description says."""
    found: dict[str, Any] = field(default_factory=dict)
    show: Callable[[], None] = lambda: None
    """Prints for people what the job is about, before the closing line."""
