"""What is going on, on stderr: a line for each step and, on a terminal, how many of Spark's tasks are done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, TextIO

from ottla.terminal.printable import printable

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOOK_SECONDS: Final = 0.2
_CLEAR_LINE: Final = "\r\x1b[K"


class Progress:
    """Says what a job does. On anything but a terminal, steps are all it says."""

    def __init__(self, job_name: str, stream: TextIO | None = None) -> None:
        self._job_name = job_name
        self._stream = stream if stream is not None else sys.stderr
        self._is_live = self._stream.isatty()

    def step(self, what: str) -> None:
        """The job goes on to something else: "reading 12 partitions of orders"."""
        self._say(f"ottla {self._job_name}: {printable(what)}\n")

    @contextmanager
    def watching(self, context: SparkContext) -> Iterator[None]:
        """Show how far Spark is, for the length of the `with`."""
        if not self._is_live:
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
            self._say("")

    def _watch(self, context: SparkContext, is_over: Event) -> None:
        tracker = context.statusTracker()
        while not is_over.wait(_LOOK_SECONDS):
            stages = [tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds()]
            tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
            if tasks:
                done, total = (sum(counts) for counts in zip(*tasks, strict=True))
                self._say(f"  {done} of {total} tasks")

    def _say(self, text: str) -> None:
        self._stream.write(_CLEAR_LINE + text if self._is_live else text)
        self._stream.flush()
