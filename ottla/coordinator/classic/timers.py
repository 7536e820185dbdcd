"""The timers of a classic group, by their keys: one for each session, one for the rebalance under way."""

from __future__ import annotations

from typing import Final

JOIN_TIMER: Final = "join"
SYNC_TIMER: Final = "sync"
_SESSION_TIMER: Final = "heartbeat-"

SESSIONS: Final = "Heartbeat"
"""The purgatory of sessions, of members and of ids that were handed out."""
REBALANCES: Final = "Rebalance"
"""The purgatory of join phases, and of sync phases."""


def session_timer(member_id: str) -> str:
    """The key of the timer that a member, or a pending member id, lives by."""
    return _SESSION_TIMER + member_id


SESSION: Final = "session"
KINDS: Final = (SESSION, JOIN_TIMER, SYNC_TIMER)
"""What a timer of a group may be of."""


def describe_timer(timer_key: str) -> tuple[str, str | None]:
    """What the timer of this key is of, one of `KINDS`, and for a session the member id."""
    if timer_key in (JOIN_TIMER, SYNC_TIMER):
        return timer_key, None
    return SESSION, member_of(timer_key)


def member_of(timer_key: str) -> str:
    """The member id of a session timer."""
    return timer_key[len(_SESSION_TIMER) :]


def purgatory_of(timer_key: str) -> str:
    """The purgatory that the timer of this key waits in."""
    return REBALANCES if timer_key in (JOIN_TIMER, SYNC_TIMER) else SESSIONS
