"""The machine loses power at any moment, and whatever it finds then, what was promised is there.

Each story is told, and what it does to the directory recorded. Then a broker is started on some of the states in which
the device may be, and looked at; on some of them it goes on, and the machine goes down again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ottla.broker.storage.file_operations import FileOperations
from tests.storage.crash.ledger import Ledger
from tests.storage.crash.power_loss import FileSystem, Machine
from tests.storage.crash.recording import RecordingOperations
from tests.storage.crash.site import Site
from tests.storage.crash.stories import STORIES, Story, goes_on
from tests.storage.crash.verdict import check

SEED: Final = int(os.environ.get("OTTLA_SEED") or 1)
IS_LONG: Final = bool(os.environ.get("OTTLA_SOAK"))
#: How often each story is told, and on how many states of its machine a broker is started.
TELLINGS: Final = int(os.environ.get("OTTLA_ROUNDS") or 100) if IS_LONG else 4
STATES: Final = 50
#: How likely a broker goes on with what it found, and on how many states of its machine another is started then.
GOING_ON: Final = 0.2
STATES_AGAIN: Final = 3


@pytest.fixture
def directory() -> Iterator[Path]:
    """An empty one in memory, if that can be had: nothing here is to survive."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


@pytest.mark.parametrize("file_system", FileSystem, ids=lambda file_system: file_system.value)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_power_is_lost(story: Story, file_system: FileSystem, directory: Path) -> None:
    """A broker that is started then keeps what was promised, serves nothing else, and goes on."""
    for telling in range(TELLINGS):
        seed = f"{SEED}-{telling}"
        tell(story, file_system, Random(seed), directory / str(telling), seed)
        shutil.rmtree(directory / str(telling))


def tell(story: Story, file_system: FileSystem, random: Random, directory: Path, seed: str) -> None:
    """Tell a story, and start a broker on some of the states in which its machine may be."""
    operations = new_machine(directory / "live")
    site = Site(directory / "live" / "data", operations, random)
    story(site, random)
    site.kill()
    for moment, found in states(operations, file_system, random, STATES, directory):
        try:
            find(found, site.ledger, moment, file_system, random)
        except BaseException:
            print(f"{story.__name__}, {file_system.value}, seed {seed}, after operation {moment}: {found}")
            raise


def new_machine(root: Path) -> RecordingOperations:
    """With nothing on its device."""
    root.mkdir(parents=True)
    return RecordingOperations(root)


def states(
    operations: RecordingOperations, file_system: FileSystem, random: Random, count: int, directory: Path
) -> Iterator[tuple[int, Path]]:
    """(after how many operations power was lost, a directory with what is found then), so many times."""
    machine, done = Machine(operations, file_system), 0
    for number, moment in enumerate(sorted(random.randint(0, len(operations.done)) for _ in range(count))):
        machine.run(moment - done)
        done = moment
        found = directory / f"found-{number}"
        found.mkdir(parents=True)
        machine.lose_power(random, found)
        yield moment, found
        shutil.rmtree(found)


def find(found: Path, ledger: Ledger, moment: int, file_system: FileSystem, random: Random) -> None:
    """Start a broker on what was found, and look at it. Now and then it goes on, and its machine goes down, too."""
    operations = RecordingOperations(found)
    site = Site(found / "data", operations, random)
    try:
        site.ledger = ledger.after(check(site, ledger, moment, file_system))
        if random.random() < GOING_ON:
            goes_on(site, random)
    finally:
        site.kill()
    if any(topic.logs for topic in site.ledger.topics.values()) and random.random() < GOING_ON:
        for later, found_again in states(operations, file_system, random, STATES_AGAIN, found.parent / "again"):
            again = Site(found_again / "data", FileOperations(), random)
            try:
                check(again, site.ledger, later, file_system)
            finally:
                again.kill()
