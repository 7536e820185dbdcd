"""docs/trace.md shows only what is so: its program runs, and its commands say what it says they do."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from ottla.testing.trace.of_file import read_traces
from ottla.testing.trace.page import write_page
from tests.support.patience import PATIENCE_SECONDS
from tests.testing.trace.scenes import kitchen
from tests.testing.trace.test_of_file import LINE, TOLD

PAGE: Final = (Path(__file__).parents[3] / "docs" / "trace.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_program_runs(tmp_path: Path) -> None:
    """And leaves the page, with the request it has made."""
    (program,) = blocks("python")
    path = tmp_path / program.partition("\n")[0].removeprefix("# ")
    path.write_text(program)
    subprocess.run([sys.executable, path.name], cwd=tmp_path, check=True, timeout=PATIENCE_SECONDS)
    (trace,) = read_traces(tmp_path / "kitchen.html")
    assert "Produce" in [request["api"] for request in trace["requests"]]
    assert "soup" in json.dumps(trace["requests"])


def test_commands_do_as_they_say(tmp_path: Path) -> None:
    """Each, in a folder with what they name."""
    (tmp_path / "broker.jsonl").write_text(json.dumps(LINE))
    (tmp_path / "events.txt").write_text(f"data: {json.dumps(TOLD)}\n\n")
    for name in ("failed", "passed"):
        write_page(tmp_path / f"{name}.html", [kitchen().as_json()], name)
    (tmp_path / "test_kitchen.py").write_text(
        "def test_soup(kafka):\n    kafka.topic('soup').create()\n    assert False\n"
    )
    typed = [part.partition("\n") for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    for command, _, output in typed:
        program, *arguments = shlex.split(command)
        ended = subprocess.run(
            [sys.executable, "-m", program, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        if program == "ottla":
            assert (ended.returncode, ended.stdout, ended.stderr) == (0, output, "")
            assert read_traces(tmp_path / output.strip())
        else:
            (page,) = (tmp_path / "kafka-traces").iterdir()
            assert str(page) in ended.stdout
    assert [command.split()[0] for command, _, _ in typed] == ["pytest", "ottla", "ottla", "ottla"]
