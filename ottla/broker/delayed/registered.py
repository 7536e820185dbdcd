"""The purgatories of a broker, in one list: counters, the autojump and the list of deadlines go over it.

A part that makes a purgatory enters it in `Services.purgatories`: `DelayedOperations.add` does so for requests that
wait for a partition, `Services` for the timers of each coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.purgatory import Purgatory


@dataclass(frozen=True, slots=True)
class RegisteredPurgatory:
    """A purgatory, whose it is, and what waits in it."""

    purgatory: Purgatory[Any]
    node_id: int | None
    """The node whose operations wait in it; None: those of all nodes."""
    holds_requests: bool
    """Whether clients wait for what waits in it, as for a fetch or a rebalance. Session timeouts are not waited for."""
