"""Apache Kafka's own client, in Java: Maven brings its jars, and the program is compiled for each version."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compatibility.clients.client import CACHE, PROGRAMS, Installed, run
from tests.support.fetching import fetching

_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies"
_POM: Final = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>ottla</groupId><artifactId>card</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>{version}</version>
    </dependency>
    <dependency>
      <groupId>com.fasterxml.jackson.core</groupId><artifactId>jackson-databind</artifactId><version>2.17.3</version>
    </dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
#: What makes a JVM that lives for seconds start sooner.
_BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m")


@dataclass(frozen=True)
class KafkaClients:
    name: str
    versions: Sequence[str]
    since: Mapping[str, str | None]
    language: str = "Java"

    def missing(self, version: str) -> str | None:
        for tool in ("mvn", "javac"):
            if shutil.which(tool) is None:
                return f"needs `{tool}`, which is not on the PATH"
        return None

    def install(self, version: str) -> Installed:
        directory = CACHE / f"{self.name}-{version}"
        jars, classes, pom = directory / "jars", directory / "classes", directory / "pom.xml"
        with fetching(directory):
            if not jars.exists():
                directory.mkdir(parents=True, exist_ok=True)
                pom.write_text(_POM.format(version=version))
                run(["mvn", "-q", "-B", "-f", pom, _COPY, f"-DoutputDirectory={jars}"])
            run(["javac", "-proc:none", "-nowarn", "-cp", f"{jars}/*", "-d", classes, PROGRAMS / "Words.java"])
        return Installed(
            ("java", *_BRIEF, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{jars}/*:{classes}", "Words")
        )


KAFKA_CLIENTS: Final = KafkaClients(
    "kafka-clients", versions=("2.8.2", "3.4.1", "3.9.1", "4.0.1", "4.4.0"), since={"new groups": "3.7.0"}
)
