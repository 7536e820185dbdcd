"""A Spark session for a job: pinned jars, settings, and a JVM that logs to a file.

Run by `ottla pipeline`, a job starts a JVM of its own: `local[*]` unless `--conf spark.master=…` says otherwise. The
JVM works in a temporary folder, because Spark 4 leaves one called `artifacts` where it works, and what it logs is kept
there too: shown if it fails, gone with the folder if it doesn't. Run by spark-submit, there is a JVM already; its
master, jars and settings are left as they are, and only gaps are filled.

The connector is Spark's own and has the version of PySpark. 4.0.0 is the one of its line whose dependencies all
resolve. What Spark ships itself is excluded, which leaves 4 jars, 10 MB, instead of 11 with 62.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline.refusals import CannotWork

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

SPARK_VERSION: Final = "4.0.0"
CONNECTOR: Final = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}"
#: What the connector asks for and Spark has.
EXCLUDES: Final = (
    "com.google.code.findbugs:jsr305",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.lz4:lz4-java",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
)
_CONNECTOR_CLASS: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"

#: For every session.
#: - Spark measures a batch for Python after each record. Where headers are missing, that takes longer the larger the
#:   batch is: 10,000 records, the default, take twice the time.
#: - The rule removes empty parts of a plan. An `Observation` in a removed part never gets its values, and `get` blocks.
#: - Debugging looks up the line of code that made each PySpark call, which takes longer than the call.
#: - All times are UTC.
_ALWAYS: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
#: For a JVM that the job starts itself.
_OWN: Final = {
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.driver.memory": "1g",
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
}
#: PySpark's error for a JVM that ends before it connects, and the line in which the JVM says why.
_NEVER_SPOKE: Final = "JAVA_GATEWAY_EXITED"
_DIED: Final = re.compile(r'^(?:Exception in thread "main"|Error:) (.+)$', re.MULTILINE)
#: The first line of a Python traceback.
_TRACEBACK: Final = "Traceback (most recent call last):"
_END_SECONDS_MAX: Final = 10.0
_DOWNLOAD_ATTEMPTS: Final = 3


def is_submitted() -> bool:
    """Whether spark-submit runs this process: it sets the port of its JVM."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def connector_settings(jars: Path | None) -> dict[str, str]:
    """Spark's settings for the connector: from a folder that `fetch-jars` filled, or resolved by Spark itself."""
    if jars is None:
        return {"spark.jars.packages": CONNECTOR, "spark.jars.excludes": ",".join(EXCLUDES)}
    return {"spark.jars": ",".join(path.absolute().as_uri() for path in sorted(jars.glob("*.jar")))}


@contextmanager
def open_session(
    name: str, settings: Mapping[str, str], *, needs_connector: bool, jars: Path | None = None
) -> Iterator[SparkSession]:
    """A session for the length of the `with`; `settings` win over ours. Raises `CannotWork`."""
    opened = (
        _submitted_session(name, settings) if is_submitted() else _own_session(name, settings, needs_connector, jars)
    )
    with opened as spark:
        _silence_py4j()
        if needs_connector and not _has_connector(spark):
            raise CannotWork(
                f"this Spark has no Kafka connector; give spark-submit --packages {CONNECTOR} "
                f"--exclude-packages {','.join(EXCLUDES)}"
            )
        yield spark


