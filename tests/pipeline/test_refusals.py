"""What can't be: one line on stderr that says what to do, before Spark starts, and the broker's exit codes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.pipeline import machine
from ottla.pipeline.cli import find_job, job_names, main
from ottla.pipeline.refusals import CannotWork
from ottla.pipeline.session import _reason
from ottla.terminal.exit_codes import EXIT_INTERRUPTED, EXIT_MACHINE, EXIT_USAGE
from tests.cli.terminal import ottla
from tests.support.ports import free_ports

Said = tuple[int, str]


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is refused has not waited for Spark."""

    def started(*_arguments: object, **_options: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr("ottla.pipeline.session._own_session", started)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> Said:
    """The exit code, and the line that says why."""
    try:
        exit_code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        exit_code = int(str(ended.code))
    said = capsys.readouterr()
    assert said.out == ""
    lines = [line for line in said.err.splitlines() if not line.endswith(": starting Spark")]
    assert len(lines) == 1
    return exit_code, lines[0].removeprefix("ottla: ")


def test_a_broker_that_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_ports(1)[0]
    assert refused(capsys, "lag", "--bootstrap-server", f"127.0.0.1:{port}", "--timeout", 1) == (
        EXIT_MACHINE,
        f"nothing answers at 127.0.0.1:{port}; start a broker with `ottla serve`, "
        "or name another one with --bootstrap-server HOST:PORT",
    )


def test_a_broker_whose_name_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code, line = refused(capsys, "lag", "--bootstrap-server", "no-such-host.invalid:9092", "--timeout", 1)
    assert exit_code == EXIT_MACHINE
    assert line.startswith("no address is known for no-such-host.invalid; correct the name in --bootstrap-server")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--bootstrap-server", "here"], "--bootstrap-server here is not HOST:PORT, such as 127.0.0.1:9092"),
        (["--timeout", "0"], "--timeout 0 is not a number above 0; it is in seconds"),
        (["--top", "-1"], "--top -1 is below 0; it is how many partitions to show"),
        (
            ["--conf", "master"],
            "--conf master is not KEY=VALUE with a key of Spark, such as spark.driver.memory=2g",
        ),
        (
            ["--top", "many"],
            "argument --top: invalid int value: 'many'; `ottla pipeline lag --help` shows what can be given",
        ),
    ],
)
def test_what_cannot_be_used(capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    assert refused(capsys, "lag", *arguments) == (EXIT_USAGE, line)


def test_a_target_that_is_not_empty(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(capsys, "lag", "--output", tmp_path) == (
        EXIT_MACHINE,
        f"--output {tmp_path} is there already and not empty; name a new folder, or remove it",
    )


def test_jars_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert refused(capsys, "lag", "--jars", tmp_path) == (
        EXIT_MACHINE,
        f"--jars {tmp_path} has no jars; `ottla pipeline fetch-jars {tmp_path}` puts them there",
    )


def test_a_journal_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("journal.jsonl", "*.jsonl"):
        assert refused(capsys, "rebalances", tmp_path / name) == (
            EXIT_MACHINE,
            f"there is no journal {tmp_path / name}; `ottla serve --journal FILE` writes one",
        )
    (tmp_path / "_journal").touch()
    exit_code, line = refused(capsys, "rebalances", tmp_path / "_journal")
    assert (exit_code, line.split(",")[0]) == (
        EXIT_MACHINE,
        "Spark ignores files whose names begin with _ or a dot",
    )


def _java(folder: Path, says: str) -> Path:
    """A Java that says this of itself."""
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11; install another one, or let JAVA_HOME name it"),
        ('java version "1.8.0_392"', "is Java 8; install another one, or let JAVA_HOME name it"),
        ('openjdk version "23.0.1" 2024-10-15', "is Java 23; install another one, or let JAVA_HOME name it"),
        ('openjdk version "25.0.5.0.3" 2026-10-24', "is Java 25; install another one, or let JAVA_HOME name it"),
        ("what?", "doesn't say what it is; let JAVA_HOME name a Java that runs"),
    ],
)
def test_a_java_that_will_not_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, reason: str
) -> None:
    java = _java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert refused(capsys, "rebalances", tmp_path) == (
        EXIT_MACHINE,
        f"Spark runs on Java 17 to 22, and {java} {reason}",
    )


