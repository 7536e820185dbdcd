"""The client libraries that take part, and what each of them can do; a story names what it needs of them.

@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
@pytest.mark.parametrize("library", who_can("change_topic_config"), ids=name_of)
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.fetching import fetching

ROOT: Final = Path(__file__).parents[2]
KAFKA_PYTHON_2: Final = ROOT / ".cache" / "kafka-python-2.0.2"

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
EAGER: Final = ("range", "roundrobin")


@dataclass(frozen=True)
class Library:
    """One client library. `program` is its module in `programs`; `lacks` are the words it can't do."""

    name: str
    program: str
    assignors: tuple[str, ...]
    lacks: frozenset[str] = frozenset()
    #: Has to come before the installed packages, for two libraries have one name.
    path: Path | None = None

    def missing(self) -> str | None:
        """Why it can't take part here, in one line, or None. May have to fetch it first, which is said on stderr."""
        if self.path is None or (self.path / "kafka" / "__init__.py").exists():
            return None
        if sys.version_info >= (3, 12):
            return f"{self.name} can't be imported by Python 3.12 and later: its copy of `six` is too old"
        with fetching(self.path):
            return None if (self.path / "kafka" / "__init__.py").exists() else self._fetch()

    def _fetch(self) -> str | None:
        print(f"fetching {self.name} into {self.path} (once)", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--target", str(self.path), "kafka-python==2.0.2"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return None if done.returncode == 0 else f"{self.name} could not be fetched: {done.stderr.strip()[-200:]}"

    def command(self, bootstrap: str, client_id: str) -> list[str]:
        return [sys.executable, "-m", f"tests.clients.programs.{self.program}", bootstrap, client_id]

    def environment(self) -> dict[str, str]:
        return {**os.environ, **({} if self.path is None else {"PYTHONPATH": str(self.path)})}


KAFKA_PYTHON: Final = Library(
    "kafka-python",
    "kafka_python",
    assignors=("range", "roundrobin", "sticky", "cooperative-sticky"),
    lacks=frozenset(("replace_topic_configs",)),  # its AlterConfigs leaves all others as they are
)
KAFKA_PYTHON_2_0_2: Final = Library(
    "kafka-python-2.0.2",
    "kafka_python_2",
    assignors=("range", "roundrobin"),  # its sticky one fails as soon as it holds something
    lacks=frozenset(
        (
            "idempotence",
            "begin_transactional",
            "static membership",
            "change_topic_config",
            "set_group_offset",
            "delete_group_offset",
            "delete_records",
            "log_sizes",
        )
    ),
    path=KAFKA_PYTHON_2,
)
CONFLUENT: Final = Library(
    "confluent-kafka",
    "confluent",
    assignors=("range", "roundrobin", "cooperative-sticky"),
    lacks=frozenset(("creating by subscription", "hiding internal topics", "delete_group_offset", "log_sizes")),
)
AIOKAFKA: Final = Library(
    "aiokafka",
    "aio",
    assignors=("range", "roundrobin", "sticky"),
    lacks=frozenset(
        (
            "using an assignor it does not prefer",
            "change_topic_config",
            "set_group_offset",
            "delete_group",
            "delete_group_offset",
            "log_sizes",
        )
    ),
)

LIBRARIES: Final = (KAFKA_PYTHON, KAFKA_PYTHON_2_0_2, CONFLUENT, AIOKAFKA)


def who_can(*words: str) -> list[Library]:
    """The libraries that lack none of these."""
    return [library for library in LIBRARIES if library.lacks.isdisjoint(words)]


def name_of(value: object) -> str | None:
    """The id of a parameter."""
    return value.name if isinstance(value, Library) else None
