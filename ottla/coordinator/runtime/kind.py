"""What the runtime has to know of a kind of machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ottla.coordinator.runtime.effects import Effects
from ottla.coordinator.runtime.events import TopicChange

M = TypeVar("M")


class StepFailed(Exception):
    """A bug of ours in a step. `effects` are those there were by then: the machine thinks that it has answered."""

    def __init__(self, effects: Effects) -> None:
        super().__init__("a step of a machine failed")
        self.effects = effects


@dataclass(slots=True, frozen=True)
class Kind(Generic[M]):
    """A kind of machine."""

    name: str
    """Tasks are named by it and the machine's key: "group orders"."""
    step: Callable[[M, int, Any], Effects]
    """(machine, now_ms, event) -> effects. It changes the machine; it never waits and reads no clock.

    `now_ms` is the date, and deadlines in effects are instants of the same clock. It knows the kind's requests and all
    of `RuntimeEvent`, and raises for nothing that a client can send. What it raises is a bug, best `StepFailed` from
    the cause, and the machine is not to be trusted any more.
    """
    purgatory_of: Callable[[str], str]
    """The name of the purgatory that the timer of this key waits in."""
    timer_kinds: tuple[str, ...]
    """The words for what its timers are of: "session". Kinds of machines share a word only for the same thing."""
    describe_timer: Callable[[str], tuple[str, str | None]]
    """What the timer of this key is of, one of `timer_kinds`, and the id of the member it is about, if it is of one."""
    replay: Callable[[M, Any], None] | None = None
    """Applies to the machine what one record says: when it was appended (`Append.changes`), and when it is read back.

    None: the machine changes in its step, and the shard reads it back in a way of its own; a test has to hold the two
    to the same.
    """
    topic_changes: frozenset[TopicChange] = frozenset()
    """What happens to topics and is sent to its machines, in `TopicsChanged`. They are not woken for anything else."""
    sharing: type | None = None
    """The class of events that share a batch when they follow one another; None: none do."""
    has_long_timers: bool = False
    """Whether much may be to do when a timer runs out, which is done in slices then."""
