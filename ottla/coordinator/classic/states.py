"""The states of a classic group, and what leads from which to which.

                      ┌──────────── PreparingRebalance ◀───────────┐
                      │   ▲               │       ▲                │
       all have left  │   │ a member      │ all   │ a member       │ a member joins, leaves
                      ▼   │ joins         ▼ joined│ joins, leaves  │ or changes
                     Empty          CompletingRebalance ───────▶ Stable
                                                    the leader's assignment is written

Kafka: ClassicGroupState.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class GroupState(Enum):
    """The states of a group, by the names that ListGroups and DescribeGroups show."""

    EMPTY = "Empty"
    """No members. It may have committed offsets, and members that were handed an id and have not come back yet."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waiting for the members to join; their JoinGroup requests are parked."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The new generation is known; waiting for the leader's assignment, with SyncGroup requests parked."""
    STABLE = "Stable"
    """Every member can have its assignment."""
    DEAD = "Dead"
    """No longer here: deleted, or unloaded because another node coordinates it now."""

    __hash__ = object.__hash__  # Enum's own goes through the name, in Python; a heartbeat looks up two of these


_EMPTY = GroupState.EMPTY
_PREPARING = GroupState.PREPARING_REBALANCE
_COMPLETING = GroupState.COMPLETING_REBALANCE
_STABLE = GroupState.STABLE
_DEAD = GroupState.DEAD

#: Where a group can go from each state, and when. Kafka: ClassicGroupState.validPreviousStates.
TRANSITIONS: Final[Mapping[GroupState, Mapping[GroupState, str]]] = {
    _EMPTY: {
        _PREPARING: "a member joins",
        _DEAD: "DeleteGroups, no offsets left, or unloaded",
    },
    _PREPARING: {
        _COMPLETING: "all members have joined, or the time is over",
        _EMPTY: "the last member has left",
        _DEAD: "unloaded",
    },
    _COMPLETING: {
        _STABLE: "the leader's assignment is written",
        _PREPARING: "a member joins, leaves or changes, or the write fails",
        _DEAD: "unloaded",
    },
    _STABLE: {
        _PREPARING: "a member joins, leaves or changes, or the leader rejoins",
        _DEAD: "unloaded",
    },
    _DEAD: {
        _DEAD: "",
    },
}

#: From where a rebalance can begin; in PreparingRebalance it has begun already.
CAN_REBALANCE: Final = frozenset(state for state, targets in TRANSITIONS.items() if _PREPARING in targets)
