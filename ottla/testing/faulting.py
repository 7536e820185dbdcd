"""The part of `Broker` that makes things go wrong, and holds them.

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
    """Whatever has a broker that things may go wrong in derives from this, and says how to get inside."""

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this function in the broker's event loop and return its result."""
        raise NotImplementedError

    def fault(self, *apis: str, **aim: Any) -> Fault:
        """Describe a fault, beginning with its aim: some of Kafka's APIs by name, and further conditions, such as
        topic="orders"; see docs/faults.md. Then say what happens, and how often.
        """
        return self.faults.plan(_wish(apis, aim), _place())

    def hold(self, *apis: str, **aim: Any) -> Hold:
        """Hold each request of this aim, or with at="answer" its answer, until it is let go.

        Without an API: timer="session" ("join", "sync") holds expired timers of groups, failover=2 the failover from
        node 2 after its death, append="orders" appends to a topic.
        """
        from ottla.testing.barriers import Hold

        hold = Hold(self, _wish(apis, aim), place := _place())
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


def _wish(apis: tuple[str, ...], aim: dict[str, Any]) -> dict[str, Any]:
    return {"api": list(apis), **aim} if apis else aim


def _place() -> str:
    """Where in the test a broker was asked for something, such as test_orders.py:12."""
    frame = sys._getframe(2)
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
