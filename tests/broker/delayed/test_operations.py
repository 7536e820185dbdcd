"""When those who wait for a partition are looked at: at the end of the turn, and earlier where it is one alone."""

from __future__ import annotations

import asyncio

from ottla.broker.network.connection import Connection
from ottla.broker.network.interception import InterceptedCall
from ottla.broker.network.listener import Listener, Shared
from ottla.log.partition import Partition
from ottla.protocol.headers import encode_request_header
from ottla.protocol.primitives import Message
from ottla.purgatory import DelayedOperation
from tests.broker.log_scene import LogScene, SentCall, fetch_request, produce_request
from tests.broker.network.stage import FRAME, Transport, turn
from tests.support.batches import batch
from tests.support.client import api_of


def waiting_fetches(scene: LogScene, count: int, *, partitions: int = 1) -> list[SentCall]:
    """So many that wait for the first partition of `orders`, or for the first few."""
    topic = scene.cluster.topics.get("orders") or scene.cluster.create_topic("orders", [[1]] * partitions, {})
    return [scene.send(fetch_request(topic, *[0] * partitions, max_wait_ms=500), 12) for _ in range(count)]


def are_answered_early(scene: LogScene, fetches: list[SentCall]) -> bool:
    """Whether they are without the end of the turn; in any case they are at its end."""
    scene.waiting.look_at_one()
    early = [fetch.is_answered for fetch in fetches]
    scene.turn()
    assert all(fetch.is_answered for fetch in fetches)
    assert scene.waiting.is_settled
    return all(early)


def test_who_waits_alone_for_one_partition_need_not_wait_for_the_end_of_the_turn() -> None:
    scene = LogScene()
    fetches = waiting_fetches(scene, 1)
    scene.append(scene.cluster.topics["orders"], batch())
    assert not fetches[0].is_answered, "an append answers nobody by itself"
    assert are_answered_early(scene, fetches)


def test_several_do() -> None:
    """Their answers are work that nobody should wait for who has only produced something."""
    scene = LogScene()
    fetches = waiting_fetches(scene, 2)
    scene.append(scene.cluster.topics["orders"], batch())
    assert not are_answered_early(scene, fetches)


def test_so_does_who_waits_for_partitions_several_of_which_have_moved() -> None:
    scene = LogScene()
    fetches = waiting_fetches(scene, 1, partitions=2)
    topic = scene.cluster.topics["orders"]
    scene.append(topic, batch(), index=0)
    scene.append(topic, batch(), index=1)
    assert not are_answered_early(scene, fetches)


def test_what_moves_once_more_in_the_turn_is_looked_at_once_more() -> None:
    scene = LogScene()
    topic = scene.cluster.create_topic("orders", [[1]], {})
    for offset in range(3):
        fetch = scene.send(fetch_request(topic, offset, max_wait_ms=500), 12)
        scene.append(topic, batch())
        scene.waiting.look_at_one()
        assert fetch.is_answered
    assert scene.turn() == 1, "nor is the end of the turn asked for more than once"


def test_a_consumer_is_answered_before_the_producer_for_whom_it_waited() -> None:
    asyncio.run(_consumer_and_producer())


async def _consumer_and_producer() -> None:
    scene = LogScene()
    topic = scene.cluster.create_topic("orders", [[1]], {})
    listener = Listener(scene.nodes[1], Shared())
    await listener.open("127.0.0.1", 0)
    told: list[str] = []
    consumer, producer = (_connect(listener, name, told) for name in ("consumer", "producer"))
    _receive(consumer, _frame(fetch_request(topic, 0, max_wait_ms=500), 12))
    _receive(producer, _frame(produce_request(topic, batch()), 9))
    listener.stop_accepting()
    assert told == ["consumer", "producer"]


def test_who_is_answered_because_of_that_has_what_came_behind_taken_up() -> None:
    """Somebody holds the producer's next request until the consumer is answered."""
    asyncio.run(_answered_while_looked_at())


async def _answered_while_looked_at() -> None:
    scene = LogScene()
    topic = scene.cluster.create_topic("orders", [[1]], {})
    shared = Shared()
    listener = Listener(scene.nodes[1], shared)
    await listener.open("127.0.0.1", 0)
    shared.routes.intercept(HeldUntilFetched())
    told: list[str] = []
    consumer, producer = (_connect(listener, name, told) for name in ("consumer", "producer"))
    _receive(consumer, _frame(fetch_request(topic, 0, max_wait_ms=500), 12))
    _receive(producer, _frame(produce_request(topic, batch()), 9) + FRAME + FRAME)
    for _ in range(3):
        await turn()
    listener.stop_accepting()
    assert told == ["consumer", "producer", "producer"], "the last request has its own answer"


class HeldUntilFetched:
    """Lets the first ApiVersions wait until a fetch is answered."""

    def __init__(self) -> None:
        self._held: InterceptedCall | None = None
        self._has_held = False

    def request(self, call: InterceptedCall) -> None:
        if call.route.name == "ApiVersions" and not self._has_held:
            self._held, self._has_held = call, True
        else:
            call.proceed()

    def answer(self, call: InterceptedCall, response: Message | None) -> None:
        call.leave(response)
        if call.route.name == "Fetch" and self._held is not None:
            self._held.proceed()


def _connect(listener: Listener, name: str, told: list[str]) -> Connection:
    class Told(Transport):
        def write(self, data: bytes) -> None:
            told.append(name)

    connection = Connection(listener)
    transport = Told()
    connection.connection_made(transport)  # type: ignore[arg-type]  # all that is called is there
    return connection


def _frame(request: Message, version: int) -> bytes:
    body = encode_request_header(api_of(request).key, version, 7, "ana", True) + request.encode(version)
    return len(body).to_bytes(4, "big") + body


def _receive(connection: Connection, data: bytes) -> None:
    connection.get_buffer(-1)[: len(data)] = data  # type: ignore[index]  # it is a memoryview
    connection.buffer_updated(len(data))


def test_a_third_kind_of_operation_is_registered_woken_and_answered_at_the_end() -> None:
    """What another kind of request needs in order to wait for partitions: a purgatory of its own, by one call."""
    scene = LogScene()
    topic = scene.cluster.create_topic("orders", [[1]], {})
    purgatory = scene.waiting.add("Share")
    assert [(row.purgatory.name, row.node_id, row.holds_requests) for row in scene.services.purgatories] == [
        ("Produce", None, True),
        ("Fetch", None, True),
        ("Share", None, True),
    ]
    woken = Waits(topic.partitions[0])
    purgatory.try_complete_else_watch(woken, topic.partitions)
    scene.append(topic, batch())
    scene.turn()
    assert woken.is_completed
    left = Waits(topic.partitions[0])
    purgatory.try_complete_else_watch(left, topic.partitions)
    assert not left.is_completed
    scene.waiting.close()
    assert left.is_completed


class Waits(DelayedOperation):
    """Waits for a partition's next record."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(deadline_ms=None)
        self._partition = partition
        self._end = partition.high_watermark

    def try_complete(self) -> bool:
        return self._partition.high_watermark > self._end and self.force_complete()

    def on_complete(self) -> None:
        """There is no client to answer."""
