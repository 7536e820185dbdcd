"""The services of a broker: each is made when it is first asked for, and its coordinations are found in one list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ottla.broker.internal.coordination import Coordination
from tests.broker.scene import Scene


@asynccontextmanager
async def nodes_1_and_2() -> AsyncIterator[Scene]:
    async with asyncio.TaskGroup() as tasks:
        scene = Scene(2, tasks=tasks, loop=asyncio.get_running_loop())
        yield scene
        scene.services.close()


async def test_a_coordination_is_in_the_list_once_it_is_made_and_looking_makes_none() -> None:
    async with nodes_1_and_2() as scene:
        services = scene.services
        assert services.coordinations == []
        assert services.coordinations == [services.transaction_coordination]
        assert services.coordinations == [services.transaction_coordination, services.group_coordination]
        assert [coordination.name for coordination in services.coordinations] == ["transactions", "groups"]


async def test_the_machines_of_every_kind_are_reached_without_naming_one() -> None:
    """By node: what their timers wait in, and the log that they write to."""
    async with nodes_1_and_2() as scene:
        services = scene.services
        _ = services.group_coordination, services.transaction_coordination
        purgatories = {
            (node_id, name)
            for coordination in services.coordinations
            for node_id, coordinator in coordination.of_node.items()
            for name in coordinator.runtime.purgatories
        }
        assert purgatories == {
            (node_id, name) for node_id in (1, 2) for name in ("Heartbeat", "Rebalance", "Transactions")
        }
        logs: list[object] = []
        for coordination in services.coordinations:
            coordination.put_around_log(lambda log: logs.append(log) or log)  # type: ignore[func-returns-value]
        assert [type(log).__name__ for log in logs] == ["InternalLog"] * 4


async def test_a_coordination_that_is_made_later_is_told_of() -> None:
    async with nodes_1_and_2() as scene:
        made: list[Coordination[Any]] = []
        scene.services.on_coordination.append(made.append)
        groups = scene.services.group_coordination
        assert made == [groups] == [scene.services.group_coordination]
