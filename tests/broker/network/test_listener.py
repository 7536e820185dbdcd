"""A node's server socket."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import cast

from ottla.broker.log import make_log
from ottla.broker.network.call import Call
from ottla.broker.network.listener import Listener, Shared
from ottla.broker.network.logged_call import LoggedCall
from tests.broker.scene import Scene
from tests.support.running_broker import Loop, RunningBroker, every_loop


async def test_addresses_of_one_name_get_the_same_free_port() -> None:
    """Where localhost is two addresses, clients of either find the broker at the port they are told."""
    scene = Scene()
    listener = Listener(scene.nodes[1], Shared(), scene.log)
    two_addresses = cast("str", ["127.0.0.1", "127.0.0.2"])
    port = await listener.open(two_addresses, 0)
    await listener.accept()
    for host in ("127.0.0.1", "127.0.0.2"):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        await writer.wait_closed()
    listener.close()
    await listener.closed()


async def test_requests_are_told_to_the_log_at_the_level_debug_only() -> None:
    """At any other level a request is a plain call, which knows nothing of the log."""
    scene = Scene()
    for level, call_class in (("debug", LoggedCall), ("info", Call), ("error", Call)):
        assert Listener(scene.nodes[1], Shared(), make_log(level)).new_call is call_class


@every_loop
def test_client_that_connects_in_the_last_moment_is_not_left_hanging(loop: Loop) -> None:
    """Whether the loop has accepted it, and the broker heard of it, or not."""
    for _ in range(20):
        with RunningBroker(loop) as broker:
            address = ("127.0.0.1", int(broker.bootstrap.rpartition(":")[2]))
            client = socket.create_connection(address, timeout=20)
            broker.stop()
        with client, suppress(ConnectionResetError):
            assert client.recv(1) == b""
