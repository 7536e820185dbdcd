"""The `kafka` fixture and its marker, in a project of somebody's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SECONDS_MAX = 60


def run(code: str, folder: Path) -> str:
    """What pytest says of a file with this code."""
    (folder / "test_mine.py").write_text(f"import pytest\n{code}")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "--strict-markers", "-p", "no:asyncio"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return ended.stdout + ended.stderr


def test_marker_sets_the_broker_up(tmp_path: Path) -> None:
    """Its words are those of `Broker`."""
    said = run(
        "@pytest.mark.kafka(nodes=3)\n"
        "def test_nodes(kafka):\n"
        "    assert kafka.bootstrap_servers.count(',') == 2\n"
        "def test_one(kafka):\n"
        "    assert kafka.bootstrap_servers.count(',') == 0\n",
        tmp_path,
    )
    assert "2 passed" in said


def test_marker_that_says_something_else_is_an_error(tmp_path: Path) -> None:
    """And not ignored, for the test would be about another broker than it says."""
    said = run(
        "@pytest.mark.kafka(3)\n"
        "def test_number(kafka): ...\n"
        "@pytest.mark.kafka(noodles=3)\n"
        "def test_typo(kafka): ...\n",
        tmp_path,
    )
    assert "2 errors" in said
    assert "passed" not in said


def test_runs_without_the_fixture_load_no_broker(tmp_path: Path) -> None:
    """Whoever has Ottla installed imports the plugin, whatever the tests are about."""
    said = run(
        "import sys\n"
        "def test_modules():\n"
        "    assert {name for name in sys.modules if name.split('.')[0] in {'ottla', 'uvloop', 'structlog', 'asyncio'}}"
        " == {'ottla', 'ottla.testing', 'ottla.testing.plugin'}\n",
        tmp_path,
    )
    assert "1 passed" in said, said


def test_fault_that_never_fires_fails_the_test_by_name(tmp_path: Path) -> None:
    """The test itself, not what comes after it; one that failed anyway fails for its own reason."""
    said = run(
        "def test_never(kafka):\n"
        "    kafka.fault('Produce', topic='orders').answer('NOT_ENOUGH_REPLICAS').once()\n"
        "def test_may(kafka):\n"
        "    kafka.fault('Produce', may_not_fire=True).drop_answer().once()\n"
        "def test_unset(kafka):\n"
        "    kafka.fault('Produce').drop_answer()\n"
        "def test_other(kafka):\n"
        "    kafka.fault('Produce').drop_answer().once()\n"
        "    raise ValueError('for another reason')\n"
        "@pytest.fixture\n"
        "def mine():\n"
        "    from ottla.testing import Broker\n"
        "    with Broker() as broker:\n"
        "        yield broker\n"
        "def test_mine(mine):\n"
        "    mine.fault('Fetch').drop_answer().once()\n",
        tmp_path,
    )
    assert "4 failed, 1 passed" in said, said
    assert (
        "fault 1 (Produce topic=orders: answer NOT_ENOUGH_REPLICAS, once), set at test_mine.py:3, never fired" in said
    )
    assert "the fault at test_mine.py:7 does not say how often" in said
    assert "for another reason" in said
    assert "fault 1 (Fetch: drop the answer, once)" in said
