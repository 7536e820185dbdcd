"""What a machine asks for. The runtime performs the effects in order, before the machine's next event.

An answer, an append, a timer, something to tell, something to be done elsewhere. An append is special: its `completion`
comes back in an `AppendCompleted` event, and only then does what waits for the write move on. Timers go by their key:
arming one that runs already moves it.

A machine of a kind with a `replay` does not change in its step: it says in the append's `changes` what the records say,
and the runtime applies each with `replay` once they are in the log. Reading the log back applies the same changes by
the same function, so a failed append changes nothing, and what is read back is what was there.

Effects don't change once they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.runtime.records import Record
from ottla.protocol.primitives import Message


class Token(Protocol):
    """The sender of a request. It comes with the request and is given the answer, once."""

    def answer(self, response: Any, /) -> None: ...


class Completion:
    """What a machine wants to be reminded of when an append is done. Only the machine looks inside."""

    __slots__ = ()


@frozen
class Reply:
    """Answer a request: with the API's response, or with the struct for one key where a response has several."""

    token: Token
    response: Message


@frozen
class Writer:
    """A producer with an open transaction. `verification`: that the partition is part of it, the log's own."""

    producer_id: int
    producer_epoch: int
    verification: object


@frozen
class Append:
    """Append the records to the machine's partition as one batch, then say how it went in an `AppendCompleted`."""

    records: Sequence[Record]
    completion: Completion
    writer: Writer | None = None
    """None: they count at once."""
    changes: Sequence[Any] = ()
    """What the records say, for the kind's `replay`; applied before the machine hears that the append is done."""


@frozen
class Arm:
    """Send `TimerExpired(timer_key)` at `deadline_ms`, and only then if a timer of this key is running already."""

    timer_key: str
    deadline_ms: int


@frozen
class Disarm:
    """Stop a timer."""

    timer_key: str


@frozen
class Ended:
    """The machine is no more, and neither are its timers. Nothing may be sent to it any longer."""


@frozen
class Become:
    """From now on this machine stands in the place of the one that says so: under its key, with its inbox, perhaps of
    another kind. Kafka: a classic group that is converted to a consumer group, or back.

    It comes when the records that say so are in the log, and after the answers to all that waited in the former one.
    The timers of the former machine are stopped. The effects that follow are the new machine's, first of all its
    timers, and what is in the inbox is its own to answer.
    """

    machine: Any


class Ask:
    """Something to be done elsewhere. The runtime's `ask` knows what is in it; the machine is told in an event."""

    __slots__ = ()


class Notice:
    """Something that happened and that people may want to know. Its readers know what is in it, the runtime doesn't."""

    __slots__ = ()


Effect: TypeAlias = Reply | Append | Arm | Disarm | Become | Ended | Ask | Notice
Effects: TypeAlias = list[Effect]
