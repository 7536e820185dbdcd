"""What a test with an event loop of its own can do with a broker: all that any test can, and its loop goes on."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from ottla.testing import Broker
from ottla.testing.async_kafka import AsyncKafka
from ottla.testing.broker import BrokerNode

#: What makes another broker or a file, or begins and ends one; and the way inside.
OF_THE_BROKER = {
    *("aio", "start", "stop", "is_running", "has_started", "on_start", "fork", "trace", "write_trace"),
    *("call", "run", "run_in_loop", "wait", "wait_in_loop"),
}
#: What returns at once, whatever the broker does.
AT_ONCE = {
    *("assert_never", "assert_received", "bootstrap_servers_on", "check_faults", "deadlines", "fault", "group", "hold"),
    *("look", "mark", "move_leader", "next_deadline", "node", "requests", "snapshot", "timeline_since", "topic"),
    *("transaction",),
}


def names(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_nothing_is_missing_and_what_takes_a_while_is_awaited() -> None:
    assert names(Broker) - OF_THE_BROKER <= names(AsyncKafka)
    verbs = {name for name in names(AsyncKafka) if inspect.isfunction(getattr(AsyncKafka, name))}
    awaited = {name for name in verbs if inspect.iscoroutinefunction(getattr(AsyncKafka, name))}
    assert verbs - awaited == AT_ONCE


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(nodes=2, clock="virtual", record_requests=True) as broker:
        yield broker


async def test_time_and_nodes_are_moved_while_the_loop_goes_on(kafka: Broker) -> None:
    """Of a broker that was made by hand."""
    node = kafka.aio.node(2)
    assert (node.node_id, node.state, node.bootstrap_server) == (2, "up", kafka.node(2).bootstrap_server)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.ensure_future(tick())
    await node.stop(hard=True)
    assert node.state == "silent"
    await kafka.aio.advance_until(lambda: kafka.node(2).state == "down", limit_ms=60_000)
    await node.start()
    await kafka.aio.advance(1)
    ticking.cancel()
    assert (node.state, kafka.node(2).state) == ("up", "up")
    assert ticks > 4


async def test_what_is_seen_at_once_is_seen(kafka: Broker) -> None:
    async_kafka = AsyncKafka(kafka)
    before = async_kafka.mark()
    async_kafka.topic("orders").create()
    assert [moment.kind for moment in async_kafka.timeline_since(before)] == ["topic.created"]
    assert async_kafka.connections == kafka.connections == []
    assert async_kafka.requests() == []
    async_kafka.assert_never("topic.deleted")
    assert BrokerNode(kafka, 1).bootstrap_server in async_kafka.bootstrap_servers_on("PLAINTEXT")
