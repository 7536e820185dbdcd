"""A cluster without sockets, for requests about logs: some of them are parked, and then something happens.

    scene = LogScene()
    orders = scene.create("orders")
    fetch = scene.send(fetch_request(orders, 0, max_wait_ms=500), 11)    # parked: fetch.answer is None
    scene.append(orders, batch())
    scene.turn()                                                         # the loop's turn ends
    fetch.answer                                                         # decoded as the client sees it

Requests carry a topic's name and its id, and each version takes what it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

from ottla.broker.delayed.operations import DelayedOperations
from ottla.broker.network.call import Call
from ottla.broker.node.broker_node import BrokerNode
from ottla.broker.upkeep.background import Ended
from ottla.cluster.topic import Topic
from ottla.log.job import Job
from ottla.pacing import Pace
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import Message
from ottla.security.authorizer import ANONYMOUS, AllowAll
from tests.broker.scene import Scene
from tests.log.partitions import fill
from tests.support.client import api_of


class SentCall:
    """A request on its way, as handlers see it; and its answer once there is one."""

    def __init__(
        self, node: BrokerNode, request: Message, api_version: int, client_id: str, listener_name: str = "PLAINTEXT"
    ) -> None:
        self.node = node
        self.api_version = api_version
        self.client_id = client_id
        self.listener_name = listener_name
        self.client_host = "/127.0.0.1"
        self.principal = ANONYMOUS
        self.authorizer = AllowAll()
        self.is_brief = False
        self.on_abandoned: Callable[[], object] | None = None
        self.on_ended: Callable[[], object] | None = None
        #: The answer, encoded and decoded; None: there is none yet, or there will never be one.
        self.answer_given: Any = None
        self.is_answered = False
        self._api = api_of(request)

    def answer(self, response: Message) -> None:
        assert not self.is_answered, "answered twice"
        self.is_answered = True
        self.answer_given = self._api.response.decode(response.encode(self.api_version), self.api_version)

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        response = handle()
        if response is not None:
            self.answer(response)

    def answer_nothing(self) -> None:
        assert not self.is_answered, "answered twice"
        self.is_answered = True


class AtOnce:
    """The background of a scene without a loop."""

    is_settled = True

    def start(self, job: Job, name: str, ended: Ended | None = None) -> None:
        for _ in job:
            pass
        if ended is not None:
            ended(None)

    def close(self) -> None:
        """There is nothing left to do, ever."""


class LogScene(Scene):
    """A cluster of nodes 1 to n that knows waiting. Time stands still but for `advance`."""

    def __init__(self, nodes: int = 1, settings: dict[str, str] | None = None) -> None:
        super().__init__(nodes, settings)
        self._soon: list[Callable[[], None]] = []
        pace = Pace(lambda _task: None, now=lambda: 0.0)
        self.waiting = self.services.enter(
            DelayedOperations(
                self.cluster, self.timer, pace, self._soon.append, self.services.moved, self.services.purgatories
            )
        )
        self.services.__dict__ |= {"background": AtOnce(), "pace": pace, "delayed_operations": self.waiting}

    def send(
        self,
        request: Message,
        version: int,
        *,
        node_id: int = 1,
        listener_name: str = "PLAINTEXT",
        client_id: str = "ana",
    ) -> SentCall:
        """Hand a request of this version to this node, answered or not."""
        call = SentCall(self.nodes[node_id], request, version, client_id, listener_name)
        handler = import_module(f"ottla.broker.handlers.{api_of(request).module}")
        arrived = type(request).decode(request.encode(version), version)
        response = handler.handle(arrived, cast(Call, call))
        if response is not None:
            call.answer(response)
        return call

    def ask(
        self,
        request: Message,
        version: int,
        *,
        node_id: int = 1,
        listener_name: str = "PLAINTEXT",
        client_id: str = "ana",
    ) -> Any:
        """The answer of a request that is not parked."""
        call = self.send(request, version, node_id=node_id, listener_name=listener_name, client_id=client_id)
        assert call.answer_given is not None, f"{api_of(request).name} was parked"
        return call.answer_given

    def turn(self) -> int:
        """End the loop's turn: run what was put off, and return how much that was."""
        due = self._soon[:]
        self._soon.clear()
        for run in due:
            run()
        return len(due)

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.timer.advance_sync(ms)

    def append(self, topic: Topic, *batches: bytes, index: int = 0) -> None:
        """Append batches that must be taken."""
        fill(topic.partitions[index], *batches)

    def node_dies(self, node_id: int) -> None:
        """Without a word: until it is missed, or back, all that it was in sync with waits for it."""
        self.services.failover.node_died(self.cluster.all_nodes[node_id])

    def node_returns(self, node_id: int) -> None:
        """It has all that was written meanwhile."""
        self.services.failover.node_returns(self.cluster.all_nodes[node_id])

    def node_leaves(self, node_id: int) -> None:
        """It says so, and others lead."""
        self.services.failover.node_leaves(self.cluster.all_nodes[node_id])

    def lead(self, topic: Topic, index: int, node_id: int, leader_epoch: int) -> None:
        """Let another node lead a partition."""
        topic.placements[index].leader_id = node_id
        topic.partitions[index].lead(leader_epoch)


