"""Somebody who looks at a broker with several nodes, from whichever of them is up.

with Broker(nodes=3) as kafka:
    onlooker = Onlooker(kafka)
    onlooker.create_topic("orders", replicas=3)
    kafka.node(onlooker.leader("orders")).stop(hard=True)
    onlooker.until(lambda: onlooker.leader("orders") != 1, "another node leads")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import Message
from ottla.testing import Broker
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS


class Onlooker:
    """Asks a connection of its own for each question, so that no broken one is in its way."""

    def __init__(self, broker: Broker, node_ids: Sequence[int] = (1, 2, 3)) -> None:
        self._broker = broker
        self._node_ids = node_ids

    def ask(self, request: Message, version: int, node_id: int | None = None) -> Any:
        """The answer of this node; None: of the first that is up."""
        if node_id is None:
            node_id = next(one for one in self._node_ids if self._broker.node(one).state == "up")
        with Client(self._broker.node(node_id).bootstrap_server, client_id="onlooker") as client:
            return client.ask(request, version)

    def create_topic(self, topic: str, partitions: int = 1, replicas: int = 3, **configs: str) -> None:
        listed = [
            CreateTopicsRequest.CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()
        ]
        new = CreateTopicsRequest.CreatableTopic(topic, partitions, replicas, configs=listed)
        created = self.ask(CreateTopicsRequest([new], 10_000), 7).topics[0]
        assert created.error_code == 0, created

    def partition(self, topic: str, index: int = 0) -> Any:
        """What metadata say of a partition."""
        request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        partitions = self.ask(request, 12).topics[0].partitions
        return next(partition for partition in partitions if partition.partition_index == index)

    def leader(self, topic: str, index: int = 0) -> int:
        return int(self.partition(topic, index).leader_id)

    def coordinator(self, group: str) -> int:
        """The node that coordinates a group, -1 if there is none at the moment."""
        found = self.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4).coordinators[0]
        return -1 if found.error_code else int(found.node_id)

    def group(self, group: str) -> Any:
        """What its coordinator says of a group; None while there is nobody to ask."""
        node_id = self.coordinator(group)
        if node_id == -1 or self._broker.node(node_id).state != "up":
            return None
        described = self.ask(DescribeGroupsRequest([group]), 5, node_id).groups[0]
        return None if described.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else described

    def stable(self, group: str, members: int) -> Any:
        """Wait until a group is Stable with so many members; returns its description."""

        def is_stable() -> bool:
            described = self.group(group)
            return described is not None and described.group_state == "Stable" and len(described.members) == members

        self.until(is_stable, f"{group} is Stable with {members} members")
        return self.group(group)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Look again and again until `holds`, which is `what` in words."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS} s in vain until {what}"
            time.sleep(0.005)
