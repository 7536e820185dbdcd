"""`kill -9` with 100,000 committed offsets in 1,000 groups, and a start: until the first OffsetFetch is answered, which
is asked again and again from the ready line on.

On a directory of its own, so this is for Ottla on disk alone.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.members import create_topic, until_coordinated
from bench.peers.ottla import ON_DISK, serving
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.support.client import Client

GROUPS = 1_000
OFFSETS_PER_GROUP = 100
TOPIC = "restart"

RESTART = Row("restart with 100,000 offsets to first OffsetFetch, ms", smaller_is_better=True, goal="≤ 2,000")


def measure(broker: Broker, seconds: float) -> Values:
    if broker.peer != ON_DISK:
        raise UnableError("it keeps nothing, or where is not ours to know")
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory:
        arguments = ("--data-dir", directory, "--log-level", "error")
        with serving(ON_DISK, *arguments) as before:
            create_topic(before, TOPIC, partitions=OFFSETS_PER_GROUP)
            with Client(before.bootstrap) as client:
                until_coordinated(client, _group(0))
                for number in range(GROUPS):
                    _commit(client, _group(number))
            assert before.pid is not None
            os.kill(before.pid, signal.SIGKILL)
        with serving(ON_DISK, *arguments) as after, Client(after.bootstrap) as client:
            while not _is_answered(client, _group(GROUPS - 1)):
                time.sleep(0.001)
            return {RESTART.title: (time.perf_counter() - after.spawned_at) * 1e3}


def _group(number: int) -> str:
    return f"group-{number:04}"


def _commit(client: Client, group: str) -> None:
    partitions = [OffsetCommitRequest.OffsetCommitRequestPartition(index, 42) for index in range(OFFSETS_PER_GROUP)]
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=partitions)
    if client.ask(OffsetCommitRequest(group, topics=[topic]), 7).topics[0].partitions[-1].error_code:
        raise UnableError("a commit was refused")


def _is_answered(client: Client, group: str) -> bool:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(TOPIC, list(range(OFFSETS_PER_GROUP)))
    answer = client.ask(OffsetFetchRequest(group, [topic]), 5)
    if answer.error_code:
        return False
    if any(partition.committed_offset != 42 for partition in answer.topics[0].partitions):
        raise UnableError("an offset is not what was committed")
    return True


FIGURE = Figure("restart", (RESTART,), measure)
