"""A kind of events, declared once: all that the log, the journal, the timeline and the docs have to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
#: What an event tells besides its kind, by keys of the kind.
Details: TypeAlias = Mapping[str, Any]


class Once(NamedTuple):
    """The log has an event that comes again and again once for a reason, until it has not come for a while."""

    whose: tuple[str, ...]
    """The keys that say what it is about."""
    why: str
    """The key that has the reason."""
    quiet_ms: int
    """After so long without it, it is logged again."""


@dataclass(frozen=True, slots=True, eq=False)
class EventKind:
    """A kind of events. Two kinds are equal only if they are the same."""

    name: str
    """In the past tense, with dots."""
    level: Level | None
    """At which it is logged; None: it is not."""
    keys: tuple[str, ...]
    """The details it can have, in the order in which the log has them."""
    when: str
    """What it means, for people."""
    keys_unlogged: tuple[str, ...] = ()
    """Further details, which the log leaves out."""
    says: Callable[[Details], str] | None = None
    """The sentence of the timeline; None: the name and the details."""
    is_minor: bool = False
    """Whether a short timeline leaves it out."""
    once: Once | None = None
    """None: the log has each of them."""
