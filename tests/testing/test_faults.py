"""Faults in a test's hands: how they are said, what is proved of them, and what real clients make of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Message, Producer
from kafka import KafkaConsumer

from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.testing import BadFault, Broker, FaultNeverFired, NotInTime
from ottla.testing.faults import Fault
from tests.control.faults.scene import create, find, heartbeat, metadata_request
from tests.support.client import Client


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(clock="virtual") as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Iterator[Broker]:
    """Without faults, and nobody checks what has fired."""
    yield shared
    shared.faults.clear()


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap_servers, client_id="ana") as client:
        yield client


# ── How they are said ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_fault_is_set_when_it_says_what_happens_and_how_often(broker: Broker, client: Client) -> None:
    """In either order; and is told in words."""
    describing: list[Callable[[], Fault]] = [
        lambda: broker.fault("ApiVersions", client_id="an*").throttle(ms=9).times(2),
        lambda: broker.fault("ApiVersions", client_id="an*").times(2).throttle(ms=9),
    ]
    for describe in describing:
        fault = describe()
        assert re.fullmatch(r"fault \d+ \(ApiVersions client_id=an\*: throttle_time_ms 9, 2 times\)", repr(fault))
        assert [client.ask(ApiVersionsRequest(), 1).throttle_time_ms for _ in range(3)] == [9, 9, 0]
        assert (fault.hit_count, len(fault.hits), fault.is_spent) == (2, 2, True)


def test_all_verbs_can_be_said(broker: Broker) -> None:
    """Each has the words of the table behind it."""
    said = [
        broker.fault("Heartbeat").answer("UNKNOWN_MEMBER_ID", whole=True).once(),
        broker.fault("Heartbeat").drop_request().first(2),
        broker.fault("Heartbeat").drop_answer().nth(2),
        broker.fault("Heartbeat").delay(ms=5).every(3),
        broker.fault("Heartbeat").delay_answer(5).until_removed(),
        broker.fault("Heartbeat").cut(17, reset=True).once(),
        broker.fault("Heartbeat").cut(at="end").once(),
        broker.fault("Heartbeat").trickle(2, every_ms=7).once(),
        broker.fault("Heartbeat").black_hole().once(),
        broker.fault(node=1).turn_away(reset=True).once(),
        broker.fault("Heartbeat").duplicate().once(),
        broker.fault("Heartbeat").throttle(5).with_probability(0.5, seed=3),
        broker.fault().pose_as("3.9").once(),
        broker.fault("Heartbeat").change(lambda answer: None).once(),
        broker.fault(topic="orders").fail_append().once(),
        broker.fault(group="kitchen").fail_append().once(),
        broker.fault(group="kitchen").lose_record().once(),
        broker.fault(topic="orders").slow_disk(ms=50).once(),
    ]
    assert [re.sub(r"^fault \d+ \((.*)\)$", r"\1", repr(fault)) for fault in said] == [
        "Heartbeat: answer UNKNOWN_MEMBER_ID as a whole, once",
        "Heartbeat: drop the request, 2 times",
        "Heartbeat: drop the answer, the 2.",
        "Heartbeat: delay the request by 5 ms, every 3.",
        "Heartbeat: delay the answer by 5 ms, until removed",
        "Heartbeat: reset the connection after 17 bytes of the answer, once",
        "Heartbeat: close the connection after the answer, once",
        "Heartbeat: trickle 2 bytes every 7 ms, once",
        "Heartbeat: black hole, once",
        "node=1: turn away with a reset, once",
        "Heartbeat: handle twice, once",
        "Heartbeat: throttle_time_ms 5, with probability 0.5 by seed 3",
        "everything: pose as Kafka 3.9, once",
        "Heartbeat: change the answer, once",
        "topic=orders: fail the append (No space left on device), once",
        "group=kitchen: fail the append with KAFKA_STORAGE_ERROR, once",
        "group=kitchen: lose the record, once",
        "Produce topic=orders: delay the request by 50 ms, once",
    ]
    assert len(broker.faults) == len(said)
    assert list(broker.faults) == said
    broker.faults.clear()


def test_seed_that_nobody_gave_is_printed(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """For pytest to show when the test fails."""
    broker.fault("Heartbeat").throttle(ms=0).with_probability(0.5)
    assert re.search(r"ottla: fault \d+ \(Heartbeat: .* with probability 0\.5 by seed \d+\)", capsys.readouterr().err)
    broker.faults.clear()


def test_two_nodes_have_another_one_to_name() -> None:
    with Broker(nodes=2) as broker, Client(broker.bootstrap_servers.split(",")[0]) as client:
        create(client, "orders")
        leaders = broker.fault(topic="orders").stale_leader(2).until_removed()
        partitions = client.ask(metadata_request("orders"), 5).topics[0].partitions
        assert {partition.leader_id for partition in partitions} == {2}
        assert leaders.hit_count == 1


def test_block_is_as_long_as_its_fault(broker: Broker, client: Client) -> None:
    """Without times until its end, with them no longer either."""
    with broker.fault("ApiVersions").throttle(ms=9) as fault:
        assert client.ask(ApiVersionsRequest(), 1).throttle_time_ms == 9
    assert client.ask(ApiVersionsRequest(), 1).throttle_time_ms == 0
    with broker.fault("ApiVersions").throttle(ms=9).times(5):
        client.ask(ApiVersionsRequest(), 1)
    assert client.ask(ApiVersionsRequest(), 1).throttle_time_ms == 0
    assert fault.hit_count == 1


def test_fault_can_be_removed_and_waited_for(broker: Broker, client: Client) -> None:
    fault = broker.fault("ApiVersions").throttle(ms=9).until_removed()
    client.send(ApiVersionsRequest(), 1)
    client.send(ApiVersionsRequest(), 1)
    assert fault.wait(2).api == "ApiVersions"
    fault.remove()
    fault.remove()
    client.receive(), client.receive()
    assert client.ask(ApiVersionsRequest(), 1).throttle_time_ms == 0


async def test_waits_can_be_awaited(broker: Broker, client: Client) -> None:
    fault = broker.fault("ApiVersions").throttle(ms=9).until_removed()
    waiting = asyncio.ensure_future(fault.aio.wait(1))
    await asyncio.sleep(0)
    client.send(ApiVersionsRequest(), 1)
    assert (await waiting).client_id == "ana"
    with pytest.raises(NotInTime, match=r"waited 0 s in vain; fault \d+ .* has happened 1 times, not 7"):
        await fault.aio.wait(7, timeout_s=0)


# ── What makes no sense ───────────────────────────────────────────────────────────────────────────────────────────────


def test_what_makes_no_sense_is_said_where_it_is_written(broker: Broker) -> None:
    """By the line that sets the fault, or by what is asked of one that isn't."""
    with pytest.raises(BadFault, match=r"there is no API 'Prodcue'; did you mean Produce\?"):
        broker.fault("Prodcue").drop_request().once()
    with pytest.raises(BadFault, match=r"the fault at test_faults.py:\d+ does not say what happens"):
        broker.fault("Produce").once().remove()
    with pytest.raises(BadFault, match=r"does not say how often: end it with \.once\(\)"):
        _ = broker.fault("Produce").drop_request().hits
    with pytest.raises(BadFault, match="does not say what happens"), broker.fault("Produce"):
        pytest.fail("there is nothing to happen")
    fault = broker.fault("Produce").drop_request().once()
    for change in (fault.drop_answer, fault.once):
        with pytest.raises(BadFault, match="is set already; say all that happens first, and then how often, once"):
            change()
    broker.faults.clear()


