"""Work that takes long, done a little in every turn of the event loop, so that clients hardly notice.

A job is a generator that yields wherever it may be interrupted, and so often that a step takes a fraction of a
millisecond. Each turn of the loop gives one job one slice, job by job in turn; how many jobs there are makes no
difference to how long a turn takes. While there are none nothing runs.

How long a slice takes is measured by the machine's clock, whatever clock the broker has: it is about the time that
clients have to wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from ottla.broker.cluster.cluster import Cluster

#: What is begun within it is finished, so a turn is held a step longer.
SLICE_SECONDS: Final = 0.002

Job: TypeAlias = Iterator[None]


class Background:
    """The jobs of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._jobs: deque[Job] = deque()
        self._is_running = False

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do."""
        return not self._is_running

    def start(self, job: Job) -> None:
        """Do it from the next turn of the loop on. An error of a job ends the broker."""
        self._jobs.append(job)
        if not self._is_running:
            self._is_running = True
            self._cluster.tasks.create_task(self._run(), name="background")

    def close(self) -> None:
        """Do nothing any more; what is half done stays so."""
        self._jobs.clear()

    async def _run(self) -> None:
        while self._jobs:
            job = self._jobs.popleft()
            if _go_on(job):
                self._jobs.append(job)
            await asyncio.sleep(0)
        self._is_running = False


def _go_on(job: Job) -> bool:
    """Give a job its slice; returns whether it has more to do."""
    end = perf_counter() + SLICE_SECONDS
    return any(perf_counter() >= end for _ in job)
