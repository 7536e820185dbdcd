"""For the pipeline's tests: one Spark session for all of them, one broker, and the command line within this process.

Where Spark can't run, this folder is skipped, with the line a user would get. Jars are resolved once, into
`.cache/ivy/`. The JVM takes some ten seconds to start and the first query some more; after that a
job takes one to five.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import pytest

from ottla.pipeline import launch, machine
from ottla.pipeline.cli import make_parser
from ottla.pipeline.job import Job
from ottla.pipeline.session import open_session
from tests.support.ottla_process import ottla

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MISSING: Final = machine.missing()

IVY_CACHE: Final = Path(__file__).parents[2] / ".cache" / "ivy"
#: The JVM's second compiler costs more than it brings in a minute.
SPARK_SETTINGS: Final = {
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.jars.ivy": str(IVY_CACHE),
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
}
BROKER_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}


class _Skipped(pytest.Module):
    """A file of tests that has nothing to run on; it isn't imported, for it imports Spark."""

    def collect(self) -> NoReturn:
        pytest.skip(f"the pipeline can't run here: {MISSING}", allow_module_level=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves sockets to the garbage collector, which is no fault of ours."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"))


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return _Skipped.from_parent(parent, path=module_path) if MISSING else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of all tests."""
    with open_session("tests", SPARK_SETTINGS, needs_connector=True) as session:
        yield session


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """A broker for all tests; each has topics and groups of its own."""
    with ottla(BROKER_SETTINGS) as broker:
        yield broker.bootstrap


@dataclass(frozen=True)
class Ended:
    """What came of a command."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        assert self.exit_code == 0, self.stderr
        return json.loads(self.stdout)


Pipeline: TypeAlias = Callable[..., Ended]


@pytest.fixture
def pipeline(spark: SparkSession) -> Pipeline:
    """`ottla pipeline`, in the session that is there already: `pipeline("lag", "--json")`."""

    @contextmanager
    def lent(*_arguments: object, **_options: object) -> Iterator[SparkSession]:
        yield spark

    def run(*arguments: object) -> Ended:
        words = [str(argument) for argument in arguments]
        options = make_parser(words).parse_args(words)
        job: Job[Any] = options.run.args[0]
        stdout, stderr = io.StringIO(), io.StringIO()
        with redirect_stdout(stdout), redirect_stderr(stderr):
            exit_code = launch.run(job, options, lent)
        return Ended(exit_code, stdout.getvalue(), stderr.getvalue())

    return run