# ── What is proved ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_fault_that_never_fired_is_an_error_at_the_end() -> None:
    """By name, and with what came instead; those that fired, or may well not, are none."""
    with pytest.raises(FaultNeverFired) as raised, Broker() as broker:  # noqa: PT012  # it is the block that raises
        fired = broker.fault("ApiVersions").throttle(ms=1).once()
        broker.fault("Heartbeat", group="kitchen").delay(ms=1).once()
        broker.fault("Produce", may_not_fire=True).drop_request().once()
        broker.fault("Fetch").drop_request()
        with Client(broker.bootstrap_servers, client_id="ana") as client:
            client.ask(ApiVersionsRequest(), 1)
            client.ask(heartbeat("cellar"), 0)
        assert fired.hit_count == 1
    said = str(raised.value).splitlines()
    assert re.fullmatch(r"the fault at test_faults.py:\d+ does not say how often: end it with .*", said[0])
    assert re.fullmatch(
        r"fault 2 \(Heartbeat group=kitchen: delay the request by 1 ms, once\), set at test_faults\.py:\d+, "
        r"never fired; "
        r"what came close: Heartbeat v0 of 'ana': its group is 'cellar'",
        said[1],
    )
    assert said[2:] == ["What may well not happen says may_not_fire=True."]


def test_refused_fault_is_told_once(broker: Broker) -> None:
    """Where it is written; the end of the test has nothing to add, and what asks it later hears the same."""
    misspelt = broker.fault("Produse").drop_answer()
    for _ in range(2):
        with pytest.raises(BadFault, match="Produse"):
            misspelt.once()
    with pytest.raises(BadFault, match=r"was refused: .*Produse"):
        _ = misspelt.hits
    broker.check_faults()


