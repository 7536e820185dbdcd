"""Faults as a test sets them: at what they are aimed, what goes wrong, how often, and whether it did.

    kafka.fault("Produce", topic="orders").answer("NOT_ENOUGH_REPLICAS").once()
    kafka.fault("JoinGroup", group="kitchen", client_id="ana").drop_answer().times(2)

    with kafka.fault("Heartbeat", group="kitchen").delay(ms=3_000):     # as long as the block
        ...

A fault is set as soon as it says what happens and how often, or by the `with`. One that never fired fails the test at
its end, by name; `may_not_fire=True` opts out. docs/faults.md has a program for each task.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ottla.control.faults.misuse import BadFault
from ottla.control.faults.verbs import Verbs
from ottla.testing.inside import TIMEOUT_S
from ottla.testing.waiting import Waiting

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.faults.fault import Fault as BrokerFault
    from ottla.control.faults.occurrence import Hit
    from ottla.testing.inside import Looks


class FaultNeverFired(AssertionError):
    """The test has set faults that never happened, so it proves nothing about them."""


class Fault(Verbs):
    """A fault: described step by step, then set."""

    def __init__(
        self, inside: Looks, specification: dict[str, Any], place: str, is_set: Callable[[Fault, int | None], object]
    ) -> None:
        """`specification`: its aim. `place`: where in the test it was written. `is_set`: called with its number when it
        is set, with None when it is refused.
        """
        self._inside = inside
        self._specification = specification
        self._place = place
        self._tell_set = is_set
        self._has_verb = False
        self._has_times = False
        self._set: BrokerFault | None = None
        self._refusal: BadFault | None = None

    def __repr__(self) -> str:
        return f"a fault at {self._place} that is not set" if self._set is None else str(self._set)

    # --- how often ---

    def once(self) -> Self:
        """Apply only the first time."""
        return self._happen(once=True)

    def times(self, count: int) -> Self:
        """Apply the first n times."""
        return self._happen(times=count)

    first = times

    def nth(self, number: int) -> Self:
        """Apply only the n-th time."""
        return self._happen(nth=number)

    def every(self, number: int) -> Self:
        """Apply every n-th time."""
        return self._happen(every=number)

    def until_removed(self) -> Self:
        """Apply every time, until `remove`, `kafka.faults.clear()` or the end of the test."""
        return self._happen(until_removed=True)

    def with_probability(self, probability: float, *, seed: int | None = None) -> Self:
        """Apply each time with this probability. Without a seed a random one is used, and printed."""
        self._happen(probability=probability, seed=seed)
        if seed is None and self._set is not None:
            print(f"ottla: {self._set}", file=sys.stderr)
        return self

    # --- what came of it ---

    @property
    def hits(self) -> list[Hit]:
        """The last thousand times that the fault happened."""
        fault = self._is_set()
        return self._inside.look(lambda _: list(fault.hits))

    @property
    def hit_count(self) -> int:
        """How often the fault has happened so far."""
        return self._is_set().hit_count

    @property
    def is_spent(self) -> bool:
        """Whether the fault can't happen any more."""
        return self._is_set().is_spent

    def wait(self, count: int = 1, *, timeout_s: float = TIMEOUT_S) -> Hit:
        """Wait until the fault has happened `count` times, and return the last hit. Raises `NotInTime`."""
        self.waiting(count).wait(timeout_s)
        return self.hits[-1]

    @property
    def aio(self) -> AsyncFault:
        """The waits, for `await`."""
        return AsyncFault(self)

    def remove(self) -> None:
        """Remove the fault. A second call has no effect."""
        fault = self._is_set()
        self._inside.look(lambda broker: broker.faults.remove(fault.number))

    def __enter__(self) -> Self:
        if self._set is None:
            self._has_times = True
            self._maybe_set()
            self._is_set()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fault = self._is_set()
        with suppress(RuntimeError):  # the broker has been stopped in the block
            self.remove()
        if kind is None and not fault.hit_count and not fault.may_not_fire:
            raise FaultNeverFired(_told([_never_fired(fault, self._place)]))

    # --- within ---

    def _do(self, verb: str, **arguments: Any) -> Self:
        self._check_open()
        self._specification[verb] = arguments
        self._has_verb = True
        return self._maybe_set()

    def _happen(self, **times: Any) -> Self:
        self._check_open()
        self._specification.update(times)
        self._has_times = True
        return self._maybe_set()

    def _check_open(self) -> None:
        if self._set is not None:
            raise BadFault(f"{self._set} is set already; say all that happens first, and then how often, once")

    def _maybe_set(self) -> Self:
        if self._has_verb and self._has_times:
            try:
                self._set = self._inside.look(lambda broker: broker.faults.set(self._specification))
            except BadFault as refusal:
                self._refusal = refusal
                self._tell_set(self, None)
                raise
            self._tell_set(self, self._set.number)
        return self

    def _is_set(self) -> BrokerFault:
        if self._set is None:
            raise BadFault(self.unset())
        return self._set

    def unset(self) -> str:
        """Why the fault is not set."""
        if self._refusal is not None:
            return f"the fault at {self._place} was refused: {self._refusal}"
        if not self._has_verb:
            return f"the fault at {self._place} does not say what happens, such as .answer(…) or .drop_request()"
        return f"the fault at {self._place} does not say how often: end it with .once(), .until_removed() or the like"

    def waiting(self, count: int) -> Waiting:
        """The wait until the fault has happened this often."""
        fault = self._is_set()
        return Waiting(
            self._inside,
            lambda call: fault.waiting.call_at(count, call),
            lambda: f"{fault} has happened {fault.hit_count} times, not {count}; {fault.seen_instead()}",
        )


