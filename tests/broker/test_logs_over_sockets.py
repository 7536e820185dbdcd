"""Produce and Fetch as clients meet them: whole brokers, several connections, requests that wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from ottla.broker.delayed.operations import DelayedOperations
from ottla.cluster.topic import Topic
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchResponse
from ottla.protocol.messages.produce import ProduceResponse
from ottla.testing.broker import Broker
from tests.broker.log_scene import error_codes, fetch_request, only, partitions_of, produce_request
from tests.log.partitions import numbered, sized_batch
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.inside import server_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.wire import ConnectionClosedError

ONE = batch()


@pytest.fixture
def broker() -> Iterator[Broker]:
    """With a clock that stands still."""
    with Broker(clock="virtual") as running:
        yield running


@pytest.fixture
def ana(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap_servers) as client:
        yield client


@pytest.fixture
def bo(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap_servers) as client:
        yield client


@pytest.fixture
def topic(broker: Broker, ana: Client) -> Topic:
    """`orders`, with two partitions."""
    request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 2, 1)], 1000)
    assert ana.ask(request, 7).topics[0].error_code == 0
    return server_of(broker).cluster.topics["orders"]


def waiting(broker: Broker) -> DelayedOperations:
    return server_of(broker).services.delayed_operations


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is true in the broker."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS} s until {what}"
        time.sleep(0.001)


def park(broker: Broker, client: Client, topic: Topic, *offsets: int, max_wait_ms: int = 30_000) -> None:
    """Send a fetch, and return when it waits."""
    before = waiting(broker).fetch.delayed if "delayed_operations" in server_of(broker).services.__dict__ else 0
    client.send(fetch_request(topic, *offsets, max_wait_ms=max_wait_ms), 12)
    until(
        lambda: (
            "delayed_operations" in server_of(broker).services.__dict__ and waiting(broker).fetch.delayed == before + 1
        ),
        "the fetch waits",
    )


def produced(answer: ProduceResponse) -> list[tuple[int, int]]:
    return [(partition.error_code, partition.base_offset) for partition in partitions_of(answer.responses)]


class TestWaiting:
    def test_one_produces_and_the_other_hears_of_it(
        self, broker: Broker, ana: Client, bo: Client, topic: Topic
    ) -> None:
        park(broker, ana, topic, 0)
        assert produced(bo.ask(produce_request(topic, ONE), 9)) == [(0, 0)]
        answer: FetchResponse = ana.receive().message
        assert only(answer.responses).high_watermark == 1

    def test_client_goes_away(self, broker: Broker, ana: Client, bo: Client, topic: Topic) -> None:
        """Its fetch is dropped when the connection is; others go on waiting."""
        park(broker, ana, topic, 0)
        park(broker, bo, topic, 0)
        ana.close()
        until(lambda: waiting(broker).fetch.delayed == 1, "the fetch is dropped")
        with Client(broker.bootstrap_servers) as writer:
            writer.ask(produce_request(topic, ONE), 9)
        assert len(only(bo.receive().message.responses).records) == len(ONE)
        assert waiting(broker).fetch.watched == 0

    def test_what_was_asked_behind_a_fetch_waits_with_it(
        self, broker: Broker, ana: Client, bo: Client, topic: Topic
    ) -> None:
        """Answers come in the order of the requests, and so do effects: the produce behind it has not happened yet."""
        park(broker, ana, topic, 0)
        ana.send(produce_request(topic, ONE), 9)
        ana.send(ApiVersionsRequest("a", "1"), 3)
        assert produced(bo.ask(produce_request(topic, ONE), 9)) == [(0, 0)]
        fetched, second, third = (ana.receive().message for _ in range(3))
        assert only(fetched.responses).high_watermark == 1
        assert produced(second) == [(0, 1)]
        assert isinstance(third, ApiVersionsResponse)

    def test_broker_stops(self, broker: Broker, ana: Client, topic: Topic) -> None:
        """Whoever waits is answered before the connection goes."""
        park(broker, ana, topic, 0)
        broker.stop()
        assert error_codes(ana.receive().message.responses) == [0]

    def test_many_wait_for_one(self, broker: Broker, ana: Client, topic: Topic) -> None:
        """Each is answered, whatever it waits for besides."""
        clients = [Client(broker.bootstrap_servers) for _ in range(50)]
        for number, client in enumerate(clients):
            park(broker, client, topic, *([0, 0] if number % 2 else [0]))
        ana.ask(produce_request(topic, ONE), 9)
        for client in clients:
            assert len(client.receive().message.responses[0].partitions[0].records) == len(ONE)
            client.close()
        assert waiting(broker).fetch.delayed == 0


class TestProducing:
    @pytest.mark.parametrize("version", range(3))
    def test_versions_that_are_only_advertised(self, ana: Client, version: int) -> None:
        """librdkafka wants to see them, and Kafka closes the connection of whoever uses them."""
        listed = next(api for api in ana.ask(ApiVersionsRequest("a", "1"), 3).api_keys if api.api_key == 0)
        assert (listed.min_version, listed.max_version) == (0, 13)
        ana.connection.send_request(0, version, bytes(12), flexible=False)
        with pytest.raises(ConnectionClosedError):
            ana.connection.receive_frame()

    def test_many_in_flight_keep_their_order(self, ana: Client, topic: Topic) -> None:
        """An idempotent producer counts on it."""
        for number in range(100):
            ana.send(produce_request(topic, numbered(number)), 9)
        assert [produced(ana.receive().message) for _ in range(100)] == [[(0, number)] for number in range(100)]

    def test_large_batches_come_back_whole(self, ana: Client, topic: Topic) -> None:
        """Larger than any buffer on the way, over two partitions at once, read in one answer."""
        large = [sized_batch(1_000_000, base_timestamp=1_700_000_000_000 + number) for number in range(4)]
        for number in (0, 2):
            assert produced(ana.ask(produce_request(topic, *large[number : number + 2]), 9)) == [(0, number // 2)] * 2
        answer = ana.ask(fetch_request(topic, 0, 0, max_bytes=10_000_000, partition_max_bytes=10_000_000), 12)
        for partition, sent in zip(partitions_of(answer.responses), (large[::2], large[1::2]), strict=True):
            # What a broker may change is in the first 21 bytes.
            assert [bytes(partition.records)[start + 21 : start + 1_000_000] for start in (0, 1_000_000)] == [
                data[21:] for data in sent
            ]

    def test_too_much_for_max_bytes_still_gets_on(self, ana: Client, topic: Topic) -> None:
        """A consumer with small limits reads batch by batch."""
        ana.ask(produce_request(topic, sized_batch(100_000)), 9)
        ana.ask(produce_request(topic, sized_batch(200_000)), 9)
        sizes = [
            len(only(ana.ask(fetch_request(topic, offset, max_bytes=10), 12).responses).records) for offset in (0, 1)
        ]
        assert sizes == [100_000, 200_000]


def test_store_is_full() -> None:
    """An error whose text says what to do, if retention makes no room; what is there stays readable."""
    settings = {"ottla.log.bytes.max": 1000, "log.retention.ms": -1}
    with Broker(settings=settings) as broker, Client(broker.bootstrap_servers) as ana:
        request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 1, 1)], 1000)
        ana.ask(request, 7)
        topic = server_of(broker).cluster.topics["orders"]
        assert produced(ana.ask(produce_request(topic, sized_batch(700)), 9)) == [(0, 0)]
        refused = only(ana.ask(produce_request(topic, sized_batch(700)), 9).responses)
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "ottla.log.bytes.max" in refused.error_message
        assert only(ana.ask(fetch_request(topic, 0), 12).responses).high_watermark == 1