def test_what_failed_anyway_is_not_hidden() -> None:
    """The test's own error is what is raised."""
    with pytest.raises(ZeroDivisionError), Broker() as broker:  # noqa: PT012
        broker.fault("Heartbeat").delay(ms=1).once()
        _ = 1 / 0


async def test_asynchronous_block_proves_it_too() -> None:
    with pytest.raises(FaultNeverFired, match="no request came at all"):
        async with Broker() as broker:
            broker.fault("Heartbeat").delay(ms=1).once()


def test_block_of_a_fault_proves_it_at_its_end(broker: Broker) -> None:
    with (
        pytest.raises(FaultNeverFired, match=r"fault \d+ \(Heartbeat: .*\), set at test_faults\.py:\d+, never fired"),
        broker.fault("Heartbeat").delay(ms=1),
    ):
        pass
    with broker.fault("Heartbeat", may_not_fire=True).delay(ms=1):
        pass
    with pytest.raises(ZeroDivisionError), broker.fault("Heartbeat").delay(ms=1):
        _ = 1 / 0


def test_function_that_raised_is_told_at_the_end() -> None:
    """Even if the fault may well not fire: the test is wrong."""
    with pytest.raises(FaultNeverFired, match="its function raised AttributeError"), Broker() as broker:  # noqa: PT012
        broker.fault("ApiVersions", when=lambda request: request.nothing, may_not_fire=True).drop_request().once()
        with Client(broker.bootstrap_servers) as client:
            client.ask(ApiVersionsRequest(), 1)


@pytest.mark.parametrize("end", [Broker.reset, lambda broker: broker.faults.clear()], ids=["reset", "clear"])
def test_cleared_faults_need_not_fire(end: Callable[[Broker], object]) -> None:
    """Nor do those of a broker that is reset."""
    with Broker() as broker:
        broker.fault("Heartbeat").delay(ms=1).once()
        broker.hold("Heartbeat")
        end(broker)
        assert len(broker.faults) == 0


def test_unset_faults_are_forgotten_when_all_are_cleared() -> None:
    with Broker() as broker:
        broker.fault("Heartbeat").delay(ms=1)
        broker.faults.clear()


# ── Real clients ──────────────────────────────────────────────────────────────────────────────────────────────────────


def delivered(kafka: Broker, topic: str, **settings: Any) -> list[KafkaError | None]:
    """Send a record with confluent-kafka; what becomes of it."""
    told: list[KafkaError | None] = []

    def tell(error: KafkaError | None, _message: Message) -> None:
        told.append(error)

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **settings})
    producer.produce(topic, b"x", on_delivery=tell)
    assert producer.flush(10) == 0
    return told


