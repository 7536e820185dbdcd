"""The machine loses power at any moment, and whatever it finds then, what was promised is there.

Each story is told, and what it does to the directory recorded. Then a broker is started on some of the states in which
the device may be, and looked at; on some of them it goes on, and the machine goes down again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ottla.log.storage.file_operations import FileOperations
from tests.log.storage.crash.conftest import SEED
from tests.log.storage.crash.ledger import Ledger
from tests.log.storage.crash.power_loss import FileSystem, new_machine, states
from tests.log.storage.crash.recording import RecordingOperations
from tests.log.storage.crash.site import Site
from tests.log.storage.crash.stories import STORIES, Story, goes_on
from tests.log.storage.crash.verdict import check
from tests.support.soak import rounds

#: How often each story is told, and on how many states of its machine a broker is started.
TELLINGS: Final = rounds(short=4, long=40)
STATES: Final = 50
#: How likely a broker goes on with what it found, and on how many states of its machine another is started then.
GOING_ON: Final = 0.2
STATES_AGAIN: Final = 3


@pytest.mark.soak
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
