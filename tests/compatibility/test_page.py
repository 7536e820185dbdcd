"""docs/compatibility.md says what the kept results say, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compatibility import page, results
from compatibility.clients import CLIENTS, has
from compatibility.results import FAILED, HAS_NONE, NOT_SERVED, PASSED, Cell, load
from compatibility.stories import STORIES


def test_the_page_is_printed_from_the_results() -> None:
    """`make docs` prints it; nobody writes it by hand."""
    assert page.PAGE.read_text(encoding="utf-8") == page.text()


def kept(client: str, version: str) -> dict[str, Any]:
    return next(row for row in load("clients")["rows"] if (row["client"], row["version"]) == (client, version))


@pytest.mark.parametrize(
    ("client", "version"), [(client.name, version) for client in CLIENTS for version in client.versions]
)
def test_every_version_has_a_result_for_every_story(client: str, version: str) -> None:
    """Or a reason why there is none; and what a version has not is said of both brokers."""
    row = kept(client, version)
    sides = [row[side] for side in ("ottla", "kafka") if side in row]
    assert sides or row["not run"]["why"]
    for side in sides:
        assert side["made"]
        assert side["commit"]
        cells = {story: Cell.read(text) for story, text in side["stories"].items()}
        assert list(cells) == [story.name for story in STORIES]
        assert {cell.outcome for cell in cells.values()} <= {PASSED, FAILED, NOT_SERVED, HAS_NONE}
        library = next(each for each in CLIENTS if each.name == client)
        lacking = {story.name for story in STORIES if not has(library, version, story.name)}
        assert {story for story, cell in cells.items() if cell.outcome == HAS_NONE} == lacking


def test_a_section_is_printed_for_each_file_of_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without results there is only the head of the page."""
    monkeypatch.setattr(page, "DIRECTORY", tmp_path)
    monkeypatch.setattr(results, "DIRECTORY", tmp_path)
    assert "## Clients" not in page.text()
    empty = {"made": "2026-11-22", "commit": "abc1234", "rows": []}
    (tmp_path / "clients.json").write_text(json.dumps(empty))
    assert "## Clients" in page.text()
