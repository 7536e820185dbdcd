"""docs/testing.md shows only what is so: its programs pass, and a timeline looks as it is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ottla.control.state.sentences import sentence
from ottla.events.kind import KINDS
from ottla.events.stream import Event
from tests.support.patience import PATIENCE_SECONDS

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "testing.md").read_text()
#: What kafka-python itself does in an old way.
KAFKA_PYTHONS: Final = "ignore::DeprecationWarning"


def programs() -> dict[str, str]:
    """The Python blocks by the file name in their first line."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return {block.partition("\n")[0].removeprefix("# "): block for block in blocks}


def test_every_program_passes(tmp_path: Path) -> None:
    """In a project of somebody's own, where nothing but Ottla is set up."""
    for name, program in programs().items():
        (tmp_path / name).write_text(program)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-W", KAFKA_PYTHONS, "-p", "no:asyncio"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    tests = [name for name in programs() if name.startswith("test_")]
    assert len(programs()) == PAGE.count("```python") == len(tests) + 1
    assert len(tests) > 10


@pytest.mark.parametrize(
    ("kind", "details", "said"),
    [
        ("topic.created", {"topic": "orders", "partitions": 1}, "topic orders created, 1 partition"),
        ("group.member.joined", {"client_id": "ana", "client_host": "/127.0.0.1"}, "joined: ana at /127.0.0.1"),
        ("group.member.removed", {"cause": "session_expired"}, "removed: session_expired"),
        ("group.rebalance.started", {"cause": "member_joined"}, "rebalance started: member_joined"),
        ("group.emptied", {"generation_id": 2}, "generation 2: no members left"),
        ("time.advanced", {"ms": 45_000}, "time moved by 45000 ms"),
    ],
)
def test_timeline_on_the_page_is_as_one_is(kind: str, details: dict[str, object], said: str) -> None:
    """Sentence by sentence."""
    assert sentence(Event(1, 0, 0, None, KINDS[kind], details)) == said
    assert re.search(rf"^[\d. ]+.* {re.escape(said)}$", PAGE, re.MULTILINE)


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
