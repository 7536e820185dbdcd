"""What a release holds, without the long way of `make dist`, which also installs it on every Python there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import ottla
from tests.cli.terminal import ottla as run_ottla

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = Path(ottla.__file__).parent
VERSION: Final = "1.2.3"


def files_of(folder: Path) -> set[str]:
    """What is there, as paths from the folder's parent, without what Python and tools leave."""
    return {
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".mypy_cache", ".ruff_cache"} & set(path.parts)
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Built from the sources as they are, for a tag v1.2.3."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        env={**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": VERSION},
        capture_output=True,
        check=True,
    )
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_has_all_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Data files and py.typed among it; no tests, no benchmarks."""
    names = {name for name in wheel.namelist() if not name.startswith(f"ottla-{VERSION}.dist-info/")}
    assert names == files_of(PACKAGE)
    assert {name for name in names if not name.endswith(".py")} >= {"ottla/py.typed"}


def test_the_wheel_has_the_version_the_licence_and_what_starts_it(wheel: zipfile.ZipFile) -> None:
    """The command, and the plugin of pytest."""
    folder = f"ottla-{VERSION}.dist-info"
    assert f"\nVersion: {VERSION}\n" in wheel.read(f"{folder}/METADATA").decode()
    assert {f"{folder}/licenses/LICENSE", f"{folder}/licenses/NOTICE"} <= set(wheel.namelist())
    entries = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "ottla = ottla.cli:main" in entries
    assert "ottla = ottla.testing.plugin" in entries


def test_the_version_is_said_on_stdout_and_nothing_else_is() -> None:
    """Scripts read it; it is that of the installation."""
    ended = run_ottla("--version")
    assert (ended.stdout, ended.stderr, ended.returncode) == (f"ottla {ottla.__version__}\n", "", 0)


def changes(version: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / ".ci" / "dist.py"), "--changes", version]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    """Without the heading of the next one."""
    ended = changes("Unreleased")
    assert ended.returncode == 0
    assert ended.stdout.startswith("- ")
    assert "\n## " not in ended.stdout


def test_a_version_that_the_changelog_does_not_tell_of_is_no_release() -> None:
    """The workflow stops there, before anything is published."""
    ended = changes("99.0")
    assert ended.returncode == 1
    assert "give it a section" in ended.stderr


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit(workflow: Path) -> None:
    """A tag can be moved; the comment says which version it is."""
    used = re.findall(r"uses: (?!\./)(.+)", workflow.read_text())
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action)] == []
