"""Barriers: requests that are held until the test lets them go.

    with kafka.hold("SyncGroup", group="kitchen", role="leader") as held:
        held.wait()                       # it is there, and has no effect yet
        print(held.request)
    # let go here

`at="answer"` holds the answer instead: what was asked is done, and the client does not know yet. Everything that is
aimed at is held; each can be let go, refused, changed or lost by itself, in any order.

    with kafka.hold(timer="session", group="kitchen", member="ana-*") as held:
        kafka.advance(45_000)             # ana's session is over, and her group does not know yet

Deadlines of the broker are held in the same way: timers of groups and of transactions, and the failover of a node that
has died. So are appends to a topic, and what groups and transactional ids write: `append="__consumer_offsets"`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ottla.testing.faults import FaultNeverFired
from ottla.testing.inside import TIMEOUT_S
from ottla.testing.waiting import Waiting

if TYPE_CHECKING:
    from ottla.control.faults.fault import Fault as BrokerFault
    from ottla.control.faults.holds import Held
    from ottla.testing.inside import Looks

T = TypeVar("T")


class NothingHeld(AssertionError):
    """Nothing waits; the text says what has come."""


class HeldRequest:
    """A held request, answer, deadline, or write of a group or a transactional id."""

    def __init__(self, inside: Looks, held: Held) -> None:
        self._inside = inside
        self._held = held
        self.number = held.number
        #: "request" or "answer"; of deadlines the timer's word, such as "session", or "failover"; or "append".
        self.at = held.at
        #: None for a deadline, as is `client_id`.
        self.api = held.hit.api
        self.client_id = held.hit.client_id
        #: What does not apply is None.
        self.group_id = held.hit.group_id
        self.member_id = held.hit.member_id
        self.transactional_id = held.hit.transactional_id
        #: The node that was asked, that coordinates the group or the transactional id, or that has died.
        self.node_id = held.hit.node_id

    def __repr__(self) -> str:
        if self.api is None:
            return f"{self._held.what}, held"
        return f"{self._held.what}, held at the {self.at}: {self.request!r}"

    @property
    def request(self) -> Any:
        """The decoded request: Kafka's fields in snake_case. Read-only; `change` changes it."""
        return self._held.request

    @property
    def answer(self) -> Any:
        """The decoded answer, if the answer is held."""
        return self._held.answer

    @property
    def is_held(self) -> bool:
        """Whether it is still held."""
        return self._held.how is None

    @property
    def is_gone(self) -> bool:
        """Whether the client has closed the connection, or the deadline has become void."""
        return self._held.is_gone

    def change(self, **fields: Any) -> Self:
        """Change values in the request, or in the answer if the answer is held."""
        self._inside.look(lambda _: self._held.change(**fields))
        return self

    def replace(self, message: Any) -> Self:
        """Replace it by another message of the same kind, and let that go."""
        self._inside.look(lambda _: self._held.replace(message))
        return self

    def let_go(self) -> None:
        """Let it go."""
        self._inside.look(lambda _: self._held.let_go())

    def refuse(self, error: str) -> None:
        """Answer it with this error of Kafka's. A refused request has no effect. A deadline can't be refused."""
        from ottla.control.faults.verbs import error_code

        self._inside.look(lambda _: self._held.refuse(error_code(error)))

    def lose(self) -> None:
        """Lose it: it has no further effect."""
        self._inside.look(lambda _: self._held.lose())


class Hold:
    """Holds all requests of its aim, until the end of its block, or `end`."""

    def __init__(self, inside: Looks, specification: dict[str, Any], place: str) -> None:
        from ottla.control.faults.engine import hold_of

        self._inside = inside
        self._place = place
        self._fault: BrokerFault = inside.look(lambda broker: broker.faults.hold(specification))
        self.number = self._fault.number
        self._hold = hold_of(self._fault)

    def __repr__(self) -> str:
        return str(self._fault)

    def wait(self, count: int = 1, *, timeout_s: float = TIMEOUT_S) -> HeldRequest:
        """Wait until this many have been held, and return the last of these. Raises `NotInTime`."""
        self.waiting(count).wait(timeout_s)
        return self.nth(count)

    @property
    def aio(self) -> AsyncHold:
        """The waits, for `await`."""
        return AsyncHold(self)

    def nth(self, number: int) -> HeldRequest:
        """The n-th that was held."""
        return HeldRequest(self._inside, self._hold.all[number - 1])

    @property
    def all(self) -> list[HeldRequest]:
        """All that is held now, in the order of arrival."""
        return [HeldRequest(self._inside, held) for held in self._inside.look(lambda _: self._hold.waiting)]

    @property
    def first(self) -> HeldRequest:
        """The first that is held. Raises `NothingHeld` if there is none."""
        return self.of(client_id="*")

    def of(self, *, client_id: str) -> HeldRequest:
        """The first held request of this client; a `*` matches any text. Raises `NothingHeld`."""
        held = [request for request in self.all if fnmatchcase(request.client_id or "", client_id)]
        if not held:
            whose = "" if client_id == "*" else f" of {client_id}"
            instead = self._inside.look(lambda _: self._fault.seen_instead())
            raise NothingHeld(f"nothing{whose} is held by {self._fault}; {instead}")
        return held[0]

    @property
    def request(self) -> Any:
        """Of the first that is held."""
        return self.first.request

    @property
    def answer(self) -> Any:
        """Of the first that is held."""
        return self.first.answer

    def change(self, **fields: Any) -> None:
        """Change the first that is held."""
        self.first.change(**fields)

    def let_go(self) -> None:
        """Let go the first that is held."""
        self.first.let_go()

    def refuse(self, error: str) -> None:
        """Refuse the first that is held."""
        self.first.refuse(error)

    def lose(self) -> None:
        """Lose the first that is held."""
        self.first.lose()

    def end(self) -> None:
        """Let everything go, and end the hold."""
        self._inside.look(lambda broker: broker.faults.remove(self._fault.number))

    def waiting(self, count: int) -> Waiting:
        """The wait until this many have been held."""
        return Waiting(self._inside, self._registering(count), lambda: self._seen_instead(count))

    def _registering(self, count: int) -> Callable[[Callable[[], object]], object]:
        return lambda call: self._hold.milestones.call_at(count, call)

    def _seen_instead(self, count: int) -> str:
        return f"{self._fault} has held {len(self._hold.all)}, not {count}; {self._fault.seen_instead()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(RuntimeError):  # the broker has been stopped in the block
            self.end()
        if kind is None and not self._fault.hit_count and not self._fault.may_not_fire:
            raise FaultNeverFired(f"{self._fault} at {self._place} has held nothing; {self._fault.seen_instead()}")


class AsyncHold:
    """The waits of a hold, for a test with an event loop of its own."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold

    async def wait(self, count: int = 1, *, timeout_s: float = TIMEOUT_S) -> HeldRequest:
        """As `Hold.wait`."""
        await self._hold.waiting(count).wait_async(timeout_s)
        return self._hold.nth(count)
