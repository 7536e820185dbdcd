"""Topics, configs and the cluster as a client meets them: a whole server, a socket, one request after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ottla.broker.lifecycle.server import Server
from ottla.broker.network.endpoints import read_endpoints
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import Message
from ottla.settings.settings import Settings
from tests.broker.scene import Log
from tests.support.client import Client


class Ana:
    """A client in a thread of its own, so that the server's loop stays free."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(self, request: Message, version: int) -> Any:
        return await asyncio.to_thread(self._client.ask, request, version)


@asynccontextmanager
async def serving(nodes: int = 1, **settings: str) -> AsyncIterator[list[Ana]]:
    """A server on free ports; yields a client of each node. Settings as keywords, underscores for dots."""
    given = Settings({name.replace("_", "."): value for name, value in settings.items()})
    server = Server(given, endpoints=read_endpoints(given, ["127.0.0.1:0"]), log=Log(), node_count=nodes)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run(on_ready=ready.set))
        await ready.wait()
        clients = [Client(address) for address in server.bootstrap.split(",")]
        try:
            yield [Ana(client) for client in clients]
        finally:
            for client in clients:
                client.close()
            server.stop()


def topics(*names: str) -> MetadataRequest:
    return MetadataRequest([MetadataRequest.MetadataRequestTopic(name=name) for name in names])


async def test_nodes_have_ids_and_addresses_of_their_own_and_share_the_topics() -> None:
    """Whoever is asked, the answer is the same; each answers for its own settings."""
    async with serving(nodes=3, node_id="5") as clients:
        created = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("a", 6, 3)], 1000)
        assert (await clients[2].ask(created, 7)).topics[0].error_code == 0
        answers = [await ana.ask(topics("a"), 12) for ana in clients]
        assert answers[0] == answers[1] == answers[2]
        assert [broker.node_id for broker in answers[0].brokers] == [5, 6, 7]
        assert len({broker.port for broker in answers[0].brokers}) == 3
        assert sorted(partition.leader_id for partition in answers[0].topics[0].partitions) == [5, 5, 6, 6, 7, 7]
        for node_id, ana in enumerate(clients, start=5):
            own = DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(4, str(node_id), ["node.id"])])
            assert (await ana.ask(own, 4)).results[0].configs[0].value == str(node_id)


async def test_coordinator_is_one_of_the_nodes_and_the_same_from_everywhere() -> None:
    async with serving(nodes=2, offsets_topic_num_partitions="4") as clients:
        request = FindCoordinatorRequest(coordinator_keys=["a", "b", "c", "d"])
        first, second = [await ana.ask(request, 4) for ana in clients]
        assert first == second
        brokers = {broker.node_id: broker.port for broker in (await clients[0].ask(topics(), 12)).brokers}
        assert {coordinator.node_id for coordinator in first.coordinators} == set(brokers)
        assert all(brokers[coordinator.node_id] == coordinator.port for coordinator in first.coordinators)
