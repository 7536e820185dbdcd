"""The part of `Broker` that sets faults and holds.

kafka.fault("Produce", topic="orders").answer("NOT_ENOUGH_REPLICAS").once()
with kafka.hold("SyncGroup", group="kitchen", role="leader") as held: ...
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.testing.barriers import Hold
    from ottla.testing.faults import Fault, Faults


T = TypeVar("T")


class Faulting:
    """Base of the classes that have a broker with faults: `look` gets into the broker."""

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this function in the broker's event loop and return its result."""
        raise NotImplementedError

    def fault(self, *apis: str, **aim: Any) -> Fault:
        """Describe a fault, beginning with its aim: some of Kafka's APIs by name, and further conditions, such as
        topic="orders"; see docs/faults.md. Then say what happens, and how often.
        """
        return self.faults.plan(_specification(apis, aim), _place())

    def hold(self, *apis: str, **aim: Any) -> Hold:
        """Hold each request of this aim, or with at="answer" its answer, until it is let go.

        Without an API: timer="session" ("join", "sync", "transaction-timeout") holds expired timers of groups and
        transactions, failover=2 the failover from node 2 after its death, append="orders" appends to a topic.
        """
        from ottla.testing.barriers import Hold

        hold = Hold(self, _specification(apis, aim), place := _place())
        self.faults.place(hold.number, place)
        return hold

    @cached_property
    def faults(self) -> Faults:
        """Those that are set: to list, to clear, to check that they fired."""
        from ottla.testing.faults import Faults

        return Faults(self)

    def check_faults(self) -> None:
        """Check at the end of a test: raises `FaultNeverFired` if a fault has never happened."""
        if "faults" in self.__dict__:
            self.faults.check()


def _specification(apis: tuple[str, ...], aim: dict[str, Any]) -> dict[str, Any]:
    return {"api": list(apis), **aim} if apis else aim


def _place() -> str:
    """The line of the test that called, such as test_orders.py:12."""
    frame = sys._getframe(2)
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
