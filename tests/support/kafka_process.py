"""A real Apache Kafka of one node, run from its jars: what Ottla's answers are held against.

It is the release whose schemas our codecs are made from: `KAFKA_VERSION` is the one place that names it. Maven brings
the jars once into `.cache/` (some 100 MB, a minute); `missing_tools()` says in one line why that can't be done here,
for a test to skip with. Each `kafka()` formats fresh storage, as for a new cluster, starts one JVM that is broker and
controller, waits until that lists itself in Metadata (before, its answers mean nothing), and removes everything at the
end. It listens on loopback only.
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

from ottla.protocol.generate.modules import KAFKA_VERSION
from tests.support.fetching import fetching
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports
from tests.support.wire import Connection, ConnectionClosedError, SilenceError

#: Kafka's command line tools are not published with every release. What they read has not changed since this one.
TOOLS_VERSION: Final = "4.3.1"

_CACHE: Final = Path(__file__).parents[2] / ".cache"

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

_METADATA_BROKERS_ONLY: Final = b"\0\0\0\0"  # v1 body: an empty list of topics
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies"
_POM: Final = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>ottla</groupId><artifactId>kafka-jars</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
      <exclusions>{exclusions}</exclusions>
    </dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
_EXCLUSION: Final = "<exclusion><groupId>org.apache.kafka</groupId><artifactId>{}</artifactId></exclusion>"


@dataclass(frozen=True)
class Jars:
    """A release of one of Kafka's artifacts with all it needs, which Maven brings into a folder once."""

    artifact: str
    version: str
    excluded: tuple[str, ...] = ()

    @property
    def directory(self) -> Path:
        return self._cache / "jars"

    @property
    def are_here(self) -> bool:
        return (self._cache / "complete").exists()

    def class_path(self) -> str:
        """For Java; the first time the jars are fetched, which is said on stderr. Raises `KafkaStartError`."""
        with fetching(self._cache):
            if not self.are_here:
                self._fetch()
        return f"{self.directory}/*"

    @property
    def _cache(self) -> Path:
        return _CACHE / f"{self.artifact}-{self.version}"

    def _fetch(self) -> None:
        what = f"{self.artifact} {self.version}"
        print(f"fetching Apache Kafka ({what}) with Maven into {self._cache} (once; about a minute)", file=sys.stderr)
        self._cache.mkdir(exist_ok=True)
        exclusions = "".join(map(_EXCLUSION.format, self.excluded))
        pom = self._cache / "pom.xml"
        pom.write_text(_POM.format(artifact=self.artifact, version=self.version, exclusions=exclusions))
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", pom, _COPY, f"-DoutputDirectory={self.directory}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise KafkaStartError(f"Maven could not fetch {what}:\n{_tail(done.stdout + done.stderr)}")
        (self._cache / "complete").touch()


#: The broker, and the client that it comes with. It starts without the part of the tools that it asks for.
BROKER_JARS: Final = Jars("kafka_2.13", KAFKA_VERSION, excluded=("kafka-tools-api",))
#: DumpLogSegments and the like.
TOOL_JARS: Final = Jars("kafka-tools", TOOLS_VERSION)


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


def missing_tools(jars: Jars = BROKER_JARS) -> str | None:
    """Why no Kafka can run here, in one line, or None."""
    for tool, purpose in (("java", "to run"), ("mvn", "to fetch its jars")):
        if shutil.which(tool) is None and not (tool == "mvn" and jars.are_here):
            return f"Apache Kafka needs `{tool}` {purpose}; it is not on the PATH"
    return None


def class_path() -> str:
    """Java's class path for the broker and its client. Raises `KafkaStartError`."""
    return BROKER_JARS.class_path()


@contextmanager
def kafka(settings: Mapping[str, str] | None = None, *, jars: Jars = BROKER_JARS) -> Iterator[KafkaProcess]:
    """A fresh Kafka for the length of the `with`; `settings` override or extend server.properties."""
    with tempfile.TemporaryDirectory(prefix="ottla-kafka-") as directory:
        properties, bootstrap = format_storage(Path(directory), settings or {}, jars=jars)
        with running(properties, bootstrap, jars=jars) as broker:
            wait_until_serving(broker)
            yield broker


def format_storage(directory: Path, settings: Mapping[str, str], *, jars: Jars = BROKER_JARS) -> tuple[Path, str]:
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
        ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jars.class_path(), "kafka.tools.StorageTool",
         "format", "--standalone", "--cluster-id", CLUSTER_ID, "--config", properties],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise KafkaStartError(f"Kafka's storage could not be formatted:\n{_tail(done.stdout + done.stderr)}")
    return properties, bootstrap


@contextmanager
def running(properties: Path, bootstrap: str, *, jars: Jars = BROKER_JARS) -> Iterator[KafkaProcess]:
    """The JVM alone, from the moment it is started: it does not serve yet."""
    log_path = properties.with_name("kafka.log")
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            ["java", "-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
             "-cp", jars.class_path(), "kafka.Kafka", properties],
            stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        yield KafkaProcess(bootstrap, process, log_path)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_serving(broker: KafkaProcess) -> None:
    """Return once Metadata names the broker; raises `KafkaStartError` with the log's end if it never does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
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


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-20:])