def replicated(*replicas: list[int], **configs: str) -> tuple[LogScene, Topic]:
    """Three nodes that nobody misses for long when they die, and a topic whose partitions are on these of them."""
    scene = LogScene(nodes=3, settings={"ottla.failover.ms": "3600000", "auto.leader.rebalance.enable": "false"})
    texts = {name.replace("_", "."): value for name, value in configs.items()}
    return scene, scene.cluster.create_topic("orders", replicas, texts)


def produce_request(
    topic: Topic,
    *batches: bytes | None,
    acks: int = -1,
    timeout_ms: int = 1_000,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Each batch to the partition of its position; None stands for null records."""
    return ProduceRequest(
        transactional_id,
        acks,
        timeout_ms,
        [
            ProduceRequest.TopicProduceData(
                topic.name,
                topic.topic_id,
                [ProduceRequest.PartitionProduceData(index, data) for index, data in enumerate(batches)],
            )
        ],
    )


def fetch_request(
    topic: Topic | None,
    *offsets: int,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    current_leader_epoch: int = -1,
    last_fetched_epoch: int = -1,
    **changes: Any,
) -> FetchRequest:
    """From each offset of the partition at its position. Without a topic: of nothing that is not in the session."""
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[] if topic is None else [
            FetchRequest.FetchTopic(
                topic.name,
                topic.topic_id,
                [
                    FetchRequest.FetchPartition(
                        index, current_leader_epoch, offset, last_fetched_epoch, partition_max_bytes=partition_max_bytes
                    )
                    for index, offset in enumerate(offsets)
                ],
            )
        ],
    )  # fmt: skip
    for name, value in changes.items():
        assert name in request.__slots__
        setattr(request, name, value)
    return request


def forget(topic: Topic, *indexes: int) -> list[FetchRequest.ForgottenTopic]:
    """What a session is not to fetch any more."""
    return [FetchRequest.ForgottenTopic(topic.name, topic.topic_id, list(indexes))]


def list_request(topic: str, *timestamps: int, replica_id: int = -1, **changes: Any) -> ListOffsetsRequest:
    """Each timestamp for the partition at its position."""
    epoch = changes.pop("current_leader_epoch", -1)
    return ListOffsetsRequest(
        replica_id,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(
                topic,
                [
                    ListOffsetsRequest.ListOffsetsPartition(index, epoch, timestamp)
                    for index, timestamp in enumerate(timestamps)
                ],
            )
        ],
        **changes,
    )


def absent_topic(like: Topic) -> Topic:
    """A topic as requests name it that is not there."""
    return Topic("absent", b"\7" * 16, {}, like._cluster, is_internal=False)


def partitions_of(topics: Sequence[Any]) -> list[Any]:
    """All partitions of an answer, whatever its lists are called."""
    return [
        partition
        for topic in topics
        for partition in (topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions)
    ]


def only(topics: Sequence[Any]) -> Any:
    """The one partition of an answer."""
    (partition,) = partitions_of(topics)
    return partition


def error_codes(topics: Sequence[Any]) -> list[int]:
    """Of all partitions of an answer, in its order."""
    return [partition.error_code for partition in partitions_of(topics)]