class AsyncFault:
    """The waits of a fault, for a test with an event loop of its own."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    async def wait(self, count: int = 1, *, timeout_s: float = TIMEOUT_S) -> Hit:
        """As `Fault.wait`."""
        await self._fault.waiting(count).wait_async(timeout_s)
        return self._fault.hits[-1]


class Faults:
    """The faults of a broker: `kafka.faults`."""

    def __init__(self, inside: Looks) -> None:
        self._inside = inside
        #: Those that are not set yet, and then those that are, by number.
        self._planned: list[Fault] = []
        self._set: dict[int, Fault] = {}
        #: Where in the test each was written, holds among them.
        self._places: dict[int, str] = {}

    def __iter__(self) -> Iterator[Fault]:
        """Those that are set and not removed, in the order in which they were set."""
        numbers = self._inside.look(lambda broker: list(broker.faults.all))
        return iter([self._set[number] for number in numbers if number in self._set])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        """Remove all faults and holds, and let go what is held."""
        self._planned.clear()
        self._inside.look(lambda broker: broker.faults.clear())

    def check(self) -> None:
        """Remove all faults. Raises `FaultNeverFired` if one has never happened, or was never set.

        A test that has the `kafka` fixture does so at its end, and so does the end of `with Broker()`.
        """
        if not self._planned and not self._places:
            return
        unset = [fault.unset() for fault in self._planned]
        never = self._inside.look(self._never_fired)
        self.clear()
        self._set.clear()
        self._places.clear()
        if unset or never:
            raise FaultNeverFired(_told([*unset, *never]))

    def plan(self, specification: dict[str, Any], place: str) -> Fault:
        """Begin to describe a fault."""

        def is_set(fault: Fault, number: int | None) -> None:
            if fault in self._planned:
                self._planned.remove(fault)
            if number is not None:
                self._set[number] = fault
                self.place(number, place)

        fault = Fault(self._inside, specification, place, is_set)
        self._planned.append(fault)
        return fault

    def place(self, number: int, place: str) -> None:
        """The fault, or hold, with this number was written there."""
        self._places[number] = place

    def _never_fired(self, broker: ControlledBroker) -> list[str]:
        return [
            _never_fired(fault, self._places.get(number, ""))
            for number, fault in broker.faults.all.items()
            if fault.aim.raised is not None or (not fault.hit_count and not fault.may_not_fire)
        ]


def _never_fired(fault: BrokerFault, place: str) -> str:
    at = f", set at {place}," if place else ""
    return f"{fault}{at} never fired; {fault.seen_instead()}"


def _told(reasons: list[str]) -> str:
    return "\n".join([*reasons, "What may well not happen says may_not_fire=True."])
