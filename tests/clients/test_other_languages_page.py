"""docs/other-languages.md shows only what is so: its tests pass, each in a folder of its own, by the commands it gives.

Their libraries come from the registries of their languages, by their own tools; where a tool is missing the test is
skipped and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.patience import PATIENCE_SECONDS

PAGE: Final = (Path(__file__).parents[2] / "docs" / "other-languages.md").read_text()
#: Section, what has to be on the PATH, and the files that it shows.
LANGUAGES: Final = [
    (
        "Java",
        ("mvn", "javac"),
        ["pom.xml", "src/test/java/kitchen/Ottla.java", "src/test/java/kitchen/KitchenTest.java"],
    ),
    ("Go", ("go",), ["kitchen_test.go"]),
    ("Node", ("npm", "node"), ["kitchen.test.js"]),
]
#: What the pages ask of Ottla is the same in each language, so the one that compiles nothing is enough for each change.
QUICKEST: Final = "Node"
LONG: Final = pytest.mark.soak(alone=True)
#: With everything to be downloaded and compiled.
SECONDS_MAX: Final = 3 * PATIENCE_SECONDS

pytestmark = pytest.mark.own_broker


def section_of(language: str) -> str:
    found = re.search(rf"^## {language}:.*?(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[0]


def files_in(section: str) -> dict[str, str]:
    """The blocks by the file name that the comment in their first line says."""
    blocks = re.findall(r"^```(?:xml|java|go|js)\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return {re.sub(r"^(//|<!--) (.*?)( -->)?$", r"\2", block.partition("\n")[0]): block for block in blocks}


def commands_in(section: str) -> list[str]:
    (console,) = re.findall(r"^```console\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return [line.removeprefix("$ ") for line in console.splitlines()]


@pytest.mark.parametrize(
    ("language", "tools", "files"),
    [pytest.param(*row, marks=() if row[0] == QUICKEST else LONG, id=row[0]) for row in LANGUAGES],
)
def test_every_language_passes(language: str, tools: tuple[str, ...], files: list[str], tmp_path: Path) -> None:
    """With the `ottla` of this installation on the PATH, as at a user's."""
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"the tests in {language} need `{missing[0]}`, which is not on the PATH")
    section = section_of(language)
    assert list(files_in(section)) == files
    for name, text in files_in(section).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["sh", "-ec", "\n".join(commands_in(section))],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_language_of_the_page_is_run() -> None:
    assert re.findall(r"^## (\w+):", PAGE, re.MULTILINE) == [language for language, *_ in LANGUAGES]
