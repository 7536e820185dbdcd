"""The progress of a job: a line for each step and, on a terminal, how many of Spark's tasks are done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from ottla.terminal import news

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOOK_SECONDS: Final = 0.2


class Progress:
    """Prints the progress of a job. Without a terminal it prints the steps only."""

    def __init__(self, job_name: str) -> None:
        self._job_name = job_name

    def step(self, what: str) -> None:
        """The job goes on to something else: "reading 12 partitions of orders"."""
        news.tell(what, by=f"ottla {self._job_name}")

    @contextmanager
    def watching(self, context: SparkContext) -> Iterator[None]:
        """Show the number of finished tasks during the `with`."""
        if not news.is_live():
            yield
            return
        is_over = Event()
        thread = Thread(target=self._watch, args=(context, is_over), name="ottla pipeline progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            news.tell_for_now("")

    def _watch(self, context: SparkContext, is_over: Event) -> None:
        tracker = context.statusTracker()
        while not is_over.wait(_LOOK_SECONDS):
            stages = [tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds()]
            tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
            if tasks:
                done, total = (sum(counts) for counts in zip(*tasks, strict=True))
                news.tell_for_now(f"{done} of {total} tasks")
