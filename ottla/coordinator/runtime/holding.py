"""Appends that are held: what a machine writes waits, with all that it is asked meanwhile, for a decision.

A log that holds an append raises `AppendHeld` in place of writing. The machine's owner keeps the records, takes nothing
more out of its inbox, and goes on when it is told which log to write them to. A caller that can't wait for that, such
as the unloading of a partition, has it `finish` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.coordinator.runtime.log import Log


class AppendHeld(Exception):
    """Nothing was written yet."""

    #: Has the owner write to this log, once, and go on; set by the owner.
    go_on: Callable[[Log], object]

    def __init__(self, finish: Callable[[], object]) -> None:
        """`finish`: decides about it now, and has the owner go on."""
        super().__init__("the append is held")
        self.finish = finish
