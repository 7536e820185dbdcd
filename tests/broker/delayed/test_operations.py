"""When those who wait for a partition are looked at: at the end of the turn, and earlier where they are few."""

from __future__ import annotations

import asyncio

from ottla.broker.network.connection import Connection
from ottla.broker.network.listener import Listener, Shared
from ottla.protocol.headers import encode_request_header
from ottla.protocol.primitives import Message
from tests.broker.log_scene import LogScene, SentCall, fetch_request, produce_request
from tests.broker.network.stage import Transport
from tests.support.batches import batch
from tests.support.client import api_of


def waiting_fetches(scene: LogScene, count: int, *, partitions: int = 1) -> list[SentCall]:
    """So many that wait for the first partition of `orders`, or for the first few."""
    topic = scene.cluster.topics.get("orders") or scene.cluster.create_topic("orders", [[1]] * partitions, {})
    return [scene.send(fetch_request(topic, *[0] * partitions, max_wait_ms=500), 12) for _ in range(count)]


def are_answered_early(scene: LogScene, fetches: list[SentCall]) -> bool:
    """Whether they are without the end of the turn; in any case they are at its end."""
    scene.waiting.look_at_few()
    early = [fetch.is_answered for fetch in fetches]
    scene.turn()
    assert all(fetch.is_answered for fetch in fetches)
    assert scene.waiting.is_settled
    return all(early)


def test_few_who_wait_for_one_partition_need_not_wait_for_the_end_of_the_turn() -> None:
    scene = LogScene()
    fetches = waiting_fetches(scene, 4)
    scene.append(scene.cluster.topics["orders"], batch())
    assert not fetches[0].is_answered, "an append answers nobody by itself"
    assert are_answered_early(scene, fetches)


def test_many_do() -> None:
    """Their answers are work that nobody should wait for who has only produced something."""
    scene = LogScene()
    fetches = waiting_fetches(scene, 5)
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
        scene.waiting.look_at_few()
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
    _receive(consumer, fetch_request(topic, 0, max_wait_ms=500), 12)
    _receive(producer, produce_request(topic, batch()), 9)
    listener.stop_accepting()
    assert told == ["consumer", "producer"]


def _connect(listener: Listener, name: str, told: list[str]) -> Connection:
    class Told(Transport):
        def write(self, data: bytes) -> None:
            told.append(name)

    connection = Connection(listener)
    transport = Told()
    connection.connection_made(transport)  # type: ignore[arg-type]  # all that is called is there
    return connection


def _receive(connection: Connection, request: Message, version: int) -> None:
    body = encode_request_header(api_of(request).key, version, 7, "ana", True) + request.encode(version)
    frame = len(body).to_bytes(4, "big") + body
    connection.get_buffer(-1)[: len(frame)] = frame  # type: ignore[index]  # it is a memoryview
    connection.buffer_updated(len(frame))
