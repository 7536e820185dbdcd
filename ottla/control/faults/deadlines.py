"""Deadlines that are reached and have no effect yet: a timer of a group, and the moment at which a dead node is missed.

    session     of a member, or of an id that was handed out: it would be out of its group
    join, sync  of a rebalance: it would go on without those who are late
    failover    of a node that died: others would lead and coordinate

Time goes on. What happens meanwhile makes a deadline void as always: a heartbeat that moves it, a member that leaves, a
node that is back. Then nothing comes of it when it is let go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ottla.control.faults.keeping import Keeping, Kept
from ottla.control.faults.misuse import BadFault
from ottla.coordinator.classic.timers import KINDS

if TYPE_CHECKING:
    from ottla.protocol.errors import ErrorCode
    from ottla.protocol.primitives import Message

#: The kinds of timers that can be held.
TIMERS: Final = KINDS
FAILOVER: Final = "failover"


@dataclass(frozen=True, slots=True)
class Reached:
    """A deadline that is reached."""

    kind: str
    happen: Callable[[], object]
    """Has its effect."""
    matters: Callable[[], bool]
    """Whether there still is any."""
    node_id: int
    """Who coordinates the group; or who died."""
    group_id: str | None = None
    member_id: str | None = None

    def __str__(self) -> str:
        whose = [name for name in (self.member_id, self.group_id) if name is not None]
        return f"{self.kind} of {' of '.join(whose) if whose else f'node {self.node_id}'}"


class HeldDeadline(Kept):
    """A deadline that is held."""

    def __init__(self, number: int, reached: Reached, told: Callable[[HeldDeadline], object]) -> None:
        super().__init__(number, told)
        self._reached = reached

    @property
    def what(self) -> str:
        return str(self._reached)

    @property
    def at(self) -> str:
        return self._reached.kind

    @property
    def group_id(self) -> str | None:
        return self._reached.group_id

    @property
    def member_id(self) -> str | None:
        return self._reached.member_id

    @property
    def node_id(self) -> int:
        return self._reached.node_id

    @property
    def is_gone(self) -> bool:
        return not self._reached.matters()

    def refuse(self, error: ErrorCode) -> NoReturn:
        raise BadFault(f"{self.what} is a deadline, which nobody has asked for; let it go or lose it")

    def change(self, **fields: Any) -> None:
        """A deadline can be given nothing: raises `BadFault` unless that is what is asked."""
        if fields:
            self.replace(None)

    def replace(self, message: Message | None) -> NoReturn:
        raise BadFault(f"{self.what} is a deadline, which has nothing to change; let it go or lose it")

    def _go_on(self) -> None:
        if self._reached.matters():
            self._reached.happen()


class HoldDeadlines(Keeping[HeldDeadline]):
    """Holds each deadline of these kinds that it gets."""

    def __init__(self, *kinds: str) -> None:
        super().__init__()
        self.kinds = kinds
        self.text = "hold it"

    def hold(self, reached: Reached) -> None:
        """Keep it until somebody decides about it."""
        self.keep(lambda number, told: HeldDeadline(number, reached, told))
