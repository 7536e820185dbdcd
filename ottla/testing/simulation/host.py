"""Hosts: where programs of a simulation run, so that one of them can be cut off, or die, and the others go on.

A host is known by the context that its code runs in: what a task of a host starts runs on that host too. Code that was
started outside of any host can't be cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class Cables(Protocol):
    """What a host is connected by."""

    loop: asyncio.AbstractEventLoop

    def close(self, host: Host) -> None:
        """End its connections, as a system does whose programs have ended."""


class Host:
    """A machine of the simulation that clients run on."""

    def __init__(self, name: str, address: str, network: Cables) -> None:
        self.name = name
        #: As the broker sees it: `client_host` in groups.
        self.address = address
        #: Whether nothing gets from it or to it.
        self.is_cut = False
        #: Whether it has died: none of its code runs any more.
        self.is_dead = False
        #: What waits for the network to come back, in order.
        self.held: list[Callable[[], None]] = []
        #: What its programs would have done next when it died. They may when the story is over, to clean up.
        self.never_run: list[asyncio.Handle] = []
        self._network = network
        self._context: Context = copy_context()
        self._context.run(_HERE.set, self)

    def run(self, program: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a program there."""
        return self._network.loop.create_task(program, context=self._context.copy())

    def cut(self) -> None:
        """Pull its network cable: what is sent waits, and neither end is told. Its programs go on."""
        self.is_cut = True

    def heal(self) -> None:
        """Plug it in again: what was sent meanwhile arrives, as TCP has it."""
        self.is_cut = False
        held, self.held = self.held, []
        for send in held:
            send()

    def die(self) -> None:
        """Kill its programs, as `kill -9` does: none of their code runs again, and the system closes their sockets."""
        self.is_dead = True
        self._network.close(self)

    def __repr__(self) -> str:
        return f"<Host {self.name} {self.address}>"


_HERE: Final[ContextVar[Host | None]] = ContextVar("ottla.host", default=None)
#: On which host code runs; None: on none in particular.
here = _HERE.get


def host_of(context: Context) -> Host | None:
    """The host of what runs in this context."""
    return context.get(_HERE)
