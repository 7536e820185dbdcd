"""A running broker, as the control API sees it: what it can be asked, and what can be done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from ottla.broker.lifecycle.assembly import Assembly
    from ottla.broker.network.connection import Connection
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.control.changes.clock_hand import ClockHand
    from ottla.control.faults.engine import Faults
    from ottla.control.state.requests import RequestRecorder
    from ottla.control.state.waiting import Waiting
    from ottla.events.stream import Stream
    from ottla.purgatory import Clock, Timer

#: The system's, one that somebody moves, or one that jumps by itself besides.
ClockKind: TypeAlias = Literal["system", "virtual", "auto"]


class RunningBroker(Protocol):
    """What the control API needs of the server it belongs to."""

    clock: Clock
    #: What happens in it.
    events: Stream
    #: What it is made of.
    parts: Assembly
    #: What clients have asked and were answered, if it is kept.
    recorder: RequestRecorder | None

    @property
    def clock_kind(self) -> ClockKind:
        """How its time goes."""

    @property
    def cluster(self) -> Cluster:
        """Its nodes and topics."""

    @property
    def services(self) -> Services:
        """What stands behind the handlers."""

    @property
    def timer(self) -> Timer:
        """What wakes it."""

    @property
    def bootstrap(self) -> str:
        """What to give to a client as bootstrap servers."""

    @property
    def connection_counts(self) -> dict[int, int]:
        """How many clients are connected, by node id."""

    @property
    def clock_hand(self) -> ClockHand:
        """What moves the virtual clock."""

    @property
    def faults(self) -> Faults:
        """What is to go wrong, or to be held."""

    @property
    def connections(self) -> list[Connection]:
        """Those of all nodes."""

    @property
    def waiting(self) -> Waiting:
        """Who waits until something is true."""

    async def reset(self) -> None:
        """Have it as it was at its start."""

    async def advance(self, ms: int) -> None:
        """Move the virtual clock on. Raises `Stopping`."""

    async def stop_node(self, node_id: int, *, hard: bool = False) -> None:
        """Stop one node. Raises `UnknownNode`, and `Stopping`."""

    async def start_node(self, node_id: int) -> None:
        """Start a stopped node again. Raises `UnknownNode`, `MachineRefused`, and `Stopping`."""