@contextmanager
def _submitted_session(name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(f"ottla {name}")
    for key, value in {**_ALWAYS, **settings}.items():
        builder = builder.config(key, value)
    with _ctrl_c_held_back():
        spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _own_session(
    name: str, settings: Mapping[str, str], needs_connector: bool, jars: Path | None
) -> Iterator[SparkSession]:
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="ottla-spark-"))
    log = folder / "spark.log"
    chosen = {
        **_ALWAYS,
        **_OWN,
        "spark.app.name": f"ottla {name}",
        "spark.sql.warehouse.dir": (folder / "tables").as_uri(),
    }
    chosen |= (connector_settings(jars) if needs_connector else {}) | dict(settings)
    if chosen["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        chosen.setdefault("spark.driver.host", "127.0.0.1")
        chosen.setdefault("spark.sql.shuffle.partitions", str(_local_cores(chosen["spark.master"])))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False).setAll(list(chosen.items()))
    try:
        with ExitStack() as ends:
            with _ctrl_c_held_back():
                gateway = _launched_jvm(conf, folder, log)
                ends.callback(_end_jvm, gateway)
                spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
                ends.callback(spark.stop)
            try:
                yield spark
            except Py4JJavaError as error:
                #: The message is in the JVM, so it is read before the JVM ends.
                raise CannotWork(_failure(error, log)) from error
    except (PySparkException, Py4JError) as error:
        raise CannotWork(_failure(error, log)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _launched_jvm(conf: SparkConf, folder: Path, log: Path) -> Any:
    """Start Spark's JVM. A download of a jar may fail once; then it starts again."""
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    attempts_left = _DOWNLOAD_ATTEMPTS
    while True:
        attempts_left -= 1
        try:
            with log.open("wb") as log_file:
                return launch_gateway(conf, {"cwd": folder, "stderr": log_file, "stdout": log_file})  # type: ignore[no-untyped-call]
        except PySparkException:
            if not attempts_left or b"download failed" not in log.read_bytes():
                raise


def _end_jvm(gateway: Any) -> None:
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends when its stdin does
    try:
        gateway.proc.wait(_END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Delay Ctrl-C while Spark starts: the JVM does not end with its parent process, so the session has to stop it.

    A second Ctrl-C is not delayed. Afterwards Python's own handler is in place, not PySpark's: that one calls the JVM
    in the middle of another call, which breaks both. An exception is enough, because it stops the session.
    """
    if current_thread() is not main_thread():
        yield
        return
    is_asked = Event()

    def ask(*_: object) -> None:
        if is_asked.is_set():
            raise KeyboardInterrupt
        is_asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if is_asked.is_set():
        raise KeyboardInterrupt


def _silence_py4j() -> None:
    """py4j logs a stack trace for each call that Ctrl-C interrupts, partly through the root logger."""
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def _local_cores(master: str) -> int:
    """How many tasks run at once: local, local[2], local[*], local[2,3]."""
    asked = master.removeprefix("local").strip("[]").partition(",")[0]
    return int(asked or 1) if asked != "*" else os.cpu_count() or 1


def _has_connector(spark: SparkSession) -> bool:
    from py4j.protocol import Py4JJavaError

    loader = spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]
    try:
        loader.loadClass(_CONNECTOR_CLASS)
    except Py4JJavaError:
        return False
    return True


def _failure(error: Exception, log: Path) -> str:
    """Why Spark failed, in one line. Its log is kept."""
    said = log.read_text(errors="replace") if log.exists() else ""
    kept = Path(tempfile.gettempdir()) / f"{log.parent.name}.log"
    kept.write_text(said)
    if "unresolved dependenc" in said:
        return (
            f"Spark's connector {CONNECTOR} can't be fetched; where there is a network run "
            f"`ottla pipeline fetch-jars DIR`, and give --jars DIR here (Spark's log: {kept})"
        )
    died = _DIED.search(said) if _NEVER_SPOKE in str(error) else None
    return f"Spark failed: {died[1] if died else _reason(str(error))} (Spark's log: {kept})"


def _reason(text: str) -> str:
    """The line of a JVM's stack trace that explains most: Python's error, else the innermost cause, else the first."""
    if said := _python_reason(text):
        return said
    lines = [line.strip().lstrip(": ") for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    if not causes and len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1]
    return [*lines[:1], *causes][-1] if lines else "it said nothing"


def _python_reason(text: str) -> str | None:
    """The error of a task's Python: the last line of its traceback that isn't indented. The JVM's trace follows it."""
    traceback = text.rpartition(_TRACEBACK)[2].partition("\n\tat ")[0] if _TRACEBACK in text else ""
    return next((line for line in reversed(traceback.splitlines()) if line and not line[0].isspace()), None)
