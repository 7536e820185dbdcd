"""A real Apache Kafka 4.3.1 of one node, run from its jars: what Ottla's answers are held against.

Maven brings the jars once into `.cache/kafka-4.3.1/` (some 100 MB, a minute); `missing_tools()` says in one
line why that can't be done here, for a test to skip with. Each `kafka()` formats fresh storage, as for a new
cluster, starts one JVM that is broker and controller, waits until that lists itself in Metadata (before, its
answers mean nothing), and removes everything at the end. It listens on loopback only.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.fetching import fetching
from tests.support.ports import free_ports
from tests.support.wire import Connection, ConnectionClosedError, SilenceError

VERSION: Final = "4.3.1"
CACHE: Final = Path(__file__).parents[2] / ".cache" / f"kafka-{VERSION}"

#: What a single node needs to serve groups and transactions; all else keeps Kafka's defaults.
SINGLE_NODE: Final = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}

#: 16 bytes in base64, as Kafka wants; a random one may begin with a dash, which the tool takes for an option.
CLUSTER_ID: Final = base64.urlsafe_b64encode(b"ottla-test-kafka").decode().rstrip("=")

_START_SECONDS_MAX: Final = 60.0
_STOP_SECONDS_MAX: Final = 20.0
_METADATA_BROKERS_ONLY: Final = b"\0\0\0\0"  # v1 body: an empty list of topics
_POM: Final = f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>ottla</groupId><artifactId>kafka-jars</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""


@dataclass(frozen=True)
class KafkaProcess:
    """A running Kafka."""

    bootstrap: str
    process: subprocess.Popen[bytes]
    log_path: Path

    @property
    def pid(self) -> int:
        return self.process.pid


class KafkaStartError(Exception):
    """Kafka or Maven did not do what it should; the message carries the end of its log."""


def missing_tools() -> str | None:
    """Why no Kafka can run here, in one line, or None."""
    for tool, purpose in (("java", "to run"), ("mvn", "to fetch its jars")):
        if shutil.which(tool) is None and not (tool == "mvn" and _jars_are_here()):
            return f"Apache Kafka needs `{tool}` {purpose}; it is not on the PATH"
    return None


def class_path() -> str:
    """Java's class path for Kafka; the first time the jars are fetched, which is said on stderr."""
    with fetching(CACHE):
        if not _jars_are_here():
            _fetch_jars()
    return f"{CACHE / 'jars'}/*"


def _fetch_jars() -> None:
    print(f"fetching Apache Kafka {VERSION} with Maven into {CACHE} (once; about a minute)", file=sys.stderr)
    CACHE.mkdir(exist_ok=True)
    (CACHE / "pom.xml").write_text(_POM)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies"
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", CACHE / "pom.xml", copy, f"-DoutputDirectory={CACHE / 'jars'}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise KafkaStartError(f"Maven could not fetch Apache Kafka:\n{_tail(done.stdout + done.stderr)}")
    (CACHE / "complete").touch()


@contextmanager
def kafka(settings: Mapping[str, str] | None = None) -> Iterator[KafkaProcess]:
    """A fresh Kafka for the length of the `with`; `settings` override or extend server.properties."""
    with tempfile.TemporaryDirectory(prefix="ottla-kafka-") as directory:
        properties, bootstrap = format_storage(Path(directory), settings or {})
        with running(properties, bootstrap) as broker:
            wait_until_serving(broker)
            yield broker


def format_storage(directory: Path, settings: Mapping[str, str]) -> tuple[Path, str]:
    """Prepare `directory` for one node; returns its server.properties and its future bootstrap address."""
    port, controller_port = free_ports(2)
    bootstrap, controller = f"127.0.0.1:{port}", f"127.0.0.1:{controller_port}"
    properties = directory / "server.properties"
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": controller,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{bootstrap},CONTROLLER://{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(directory / "logs"),
        **SINGLE_NODE,
        **settings,
    }
    properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    done = subprocess.run(
        ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path(), "kafka.tools.StorageTool",
         "format", "--standalone", "--cluster-id", CLUSTER_ID, "--config", properties],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise KafkaStartError(f"Kafka's storage could not be formatted:\n{_tail(done.stdout + done.stderr)}")
    return properties, bootstrap


@contextmanager
def running(properties: Path, bootstrap: str) -> Iterator[KafkaProcess]:
    """The JVM alone, from the moment it is started: it does not serve yet."""
    log_path = properties.with_name("kafka.log")
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            ["java", "-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
             "-cp", class_path(), "kafka.Kafka", properties],
            stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        yield KafkaProcess(bootstrap, process, log_path)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_serving(broker: KafkaProcess) -> None:
    """Return once Metadata names the broker; raises `KafkaStartError` with the log's end if it never does."""
    deadline = time.monotonic() + _START_SECONDS_MAX
    while not _serves(broker.bootstrap):
        if time.monotonic() > deadline or broker.process.poll() is not None:
            raise KafkaStartError(f"Kafka did not come up:\n{_tail(broker.log_path.read_text())}")
        time.sleep(0.02)


def _serves(bootstrap: str) -> bool:
    try:
        with Connection(bootstrap, timeout_seconds=1) as connection:
            connection.send_request(3, 1, _METADATA_BROKERS_ONLY, flexible=False)
            answer = connection.receive_frame(timeout_seconds=5)
    except (OSError, ConnectionClosedError, SilenceError):
        return False
    return int.from_bytes(answer[4:8], "big") > 0  # the number of brokers follows the correlation id


def _jars_are_here() -> bool:
    return (CACHE / "complete").exists()


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-20:])
