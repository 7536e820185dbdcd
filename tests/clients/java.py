"""Programs in Java: Kafka's own tools, and those in `programs`, in processes of their own.

with java_process("org.apache.kafka.tools.VerifiableProducer", "--topic", topic, jars=TOOL_JARS) as process:
    process.wait(PATIENCE_SECONDS)
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.kafka_process import BROKER_JARS, TOOLS_VERSION, Jars, missing_tools
from tests.support.patience import PATIENCE_SECONDS

#: Kafka Streams, of the last release that has it in the registry.
STREAMS_JARS: Final = Jars("kafka-streams", TOOLS_VERSION)

_SECONDS_MAX: Final = 2 * PATIENCE_SECONDS
_PROGRAMS: Final = Path(__file__).parent / "programs"
#: What makes a JVM that lives for seconds start sooner.
_BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m")


def missing_java(jars: Jars = BROKER_JARS) -> str | None:
    """Why no program of `programs` can run here, in one line, or None."""
    if shutil.which("javac") is None:
        return "the Java client is run from its source, which needs a JDK; there is no `javac` on the PATH"
    return missing_tools(jars)


def compile_java(program: str, directory: Path, jars: Jars) -> Path:
    """Compile a program of `programs` once, for what is started often; returns where its classes are."""
    subprocess.run(
        ["javac", "-proc:none", "-nowarn", "-cp", jars.class_path(), "-d", directory, _PROGRAMS / f"{program}.java"],
        check=True,
    )
    return directory


@contextmanager
def java_process(
    name: str, *arguments: str | Path, jars: Jars, classes: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A class run by `java` for the length of the `with`; what it says is in its `stdout`.

    It is killed at the end, and when it has run for longer than any of these may.
    """
    path = jars.class_path() if classes is None else f"{jars.class_path()}:{classes}"
    process = subprocess.Popen(
        ["java", *_BRIEF, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", path, name, *arguments],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    alarm = threading.Timer(_SECONDS_MAX, process.kill)
    alarm.start()
    try:
        yield process
    finally:
        alarm.cancel()
        process.kill()
        process.communicate()
