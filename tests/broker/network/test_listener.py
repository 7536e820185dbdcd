"""A node's server socket."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import pytest
import uvloop

from ottla.broker.lifecycle.server import Server
from ottla.broker.lifecycle.sockets import Sockets
from ottla.broker.network import listener
from ottla.broker.network.call import Call
from ottla.broker.network.connection import Connection
from ottla.broker.network.endpoints import read_endpoints
from ottla.broker.network.listener import Listener, Shared
from ottla.broker.network.timed_call import TimedCall
from ottla.broker.reporting.log_lines import LogLines
from ottla.broker.reporting.structured_log import make_log
from ottla.cluster.address import Address, MachineRefused
from ottla.cluster.failover import NodeState
from ottla.control.api.attachment import ControlApi
from ottla.control.attached.controlled_broker import ControlledBroker
from ottla.control.changes.node_switch import NodeSwitch
from ottla.events.kind import Kind
from ottla.settings.settings import Settings
from tests.broker.scene import Log, Scene
from tests.support.patience import PATIENCE_SECONDS
from tests.support.running_broker import Loop, RunningBroker, every_loop


async def test_addresses_of_one_name_get_the_same_free_port() -> None:
    """Where localhost is two addresses, clients of either find the broker at the port they are told."""
    scene = Scene()
    opened = Listener(scene.nodes[1], Shared())
    two_addresses = cast("str", ["127.0.0.1", "127.0.0.2"])
    port = await opened.open(two_addresses, 0)
    await opened.accept()
    for host in ("127.0.0.1", "127.0.0.2"):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        await writer.wait_closed()
    opened.close()
    await opened.closed()


@pytest.mark.parametrize(("level", "call_class"), [("debug", TimedCall), ("info", Call), ("error", Call)])
async def test_requests_are_told_to_the_log_at_the_level_debug_only(level: str, call_class: type[Call]) -> None:
    """At any other level a request is a plain call, which knows nothing of the log."""
    scene = Scene()
    LogLines(scene.events, make_log(level))
    assert Listener(scene.nodes[1], Shared()).new_call is call_class


async def test_requests_are_told_while_somebody_reads_of_them() -> None:
    """On connections that were there before as well; and then no longer."""
    scene = Scene()
    listener = Listener(scene.nodes[1], Shared())
    connection = Connection(listener)
    listener.connections.add(connection)
    stop = scene.events.read(print, [Kind.REQUEST_HANDLED])
    assert (connection.new_call, Connection(listener).new_call) == (TimedCall, TimedCall)
    stop()
    assert (connection.new_call, Connection(listener).new_call) == (Call, Call)


@every_loop
def test_client_that_connects_in_the_last_moment_is_not_left_hanging(loop: Loop) -> None:
    """Whether the loop has accepted it, and the broker heard of it, or not."""
    for _ in range(20):
        with RunningBroker(loop) as broker:
            address = ("127.0.0.1", int(broker.bootstrap.rpartition(":")[2]))
            client = socket.create_connection(address, timeout=PATIENCE_SECONDS)
            broker.stop()
        with client, suppress(ConnectionResetError):
            assert client.recv(1) == b""


@pytest.mark.parametrize("option", ["--listen", "--control"])
@pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def test_an_address_that_somebody_else_listens_on_meanwhile_is_refused_in_a_line(
    option: str, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """Two may bind it, and whoever listens first has it. The line is that of a busy port; nothing is served."""
    with socket.socket() as rival, asyncio.Runner(loop_factory=new_loop) as runner:
        rival.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        rival.bind(("127.0.0.1", 0))

        class Slow(Sockets):
            async def accept(self) -> None:
                rival.listen()
                await super().accept()

        busy, free = Address("127.0.0.1", rival.getsockname()[1]), Address("127.0.0.1", 0)
        listen, control = (busy, free) if option == "--listen" else (free, busy)
        settings = Settings({})
        endpoints = read_endpoints(settings, [str(listen)])
        server = Server(settings, endpoints=endpoints, log=Log())
        server.sockets = Slow(endpoints, server.shared)
        server.attach(ControlApi(ControlledBroker(server), control))
        with pytest.raises(MachineRefused, match=f"{option}: cannot listen on {busy}: Address already in use"):
            runner.run(server.run(on_ready=lambda: pytest.fail("it is not ready")))


async def test_a_node_whose_address_is_taken_when_it_comes_back_stays_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants it back is told why; it can be tried again."""
    settings = Settings({})
    server = Server(settings, endpoints=read_endpoints(settings, ["127.0.0.1:0"]), node_count=2, log=Log())
    nodes, ready = NodeSwitch(server), asyncio.Event()

    async def taken(_server: asyncio.Server) -> None:
        raise OSError(errno.EADDRINUSE, "taken")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.run(on_ready=ready.set))
        await ready.wait()
        await nodes.stop(2)
        with monkeypatch.context() as patched:
            patched.setattr(listener, "listen", taken)
            with pytest.raises(MachineRefused, match="Address already in use"):
                await nodes.start(2)
        assert nodes.state(2) is not NodeState.UP
        await nodes.start(2)
        assert nodes.state(2) is NodeState.UP
        server.stop()
