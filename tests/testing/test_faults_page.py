"""docs/faults.md shows only what is so: its programs pass, its commands say what it says, its tables are complete."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from ottla.control.faults.specification import AIM_WORDS, TIMES_WORDS
from ottla.control.faults.verbs import VERBS
from tests.cli.terminal import ottla, serving

PAGE: Final = (Path(__file__).parents[2] / "docs" / "faults.md").read_text()
SECONDS_MAX: Final = 120
#: kafka-python loads its schemas in a way that Python warns of.
_INI: Final = """\
[pytest]
filterwarnings =
    error
    ignore:(read|open)_text is deprecated:DeprecationWarning
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_every_program_passes(tmp_path: Path) -> None:
    """In a project of somebody's own, where nothing but Ottla is set up; each block is a file that names itself."""
    programs = blocks("python")
    for program in programs:
        (tmp_path / program.partition("\n")[0].removeprefix("# ")).write_text(program)
    (tmp_path / "pytest.ini").write_text(_INI)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(list(tmp_path.glob("test_*.py"))) == len(programs) == PAGE.count("```python") > 5


def test_commands_say_what_is_shown() -> None:
    """One after the other, to one broker."""
    (console,) = blocks("console")
    with serving("--control", "127.0.0.1:0") as broker:
        for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            said = ottla(*shlex.split(command)[1:], "--control", broker.control)
            assert (said.stdout, said.stderr) == (output, "")


def test_tables_have_every_word() -> None:
    """All verbs, all aims, all ways to say how often, and no others."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    words = {word for row in rows for word in re.findall(r"`(\w+)", row)}
    assert words == {*VERBS, *AIM_WORDS} - {"api"}
    for word in set(TIMES_WORDS) - {"probability"}:
        assert f"`{word}(" in PAGE