def test_confluent_kafka_tries_again_until_it_may_not() -> None:
    """What is retriable is tried again; what is not is told."""
    with Broker() as kafka:
        again = kafka.fault("Produce", topic="orders").answer("NOT_LEADER_OR_FOLLOWER").times(2)
        assert delivered(kafka, "orders", **{"retry.backoff.ms": 1}) == [None]
        assert again.hit_count == 2
        kafka.fault("Produce", topic="orders").answer("TOPIC_AUTHORIZATION_FAILED").once()
        (error,) = delivered(kafka, "orders")
        assert error is not None
        assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_confluent_kafka_finds_its_way_back_from_a_stale_leader() -> None:
    with Broker(nodes=2) as kafka:
        kafka.topic("orders").create()
        kafka.fault(topic="orders").stale_leader().times(2)
        assert delivered(kafka, "orders", **{"topic.metadata.refresh.fast.interval.ms": 10}) == [None]


def test_kafka_python_survives_connections_that_end() -> None:
    """In the middle of what it fetches; nothing is lost, and nothing comes twice."""
    with Broker() as kafka:
        kafka.topic("orders").produce(*(b"%d" % number for number in range(20)))
        cut = kafka.fault("Fetch", topic="orders").cut(after_bytes=60, reset=True).times(2)
        consumer = KafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest", reconnect_backoff_ms=1
        )
        received = [next(consumer).value for _ in range(20)]
        consumer.close()
        assert received == [b"%d" % number for number in range(20)]
        assert cut.hit_count == 2


async def test_aiokafka_joins_again_when_its_answer_was_lost() -> None:
    """The coordinator has let it in, and it never heard of it: the connection ended."""
    async with Broker() as kafka:
        kafka.topic("orders").produce(b"one")
        lost = kafka.fault("JoinGroup", group="kitchen", client_id="ana").cut(at="answer").once()
        consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=kafka.bootstrap_servers,
            group_id="kitchen",
            client_id="ana",
            auto_offset_reset="earliest",
            retry_backoff_ms=10,
        )
        await consumer.start()
        assert (await consumer.getone()).value == b"one"
        await consumer.stop()
        assert lost.hit_count == 1


async def test_aiokafka_sends_what_was_refused_for_one_partition_alone() -> None:
    async with Broker(settings={"num.partitions": 2}) as kafka:
        refused = kafka.fault("Produce", topic="orders", partition=1).answer("NOT_ENOUGH_REPLICAS").times(2)
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retry_backoff_ms=5, linger_ms=20)
        await producer.start()
        await asyncio.gather(*(producer.send_and_wait("orders", b"x", partition=index) for index in (0, 1)))
        await producer.stop()
        assert refused.hit_count == 2
        assert sorted(record.partition for record in kafka.topic("orders").records()) == [0, 1]


def test_commit_that_was_lost_is_read_again() -> None:
    """Acknowledged, and gone with the coordinator: what the consumer has done it does again."""
    with Broker(nodes=2, settings={"offsets.topic.num.partitions": 1}) as kafka:
        kafka.topic("orders").produce(b"one", b"two")

        def read(count: int) -> list[bytes | None]:
            consumer = Consumer(
                {
                    "bootstrap.servers": kafka.bootstrap_servers,
                    "group.id": "kitchen",
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                }
            )
            consumer.subscribe(["orders"])
            messages = consumer.consume(count, 20)
            consumer.commit(message=messages[0], asynchronous=False)
            consumer.close()
            return [message.value() for message in messages]

        assert read(1) == [b"one"]
        kafka.fault(group="kitchen", topic="orders").lose_record().once()
        assert read(1) == [b"two"]
        with Client(kafka.bootstrap_servers.split(",")[0]) as client:
            kafka.node(find(client, "kitchen")).stop()
        assert read(1) == [b"two"]
