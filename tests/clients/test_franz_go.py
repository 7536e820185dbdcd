"""franz-go's transactions: a producer, and a group whose members consume and produce in one.

Where there is no `go` the tests are skipped and say so.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.clients.conftest import SETTINGS, MakeTopic, unique_name
from tests.clients.franz_go import build_franz_go
from tests.support.backstage import Backstage
from tests.support.ottla_process import ottla
from tests.support.patience import PATIENCE_SECONDS

PARTITIONS: Final = 3

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="franz-go needs `go`, which is not on the PATH")


@pytest.fixture(scope="module")
def program() -> Path:
    built = build_franz_go()
    assert built is not None
    return built


def copies(program: Path, *arguments: str) -> None:
    """Run it, and look at what it says."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.stdout.splitlines() == [
        "filled",
        "copied 400",
        "copied exactly once",
        "ana is fenced",
        "bo has committed",
    ], done.stderr
    assert done.returncode == 0


def test_members_of_a_group_copy_exactly_once(program: Path, bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    """Two of them, each of which aborts every second transaction; what was aborted in the source is not copied."""
    copies(program, bootstrap, make_topic(PARTITIONS), make_topic(PARTITIONS), group, unique_name("tx"))


@pytest.mark.own_broker
def test_without_transactions_of_version_2(program: Path) -> None:
    """It adds partitions by itself then."""
    with ottla(SETTINGS | {"ottla.transaction.version": "1"}) as broker, Backstage(broker.bootstrap) as behind:
        for topic in ("source", "target"):
            behind.create_topic(topic, PARTITIONS)
        copies(program, broker.bootstrap, "source", "target", "group", "tx")
