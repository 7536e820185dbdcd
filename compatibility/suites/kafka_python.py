"""kafka-python's own integration tests: producer, consumer, admin client.

They would start a Kafka of their own; told of one that runs, they use that. What starts one is not in the archive, so
two names stand in its place, which nobody calls then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from compatibility.suites.suite import AUTHORIZER, BOOTSTRAP, CACHE, Outcome, Outcomes

_SECONDS_MAX: Final = 540
_STAND_IN: Final = """
class ExternalService:
    def __init__(self, host, port):
        pass


class SpawnedService:
    pass
"""


class KafkaPython:
    name: str = "kafka-python"
    version: str = "3.0.12"
    origin: str = "source archive of kafka-python 3.0.12"
    scope: str = "test/integration but for SASL and TLS; what starts a Kafka is not in the archive, and stands empty"
    settings: Mapping[str, str] = {
        "node.id": "0",
        "num.partitions": "4",
        "auto.create.topics.enable": "true",
        "advertised.listeners": f"PLAINTEXT://{BOOTSTRAP}",
        "group.min.session.timeout.ms": "1000",
    }
    settings_of_kafka: Mapping[str, str] = AUTHORIZER

    def missing(self) -> str | None:
        return None

    def prepare(self) -> None:
        if self._folder.exists():
            return
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = f"kafka-python=={self.version}"
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--no-binary", ":all:", "--dest", CACHE, wanted],
            check=True,
        )  # fmt: skip
        with tarfile.open(CACHE / f"kafka_python-{self.version}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
        (self._folder / "test" / "__init__.py").touch()  # or Python's own `test` would be found
        (self._folder / "test" / "service.py").write_text(_STAND_IN)

    def run(self, log: Path) -> Outcomes:
        report = log.with_suffix(".xml")
        with log.open("w") as file:
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "test/integration", f"--junit-xml={report}",
                 "-p", "no:cacheprovider", "-o", "addopts=",
                 "--ignore=test/integration/test_sasl_integration.py",
                 "--ignore=test/integration/test_ssl_integration.py"],
                cwd=self._folder, env=self._environment(), stdout=file, stderr=subprocess.STDOUT,
                timeout=_SECONDS_MAX, check=False,
            )  # fmt: skip
        return read(report.read_text())

    def passes_alone(self) -> frozenset[str]:
        return frozenset()

    @property
    def _folder(self) -> Path:
        return CACHE / f"kafka_python-{self.version}"

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "KAFKA_VERSION": "4.3.0",
            "KAFKA_URI": f"kafka://{BOOTSTRAP}",
            "KAFKA_ROOT": str(self._folder),
            "PYTHONPATH": str(self._folder),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }


def read(report: str) -> dict[str, Outcome]:
    """A report of JUnit's, as pytest writes it."""
    outcomes = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        outcome = Outcome.PASSED
        if case.find("skipped") is not None:
            outcome = Outcome.SKIPPED
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = Outcome.FAILED
        outcomes[f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"] = outcome
    return outcomes


KAFKA_PYTHON: Final = KafkaPython()
