"""A cluster without sockets: requests go straight to their handlers, through the codec both ways.

    scene = Scene(nodes=2, settings={"num.partitions": "3"})
    scene.create("orders", partitions=4)
    answer = scene.ask(MetadataRequest(topics=None), version=12)

What goes in and what comes out are encoded and decoded in the version asked for, so a test sees what a client of that
version would, and an answer that can't be written fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

from ottla.broker.lifecycle.assembly import assemble
from ottla.broker.lifecycle.platform import Platform
from ottla.broker.network.call import Call
from ottla.broker.node.broker_node import BrokerNode
from ottla.broker.reporting.log_lines import LogLines
from ottla.broker.upkeep.housekeeping import Housekeeping
from ottla.cluster.address import Address
from ottla.cluster.topic import Topic
from ottla.events.stream import Stream
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.primitives import Message
from ottla.purgatory import VirtualClock
from ottla.security.authorizer import (
    ANONYMOUS,
    AclOperation,
    AclResourceType,
    AllowAll,
    Authorizer,
    Principal,
)
from ottla.settings.settings import Settings
from tests.support.client import api_of

#: The wall clock of every scene: a fixed day.
WALL_MS = 1_700_000_000_000
#: What was asked about some resource of a type, whichever it is.
ANY_NAME = "*"


class Log:
    """Keeps the events it is told, as (name, keys)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **keys: Any) -> None:
        self.events.append((event, keys))

    debug = warning = error = exception = info

    def is_enabled_for(self, level: int) -> bool:
        return level >= 20

    def bind(self, **keys: Any) -> Log:
        return self

    def named(self, event: str) -> list[dict[str, Any]]:
        return [keys for name, keys in self.events if name == event]


class AllowsNothing:
    """Lets nobody do anything but what is listed, and keeps what it was asked."""

    def __init__(self, *but: tuple[AclOperation, AclResourceType, str]) -> None:
        self._but = but
        self.asked: list[tuple[AclOperation, AclResourceType, str]] = []

    def allows(
        self,
        principal: Principal,
        client_host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        resource_name: str,
    ) -> bool:
        asked = operation, resource_type, resource_name
        self.asked.append(asked)
        return asked in self._but

    def allows_on_some(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        self.asked.append((operation, resource_type, ANY_NAME))
        return any((operation, resource_type) == allowed[:2] for allowed in self._but)


class FakeCall:
    """What a handler sees of a call; the answer goes to `answered`."""

    def __init__(
        self, node: BrokerNode, api_version: int, listener_name: str, client_id: str, authorizer: Authorizer
    ) -> None:
        self.node = node
        self.api_version = api_version
        self.client_id = client_id
        self.client_host = "/127.0.0.1"
        self.listener_name = listener_name
        self.principal = ANONYMOUS
        self.authorizer = authorizer
        self.is_brief = False
        #: What the client has said of itself is kept with it.
        self.connection = SimpleNamespace()
        self.answered: Message | None = None

    def go_on(self, work: Callable[[], Message | None]) -> None:
        if (response := work()) is not None:
            self.answer(response)

    def answer(self, response: Message) -> None:
        assert self.answered is None, "answered twice"
        self.answered = response


class Scene:
    """A cluster of nodes 1 to n, on ports 9092 and up."""

    def __init__(
        self,
        nodes: int = 1,
        settings: dict[str, str] | None = None,
        *,
        tasks: asyncio.TaskGroup | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """`tasks`, `loop`: for what runs in the background, if anything does."""
        self.log = Log()
        #: Who says what clients may do.
        self.authorizer: Authorizer = AllowAll()
        self.clock = VirtualClock(wall_ms=WALL_MS)
        self.events = Stream(self.clock.now_ms, self.clock.wall_ms)
        LogLines(self.events, self.log)
        self.parts = assemble(
            Settings(settings),
            Platform(clock=self.clock),
            self.events,
            loop,
            node_count=nodes,
            tasks=tasks,
        )
        self.timer, self.nodes = self.parts.timer, self.parts.nodes
        self.cluster, self.services = self.parts.cluster, self.parts.services
        for node_id, node in self.cluster.all_nodes.items():
            node.listens["PLAINTEXT"] = node.addresses["PLAINTEXT"] = Address("127.0.0.1", 9091 + node_id)

    def ask(
        self,
        request: Message,
        version: int,
        *,
        node_id: int = 1,
        listener_name: str = "PLAINTEXT",
        client_id: str = "ana",
    ) -> Any:
        """The answer to a request of this version, sent to this listener of this node."""
        api = api_of(request)
        handler = import_module(f"ottla.broker.handlers.{api.module}")
        call = FakeCall(self.nodes[node_id], version, listener_name, client_id, self.authorizer)
        arrived = type(request).decode(request.encode(version), version)
        response = handler.handle(arrived, cast(Call, call)) or call.answered
        assert response is not None, f"{api.name} was parked"
        return api.response.decode(response.encode(version), version)

    def refuse(self, request: Message, version: int, error_code: int) -> Any:
        """What the request is answered with when something unforeseen came in between."""
        api = api_of(request)
        handler = import_module(f"ottla.broker.handlers.{api.module}")
        arrived = type(request).decode(request.encode(version), version)
        return api.response.decode(handler.refuse(arrived, error_code).encode(version), version)

    def create(self, name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> Topic:
        """A new topic. Configs as keywords, underscores for dots."""
        result = self.ask(
            CreateTopicsRequest(
                topics=[
                    CreateTopicsRequest.CreatableTopic(
                        name,
                        partitions,
                        replicas,
                        configs=[
                            CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value)
                            for key, value in configs.items()
                        ],
                    )
                ],
                timeout_ms=1000,
            ),
            version=7,
            node_id=min(self.cluster.nodes),
        ).topics[0]
        assert result.error_code == 0, f"{name} was not created: {result}"
        return self.cluster.topics[name]


def keep_house(scene: Scene) -> Housekeeping:
    """Have the scene's logs looked after, as those of a broker that serves are."""
    return Housekeeping(scene.cluster, scene.timer, scene.services.background)
