"""What a connection knows of the listener that has accepted it, and which makes connections."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from typing import Protocol, TypeVar

from ottla.broker.network.call import Call, CallListener
from ottla.broker.network.holdings import Holdings
from ottla.broker.network.outbox import Outbox
from ottla.broker.network.routes import Routes
from ottla.broker.node.broker_node import BrokerNode
from ottla.pacing import Pace

C_contra = TypeVar("C_contra", contravariant=True)


class ConnectionListener(CallListener, Protocol[C_contra]):
    """A listener, as its connections know it."""

    node: BrokerNode
    routes: Routes
    #: What requests become, and long ones.
    new_call: type[Call]
    new_long_call: type[Call]
    #: What all connections receive into.
    receive_buffer: memoryview
    request_bytes_max: int
    #: Of all clients: what they have sent in part, and what they don't read.
    receiving: Holdings
    unread: Holdings
    #: Of all clients: the connections with answers that have not left.
    outbox: Outbox
    pace: Pace
    loop: AbstractEventLoop

    def remember(self, connection: C_contra, /) -> None:
        """A client has connected."""
