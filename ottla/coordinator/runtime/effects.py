"""What a step asks for. Whoever runs the step performs the effects in order, before the next step.

An answer, an append, a timer, a line in the journal. An append is special: its `completion` comes back in an
`AppendCompleted` event, and only then does whatever waits for the write move on. Timers go by their key: arming one
that runs already moves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from ottla.coordinator.notes import Note
    from ottla.protocol.primitives import Message

#: A record of the group log: key and value; None: a tombstone, what was under the key is gone.
Record: TypeAlias = tuple[bytes, bytes | None]

JOIN_TIMER: Final = "join"
SYNC_TIMER: Final = "sync"
_SESSION_TIMER: Final = "heartbeat-"


def session_timer(member_id: str) -> str:
    """The key of the timer that a member, or a pending member id, lives by."""
    return _SESSION_TIMER + member_id


def member_of(timer_key: str) -> str:
    """Whose session timer that is."""
    return timer_key[len(_SESSION_TIMER) :]


class Token(Protocol):
    """Who is to be answered. It comes with a request and goes back with the answer, once."""

    def answer(self, response: Any, /) -> None: ...


class Completion:
    """What a group wants to be reminded of when an append is done. Nobody else looks inside."""

    __slots__ = ()


@dataclass(slots=True)
class Reply:
    """Answer a request: with the API's response, or with the struct for one group where a response has several."""

    token: Token
    response: Message


@dataclass(slots=True)
class Append:
    """Append the records to the group's partition as one batch, then say how it went in an `AppendCompleted`."""

    records: Sequence[Record]
    completion: Completion


@dataclass(slots=True)
class Arm:
    """Send `TimerExpired(timer_key)` at `deadline_ms`, and only then if a timer of this key is running already."""

    timer_key: str
    deadline_ms: int


@dataclass(slots=True)
class Disarm:
    """Stop a timer."""

    timer_key: str


@dataclass(slots=True)
class Ended:
    """The group is no more, and neither are its timers. Nothing may be sent to it any longer."""


Effect: TypeAlias = "Reply | Append | Arm | Disarm | Ended | Note"
Effects: TypeAlias = "list[Effect]"
