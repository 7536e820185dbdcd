"""The machine of a whole broker loses power, with its threads, its sockets and its group log."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.broker.groups.test_group_restart import commit, committed, create, find_coordinator
from tests.log.storage.crash.conftest import SEED
from tests.log.storage.crash.power_loss import FileSystem, new_machine, states
from tests.support.client import Client
from tests.support.running_broker import RunningBroker
from tests.support.soak import IS_SOAK

STATES: Final = 200 if IS_SOAK else 8
#: Every batch is flushed before it is acknowledged, those of the group log too.
SETTINGS: Final = {"log.flush.interval.messages": "1", "offsets.topic.num.partitions": "2"}


@pytest.mark.soak
@pytest.mark.parametrize("file_system", FileSystem, ids=lambda file_system: file_system.value)
def test_offsets_that_were_flushed_are_there(file_system: FileSystem, directory: Path) -> None:
    """What a group has committed last, or is committing."""
    operations, random = new_machine(directory / "live"), Random(SEED)
    #: (after how many operations, what is committed then at the least)
    promised, begun = [(0, -1)], [(0, -1)]
    with (
        RunningBroker(data_dir=directory / "live" / "data", operations=operations, settings=SETTINGS) as broker,
        Client(broker.bootstrap) as client,
    ):
        find_coordinator(client)
        for offset in range(12):
            begun.append((len(operations.done), offset))
            commit(client, offset)
            promised.append((len(operations.done), offset))
            create(client, f"topic-{offset}")
    for moment, found in states(operations, file_system, random, STATES, directory):
        with (
            RunningBroker(data_dir=found / "data", settings=SETTINGS) as broker,
            Client(broker.bootstrap) as client,
        ):
            find_coordinator(client)
            least = max(offset for at, offset in promised if at <= moment)
            most = max(offset for at, offset in begun if at <= moment)
            assert least <= committed(client) <= most, f"seed {SEED}, after operation {moment}"
            assert not broker.log.named("log.offline")
