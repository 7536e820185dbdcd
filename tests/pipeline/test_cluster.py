"""A job on a cluster: spark-submit, a standalone master and a worker, each a process of its own, on loopback.

The package goes along as a zip (--py-files), as to machines that do not have it; confluent-kafka and pyarrow they must
have.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pyspark
import pytest

from ottla.pipeline.jobs import seed
from tests.pipeline.topics import LATE_MS, make_topic, read
from tests.support.ottla_process import ottla
from tests.support.ports import free_ports

SPARK_HOME: Final = Path(pyspark.__file__).parent
#: Four JVMs start for a few seconds' work.
JVM_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SECONDS_MAX: Final = 60.0
_LOOK_SECONDS: Final = 0.05


@contextmanager
def running(log: Path, *arguments: object) -> Iterator[None]:
    """A daemon of Spark's for the length of the `with`."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    environment["SPARK_DAEMON_JAVA_OPTS"] = JVM_OPTIONS
    environment["SPARK_WORKER_DIR"] = str(log.parent / "work")
    with log.open("wb") as file:
        process = subprocess.Popen(
            [SPARK_HOME / "bin" / "spark-class", *map(str, arguments)], env=environment, stdout=file, stderr=file
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a master that has a worker."""
    folder = tmp_path_factory.mktemp("cluster")
    port, master_ui, worker_ui = free_ports(3)
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with (
        running(
            folder / "master.log", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", port,
            "--webui-port", master_ui,
        ),
        running(
            folder / "worker.log", f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--cores", 2, "--memory", "1g",
            "--webui-port", worker_ui, url,
        ),
    ):  # fmt: skip
        _wait_for_worker(f"http://127.0.0.1:{master_ui}/json/", folder)
        yield url


def _wait_for_worker(status_url: str, folder: Path) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            with urlopen(status_url, timeout=SECONDS_MAX) as answer:
                if json.load(answer)["aliveworkers"] == 1:
                    return
        except OSError:
            pass  # it doesn't listen yet
        time.sleep(_LOOK_SECONDS)
    pytest.fail("no worker came: " + "".join(path.read_text() for path in folder.glob("*.log")))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ottla as a zip."""
    root = Path(str(importlib.import_module("ottla").__file__)).parents[1]
    return Path(shutil.make_archive(str(tmp_path_factory.mktemp("package") / "ottla"), "zip", root, "ottla"))


def test_a_job_runs_on_a_cluster(master: str, package: Path, tmp_path: Path) -> None:
    """`seed`, whose tasks run our own Python on the worker: everything arrives, and the closing line is the same."""
    lines = tmp_path / "orders.jsonl"
    lines.write_text("".join(f'{{"at":{LATE_MS + number},"key":"{number % 7}"}}\n' for number in range(1_000)))
    with ottla() as broker:
        make_topic(broker.bootstrap, "clustered", 1)
        ended = subprocess.run(
            [
                SPARK_HOME / "bin" / "spark-submit", "--master", master, "--py-files", package,
                "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1",
                "--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m",
                "--conf", f"spark.driver.extraJavaOptions={JVM_OPTIONS}",
                "--conf", f"spark.executor.extraJavaOptions={JVM_OPTIONS}",
                str(seed.__file__), "--bootstrap-server", broker.bootstrap, "--input", lines, "--topic", "clustered",
                "--key", "key", "--timestamps", "at", "--json",
            ],
            cwd=tmp_path, env={**os.environ, "PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True,
            timeout=2 * SECONDS_MAX, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        steps, brace, rest = ended.stdout.partition("{")  # spark-submit mixes what a program says on stderr into stdout
        assert steps.startswith("ottla seed: starting Spark\n")
        said = json.loads(brace + rest)
        assert (said["job"], said["rows"], said["partitions"]) == ("seed", 1_000, 1)
        there = read(broker.bootstrap, "clustered", [1_000])[0]
    assert [record.timestamp_ms for record in there] == [LATE_MS + number for number in range(1_000)]
