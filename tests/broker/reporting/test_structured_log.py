"""The log on stderr: what clients have chosen can be read in it, and does nothing else."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import ottla
from ottla.broker.reporting.loop_errors import tell_loop_errors
from ottla.broker.reporting.structured_log import FORMATS, LEVELS, make_log
from tests.support.told import Told

#: Moves the cursor, colours, rings, turns the direction, begins lines; C0, DEL, C1, and half of a surrogate pair.
HOSTILE: Final = (
    "ana\x1b[2J\x9b31m\x07\x00\x7f\x85\u2028\u202e\ud800\r\n2026-11-22T09:00:00Z [info     ] broker.stopped"
)
PACKAGE: Final = Path(ottla.__file__).parent


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize(
    "values",
    [{"client_id": HOSTILE}, {"topics": [HOSTILE]}, {"of": {HOSTILE: HOSTILE}}, {"error": ValueError(HOSTILE)}],
    ids=lambda values: next(iter(values)),
)
def test_no_value_does_anything_to_a_terminal(
    log_format: str, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever in a value the text is; it stays one line."""
    make_log("info", log_format).info("request.handled", **values)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert "[2J" in line
    assert log_format == "json" or r"'ana\x1b[2J\x9b31m" in line


def test_colours_of_the_console_are_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal there are some, and the client's is not among them."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    make_log("info").info("request.handled", client_id="\x1b[31mred")
    said = capsys.readouterr().err
    assert "\x1b[" in said
    assert "\x1b[31m" not in said
    assert r"\x1b[31mred" in said


def test_plain_values_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Letters of all scripts are printable; quotes are for what isn't."""
    make_log("info", "console").info("request.handled", client_id="größe-日本", duration_ms=3)
    assert " client_id=größe-日本 duration_ms=3\n" in capsys.readouterr().err


def test_a_line_of_json_says_first_when_and_how_bad_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    """Then the keys in their order; what JSON has no form for is shown as Python writes it."""
    make_log("info", "json").warning("group.write.failed", group_id="größe", offsets={3}, error=None)
    said = json.loads(capsys.readouterr().err)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", said.pop("timestamp"))
    assert list(said.items()) == [
        ("level", "warning"),
        ("event", "group.write.failed"),
        ("group_id", "größe"),
        ("offsets", "{3}"),
        ("error", None),
    ]


@pytest.mark.parametrize("log_format", FORMATS)
def test_what_is_below_the_level_is_not_written(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And the log says so when it is asked, so that nobody makes lines in vain."""
    log = make_log("warning", log_format)
    log.info("topic.created")
    assert capsys.readouterr().err == ""
    assert [level for level, number in LEVELS.items() if log.is_enabled_for(number)] == ["warning", "error"]


def test_a_test_whose_broker_writes_no_line_does_not_load_structlog() -> None:
    """It takes half as long as the broker's start, and most tests never see a line."""
    script = """
import sys
from ottla.broker.reporting.structured_log import make_log
from ottla.testing import Broker
with Broker():
    print("structlog" in sys.modules)
make_log("info", "console").info("topic.created")
print("structlog" in sys.modules)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("log_format", FORMATS)
def test_no_traceback_does_either(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors repeat what clients said. On the console no line of a traceback begins where lines of the log do."""
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        make_log("info", log_format).error("request.failed", exc_info=error)
    said = capsys.readouterr().err
    assert is_harmless(said)
    if log_format == "console":
        _, *traceback = said.splitlines()
        assert any(r"ValueError: ana\x1b[2J" in line for line in traceback)
        assert all(line.startswith("    ") for line in traceback)
    else:
        assert r"ana\x1b" not in json.loads(said)["exception"]
        assert "ana\x1b" in json.loads(said)["exception"]


async def test_what_the_loop_complains_of_is_logged_too() -> None:
    """A callback that raises belongs to no request."""
    events = Told()
    loop = asyncio.get_running_loop()
    tell_loop_errors(loop, events)
    try:
        loop.call_soon(lambda: 1 // 0)
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(None)
    (keys,) = events.named("loop.failed")
    assert isinstance(events.raised[0], ZeroDivisionError)
    assert "callback" in keys["reason"]


def test_nothing_prints_but_through_the_door() -> None:
    """`ottla.terminal` escapes what is printed; a `print` elsewhere would go round it.

    A fault with a probability prints what the test itself has written, and a seed.
    """
    printing = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "messages" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    terminal = {"terminal/exit_codes.py", "terminal/output.py", "protocol/generate/__main__.py"}
    assert set(printing) == terminal | {"testing/faults.py"}
