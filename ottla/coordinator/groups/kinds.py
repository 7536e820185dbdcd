"""Which kinds of groups there are. A new kind is a room of its own beside classic/, and a line here.

Whatever looks at groups or changes them goes by these rows, and by nothing else of a kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.classic.kind import CLASSIC_GROUPS

if TYPE_CHECKING:
    from ottla.coordinator.kinds.kind import GroupKind, Kinds

KINDS: Final[Kinds] = {kind.machine: kind for kind in (CLASSIC_GROUPS,)}
"""By the class of their machines."""

SIMPLE: Final[GroupKind[Any]] = CLASSIC_GROUPS
"""The kind that a group is of which has committed offsets and never had members."""


def states(kinds: Kinds = KINDS) -> tuple[str, ...]:
    """The names of all states that groups can be in."""
    return tuple(dict.fromkeys(str(state.value) for kind in kinds.values() for state in kind.states))


def causes(kinds: Kinds = KINDS) -> tuple[str, ...]:
    """The names of all causes of what happens in groups."""
    return tuple(dict.fromkeys(str(cause.value) for kind in kinds.values() for cause in kind.causes))


def timers(kinds: Kinds = KINDS) -> tuple[str, ...]:
    """The words for all timers of groups."""
    return tuple(dict.fromkeys(word for kind in kinds.values() for word in kind.runtime.timer_kinds))


def parking_purgatories(kinds: Kinds = KINDS) -> tuple[str, ...]:
    """The purgatories in which each timer is a deadline of requests that wait for their answers."""
    return tuple(dict.fromkeys(name for kind in kinds.values() for name in kind.parks_in))


def member_timers(kinds: Kinds = KINDS) -> tuple[str, ...]:
    """The words for the timers that are of one member."""
    return tuple(dict.fromkeys(word for kind in kinds.values() for word in kind.member_timers))