def test_no_java(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(capsys, "rebalances", tmp_path) == (
        EXIT_MACHINE,
        "Spark runs on Java 17 to 22, and there is none; install one, or let JAVA_HOME name where it is",
    )


def test_no_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_EXTRA", {"no_such_module": "pyspark"})
    assert refused(capsys, "rebalances", tmp_path) == (
        EXIT_MACHINE,
        "pyspark not installed; `pip install 'ottla[spark]'` brings what the pipeline needs",
    )


def test_ctrl_c_is_ctrl_c_whatever_fails_on_the_way_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A call of PySpark's while the exception passes by may break too, and what it raises takes its place."""

    def interrupted(_options: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise CannotWork("the JVM doesn't answer") from OSError()

    monkeypatch.setattr("ottla.pipeline.jobs.rebalances.JOB", replace(find_job("rebalances"), check=interrupted))
    assert refused(capsys, "rebalances", tmp_path) == (EXIT_INTERRUPTED, "rebalances was stopped before its end")


def test_every_job_tells_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Options with units and defaults, and an example that can be parsed; none of it loads Spark."""
    jobs = [find_job(name) for name in job_names()]
    assert {"lag", "rebalances"} <= {job.name for job in jobs}
    for job in jobs:
        with pytest.raises(SystemExit) as ended:
            main([job.name, "--help"])
        assert ended.value.code == 0
        text = capsys.readouterr().out
        assert f"example:\n  ottla pipeline {job.example}" in text
        assert job.example.split()[0] == job.name


def test_a_jvm_that_does_not_start(tmp_path: Path) -> None:
    """Only Spark knows what a master is, so this comes late. The line says what it died of, and where the rest is."""
    (tmp_path / "journal.jsonl").touch()
    ended = ottla("pipeline", "rebalances", str(tmp_path), "--conf", "spark.master=locl")
    assert ended.returncode == EXIT_MACHINE
    step, line = ended.stderr.splitlines()
    assert (step, "Master must either be yarn or start with spark" in line) == (
        "ottla rebalances: starting Spark",
        True,
    )
    log = Path(line.rpartition("Spark's log: ")[2].rstrip(")"))
    assert "SparkSubmit" in log.read_text()
    log.unlink()


def test_what_only_spark_finds_out(tmp_path: Path) -> None:
    """Which file systems there are, only the JVM knows: what it says of one that isn't is one line all the same."""
    (tmp_path / "journal.jsonl").touch()
    ended = ottla("pipeline", "rebalances", str(tmp_path), "--output", "nosuch://there/out")
    assert ended.returncode == EXIT_MACHINE
    line = ended.stderr.splitlines()[-1]
    assert (len(ended.stderr.splitlines()), 'No FileSystem for scheme "nosuch" (Spark' in line) == (2, True)
    Path(line.rpartition("Spark's log: ")[2].rstrip(")")).unlink()


def test_what_a_task_died_of() -> None:
    """Of a stack trace of Java's with a traceback of Python's in it, what Python said at its end."""
    text = (
        "An error occurred while calling o1.collectToPython.\n"
        ": org.apache.spark.SparkException: Job aborted due to stage failure\n\tat org.apache.spark.A(A.scala:1)\n"
        "Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "sender.py", line 1, in send\ncimpl.KafkaException: too large\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "worker.py", line 1, in main\n'
        "NotSentError: cannot send: orders did not take a record, too large\n\n"
        "\tat org.apache.spark.B(B.scala:1)\n\t... 1 more\n"
    )
    assert _reason(text) == "NotSentError: cannot send: orders did not take a record, too large"
    assert _reason(text.replace("Traceback", "something else")).startswith("org.apache.spark.api.python.PythonExc")


def test_the_command_line_hands_over() -> None:
    """`ottla pipeline` is this, options and all; listing jobs loads no Spark, and so is quick."""
    ended = ottla("pipeline", "--help")
    assert (ended.returncode, "rebalances" in ended.stdout) == (0, True)
    assert ottla("pipeline").stdout == ended.stdout
    assert ottla("pipeline", "lag", "--timeout", "soon").returncode == EXIT_USAGE
    script = "import sys; from ottla.pipeline.cli import make_parser; make_parser(); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
