"""Faults in a test's hands: what goes wrong, for whom, how often, and whether it did.

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
from typing import TYPE_CHECKING, Any, Literal, Self

from ottla.testing.inside import TIMEOUT_S
from ottla.testing.waiting import Waiting

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.faults.fault import Fault as BrokerFault
    from ottla.control.faults.fault import Hit
    from ottla.testing.inside import Looks


class FaultNeverFired(AssertionError):
    """The test has set faults that never happened, so it proves nothing about them."""


class Fault:
    """A fault: described step by step, then set."""

    def __init__(self, inside: Looks, wish: dict[str, Any], place: str, is_set: Callable[[Fault, int], object]) -> None:
        """`wish`: its aim. `place`: where in the test it was written. `is_set`: called when it is, with its number."""
        self._inside = inside
        self._wish = wish
        self._place = place
        self._tell_set = is_set
        self._has_verb = False
        self._has_times = False
        self._set: BrokerFault | None = None

    def __repr__(self) -> str:
        return f"a fault at {self._place} that is not set" if self._set is None else str(self._set)

    # --- what happens ---

    def answer(self, error: str, *, whole: bool = False) -> Self:
        """Answer with this error of Kafka's, such as "NOT_LEADER_OR_FOLLOWER". The request has no effect.

        Only the topics and partitions of the aim get the error; whole: the whole request gets it.
        """
        return self._do("answer", error=error, whole=whole)

    def drop_request(self) -> Self:
        """Lose the request: it has no effect, and the client waits."""
        return self._do("drop_request")

    def drop_answer(self) -> Self:
        """Serve the request, and lose the answer."""
        return self._do("drop_answer")

    def delay(self, ms: int) -> Self:
        """Delay the request, by the broker's clock."""
        return self._do("delay", ms=ms)

    def delay_answer(self, ms: int) -> Self:
        """Serve the request at once, and delay the answer."""
        return self._do("delay_answer", ms=ms)

    def cut(
        self,
        after_bytes: int | None = None,
        *,
        at: Literal["request", "answer", "end"] | None = None,
        reset: bool = False,
    ) -> Self:
        """Close the connection at the request, which then has no effect, at the answer, at its end, or after some bytes
        of it. reset: reset the connection, as a crash does.
        """
        return self._do("cut", after_bytes=after_bytes, at=at, reset=reset)

    def trickle(self, bytes_count: int = 1, *, every_ms: int = 10) -> Self:
        """Send the answer a few bytes at a time."""
        return self._do("trickle", bytes_count=bytes_count, every_ms=every_ms)

    def black_hole(self) -> Self:
        """Ignore everything that the client sends."""
        return self._do("black_hole")

    def turn_away(self, *, reset: bool = False) -> Self:
        """Close, or reset, each new connection at once. It can be aimed at a node, a listener or a connection."""
        return self._do("turn_away", reset=reset)

    def duplicate(self) -> Self:
        """Serve the request twice, as after a retry; answer once."""
        return self._do("duplicate")

    def throttle(self, ms: int) -> Self:
        """Tell the client that it is throttled for this time."""
        return self._do("throttle", ms=ms)

    def stale_leader(self, node_id: int | None = None) -> Self:
        """Name this node, by default any other one, as leader in metadata."""
        return self._do("stale_leader", node_id=node_id)

    def stale_coordinator(self, node_id: int | None = None) -> Self:
        """Name this node, by default any other one, as coordinator."""
        return self._do("stale_coordinator", node_id=node_id)

    def pose_as(self, release: str) -> Self:
        """Offer only the APIs and versions of this release of Kafka, such as "3.9"."""
        return self._do("pose_as", release=release)

    def change(self, function: Callable[[Any], Any]) -> Self:
        """Change the answer: the function gets a decoded copy, and changes it or returns another one."""
        return self._do("change", function=function)

    def fail_append(self, reason: str = "No space left on device") -> Self:
        """Let the disk refuse appends to a topic or, aimed at a group, the writes of that group."""
        return self._do("fail_append", reason=reason)

    def lose_record(self) -> Self:
        """Lose a write of a group, such as a commit. The loss shows only when the group is read again."""
        return self._do("lose_record")

    def slow_disk(self, ms: int) -> Self:
        """Let each produce request wait this long for the disk."""
        return self._do("slow_disk", ms=ms)

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
        self._wish[verb] = arguments
        self._has_verb = True
        return self._maybe_set()

    def _happen(self, **times: Any) -> Self:
        self._check_open()
        self._wish.update(times)
        self._has_times = True
        return self._maybe_set()

    def _check_open(self) -> None:
        if self._set is not None:
            from ottla.control.faults.misuse import BadFault

            raise BadFault(f"{self._set} is set already; say all that happens first, and then how often, once")

    def _maybe_set(self) -> Self:
        if self._has_verb and self._has_times:
            self._set = self._inside.look(lambda broker: broker.faults.set(self._wish))
            self._tell_set(self, self._set.number)
        return self

    def _is_set(self) -> BrokerFault:
        if self._set is None:
            from ottla.control.faults.misuse import BadFault

            raise BadFault(self.unset())
        return self._set

    def unset(self) -> str:
        """Why the fault is not set."""
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

    def plan(self, wish: dict[str, Any], place: str) -> Fault:
        """Begin to describe a fault."""

        def is_set(fault: Fault, number: int) -> None:
            self._planned.remove(fault)
            self._set[number] = fault
            self.place(number, place)

        fault = Fault(self._inside, wish, place, is_set)
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
