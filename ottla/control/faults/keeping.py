"""What waits until somebody decides about it, be it a request, an answer or a deadline; and what keeps it.

Each can be let go, refused or lost by itself and in any order. What makes no sense for it is a `BadFault`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ottla.control.faults.milestones import Milestones
from ottla.control.faults.misuse import BadFault
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.protocol.primitives import Message


class How(Enum):
    """What became of something that was held."""

    LET_GO = "let go"
    REFUSED = "refused"
    LOST = "lost"


class Kept:
    """Something that is held. What does not apply to it is None."""

    def __init__(self, number: int, told: Callable[[Any], object]) -> None:
        """`number`: counts what its hold has held, from 1. `told`: called when it is decided about."""
        self.number = number
        #: None: it is held still.
        self.how: How | None = None
        self._told = told

    @property
    @abstractmethod
    def what(self) -> str:
        """How it is told, such as "SyncGroup of 'ana'"."""

    @property
    @abstractmethod
    def at(self) -> str:
        """Where it is held: at the request, at the answer, or at which kind of deadline."""

    @property
    @abstractmethod
    def is_gone(self) -> bool:
        """Whether nothing would come of it any more: its client has gone, or its deadline has become void."""

    @property
    def api(self) -> str | None:
        return None

    @property
    def client_id(self) -> str | None:
        return None

    @property
    def group_id(self) -> str | None:
        return None

    @property
    def member_id(self) -> str | None:
        return None

    @property
    def node_id(self) -> int | None:
        return None

    @property
    def request(self) -> Message | None:
        return None

    @property
    def answer(self) -> Message | None:
        return None

    def let_go(self) -> None:
        """Let it go. Raises `BadFault` if it is not held any more."""
        self._decide(How.LET_GO)
        self._go_on()

    def lose(self) -> None:
        """Nothing more becomes of it. Raises `BadFault` if it is not held any more."""
        self._decide(How.LOST)

    @abstractmethod
    def refuse(self, error: ErrorCode) -> None:
        """Answer it with an error, in place of what is held. Raises `BadFault`."""

    @abstractmethod
    def change(self, **fields: Any) -> None:
        """Give what is held other values. Raises `BadFault`."""

    @abstractmethod
    def replace(self, message: Message) -> None:
        """Have another message go on in its place, of the same kind. Raises `BadFault`."""

    @abstractmethod
    def _go_on(self) -> None:
        """It was let go."""

    def _check_held(self) -> None:
        if self.how is not None:
            raise BadFault(f"{self.what} is not held any more: it was {self.how.value}")

    def _decide(self, how: How) -> None:
        self._check_held()
        self.how = how
        self._told(self)


K = TypeVar("K", bound=Kept)


class Keeping(Generic[K]):
    """What a hold holds."""

    def __init__(self) -> None:
        #: All that it has held, in the order in which they came, those that were let go among them.
        self.all: list[K] = []
        #: Who is called when something is held or decided about.
        self.on_held: Callable[[K], object] = lambda kept: None
        self.on_decided: Callable[[K], object] = lambda kept: None
        #: Who waits until so many have been held since the beginning.
        self.milestones = Milestones()
        self.is_removed = False

    @property
    def waiting(self) -> list[K]:
        """All that is held now, in the order of arrival."""
        return [kept for kept in self.all if kept.how is None]

    def keep(self, make: Callable[[int, Callable[[K], object]], K]) -> None:
        """Hold what is made of its number and who is told what becomes of it."""
        kept = make(len(self.all) + 1, self.on_decided)
        self.all.append(kept)
        self.on_held(kept)
        self.milestones.reached(len(self.all))

    def let_all_go(self) -> None:
        """Let everything go, and hold nothing more."""
        self.is_removed = True
        for kept in self.waiting:
            kept.let_go()
