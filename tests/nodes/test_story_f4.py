"""Story F4: the leader, or the coordinator, dies while somebody is consuming.

Told twice: by raw requests under a clock that stands still, so that the time between is seen; and by real clients, each
in a process of its own, on the system's clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.record_reading import read_records
from ottla.protocol.records import batch_spans, read_header
from ottla.testing import Broker
from tests.clients.client_process import ClientProcess, Message, until
from tests.clients.conftest import Start, starter
from tests.clients.libraries import Library, name_of, who_can
from tests.clients.sharing import share
from tests.nodes.onlooker import Onlooker
from tests.stories.actors import Actor
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.inside import server_of
from tests.support.wire import ConnectionClosedError

FAILOVER_MS = 100
LIBRARIES = who_can("idempotence")
how = pytest.mark.parametrize("hard", [True, False], ids=["dies", "leaves"])

# ── By raw requests ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def still() -> Iterator[Broker]:
    """Three nodes whose time stands still."""
    with Broker(nodes=3, clock="virtual", log_level="error") as broker:
        yield broker


def write(client: Client, *values: bytes) -> None:
    data = ProduceRequest.PartitionProduceData(0, batch([(None, value) for value in values]))
    request = ProduceRequest(None, -1, 1000, [ProduceRequest.TopicProduceData("orders", partition_data=[data])])
    assert client.ask(request, 9).responses[0].partition_responses[0].error_code == 0


def fetch(client: Client, offset: int, epoch: int, max_wait_ms: int = 0) -> Any:
    """The partition, as the broker answers it to somebody who knows this leader epoch."""
    asked = FetchRequest.FetchPartition(0, epoch, offset, partition_max_bytes=1000)
    topics = [FetchRequest.FetchTopic("orders", partitions=[asked])]
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1000, topics=topics)
    return client.ask(request, 12).responses[0].partitions[0]


def read(client: Client, offset: int, epoch: int) -> list[tuple[int, bytes | None]]:
    partition = fetch(client, offset, epoch)
    assert partition.error_code == 0
    found = []
    for span in batch_spans(partition.records):
        data = bytes(partition.records[span.position : span.position + span.size_bytes])
        found += [(record.offset, record.value) for record in read_records(data, read_header(data))]
    return [(at, value) for at, value in found if at >= offset]


def test_story_f4_the_leader_dies(still: Broker) -> None:
    """The connection breaks; metadata name the old leader, then the new one; there it goes on at the same offset."""
    onlooker = Onlooker(still)
    onlooker.create_topic("orders")
    first = onlooker.leader("orders")
    with Client(still.node(first).bootstrap_server) as reader:
        write(reader, b"0", b"1")
        assert read(reader, 0, 0) == [(0, b"0"), (1, b"1")]
        still.node(first).stop(hard=True)
        with pytest.raises(ConnectionClosedError):
            fetch(reader, 2, 0)
    assert still.node(first).state == "silent"
    assert onlooker.leader("orders") == first
    with pytest.raises(ConnectionRefusedError):
        Client(still.node(first).bootstrap_server)
    still.advance(FAILOVER_MS)

    assert still.node(first).state == "down"
    partition = onlooker.partition("orders")
    assert (partition.error_code, partition.leader_epoch, partition.offline_replicas) == (0, 1, [first])
    assert partition.leader_id != first
    with Client(still.node(partition.leader_id).bootstrap_server) as reader:
        assert fetch(reader, 2, 0).error_code == ErrorCode.FENCED_LEADER_EPOCH
        write(reader, b"2", b"3")
        assert read(reader, 2, 1) == [(2, b"2"), (3, b"3")]

    still.node(first).start()
    with Client(still.node(first).bootstrap_server) as reader:
        assert fetch(reader, 4, -1).error_code == 0, "a replica in sync, which consumers may read from"
    assert first in onlooker.partition("orders").isr_nodes


def test_story_f4_the_coordinator_dies(still: Broker) -> None:
    """Nobody coordinates for a while, then another node does, and has the group's members, generation and offsets."""
    onlooker = Onlooker(still)
    onlooker.create_topic("orders")
    first = onlooker.coordinator("billing")
    ana, bo = (Actor(still.node(first).bootstrap_server, "billing", name) for name in ("ana", "bo"))
    ana.enters().joined(generation_id=1, leader=ana)
    ana.syncs({ana: b"all"}).synced(b"all")
    bo.enters()
    onlooker.until(lambda: onlooker.group("billing").group_state == "PreparingRebalance", "bo is waiting")
    ana.joins().joined(generation_id=2, leader=ana)
    bo.joined(generation_id=2, leader=ana)
    ana.syncs({ana: b"left", bo: b"right"}).synced(b"left")
    bo.syncs().synced(b"right")
    bo.commits("orders", 7).is_answered()

    still.node(first).stop(hard=True)
    for actor in (ana, bo):
        with pytest.raises(ConnectionClosedError):
            actor.beats().hears()
        actor.close()
    assert onlooker.coordinator("billing") == first, "not missed yet"
    still.advance(FAILOVER_MS)

    second = onlooker.coordinator("billing")
    assert second not in (first, -1)
    onlooker.stable("billing", 2)
    for former in (ana, bo):
        actor = Actor(still.node(second).bootstrap_server, "billing", former.name)
        actor.member_id, actor.generation_id, actor.protocol = former.member_id, 2, former.protocol
        actor.beats().is_answered()
        actor.syncs().synced(b"left" if former is ana else b"right")
        actor.close()
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic("orders", [0])]
    fetched = onlooker.ask(OffsetFetchRequest("billing", topics), 5, second)
    assert fetched.topics[0].partitions[0].committed_offset == 7


def test_story_f4_the_coordinator_leaves_while_a_member_waits(still: Broker) -> None:
    """A parked JoinGroup is answered NOT_COORDINATOR before the connection ends; and so is a parked SyncGroup."""
    onlooker = Onlooker(still)
    for group, waits in (("joining", "PreparingRebalance"), ("syncing", "CompletingRebalance")):
        stop_a_coordinator(still, onlooker, group, waits)


def stop_a_coordinator(still: Broker, onlooker: Onlooker, group: str, waits: str) -> None:
    """Two members come, one of them waits in this state, and is told."""
    first = onlooker.coordinator(group)
    ana, bo = (Actor(still.node(first).bootstrap_server, group, name) for name in ("ana", "bo"))
    ana.enters().joined(generation_id=1, leader=ana)
    ana.syncs({ana: b"all"}).synced(b"all")
    bo.enters()
    onlooker.until(lambda: onlooker.group(group).group_state == "PreparingRebalance", "bo waits")
    if waits == "CompletingRebalance":
        ana.joins().joined(generation_id=2, leader=ana)
        bo.joined(generation_id=2, leader=ana)
        bo.syncs()
        onlooker.until(lambda: onlooker.group(group).group_state == "CompletingRebalance", "bo waits")
    still.node(first).stop()
    bo.is_answered(ErrorCode.NOT_COORDINATOR)
    with pytest.raises(ConnectionClosedError):
        bo.beats().hears()
    assert onlooker.coordinator(group) not in (first, -1)
    assert onlooker.stable(group, 1).members[0].client_id == "ana", "the generation that was written down"
    for actor in (ana, bo):
        actor.close()
    still.node(first).start()


def test_nobody_coordinates_on_a_dead_node(still: Broker) -> None:
    """Two die, and the second is named coordinator when the first is missed: the group is nobody's until it is missed
    too, and no timer of it runs.
    """
    onlooker = Onlooker(still)
    first = onlooker.coordinator("billing")
    ana = Actor(still.node(first).bootstrap_server, "billing", "ana")
    ana.enters().joined(generation_id=1, leader=ana)
    ana.syncs({ana: b"all"}).synced(b"all")
    ana.close()
    second = 1 + first % 3
    still.node(first).stop(hard=True)
    still.advance(FAILOVER_MS - 1)
    still.node(second).stop(hard=True)
    still.advance(1)
    assert onlooker.coordinator("billing") == second
    coordinators = server_of(still).services.group_coordination.of_node
    assert [group for coordinator in coordinators.values() for group in coordinator.groups] == []
    still.advance(FAILOVER_MS)
    onlooker.stable("billing", 1)


def test_commits_are_refused_while_too_few_replicas_are_in_sync() -> None:
    """min.insync.replicas holds for the groups' log too: COORDINATOR_NOT_AVAILABLE, until a node is back."""
    with Broker(nodes=2, settings={"min.insync.replicas": 2}, clock="virtual", log_level="error") as broker:
        onlooker = Onlooker(broker, (1, 2))
        onlooker.create_topic("orders", replicas=1)
        coordinator = onlooker.coordinator("billing")
        ana = Actor(broker.node(coordinator).bootstrap_server, "billing", "ana")
        ana.enters().joined(generation_id=1, leader=ana)
        ana.syncs({ana: b"all"}).synced(b"all")
        other = broker.node(3 - coordinator)
        other.stop()
        ana.commits("orders", 1).is_answered(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        other.start()
        ana.commits("orders", 2).is_answered()
        ana.close()


# ── By real clients ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(nodes=3, log_level="error") as running:
        yield running


@pytest.fixture
def onlooker(broker: Broker) -> Onlooker:
    return Onlooker(broker)


@pytest.fixture
def start(broker: Broker) -> Iterator[Start]:
    with starter(broker.bootstrap_servers) as start:
        yield start


def numbered(first: int, count: int) -> list[Message]:
    return [Message(b"%d" % number, partition=0) for number in range(first, first + count)]


@how
@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_story_f4_with_real_clients(
    broker: Broker, onlooker: Onlooker, start: Start, library: Library, *, hard: bool
) -> None:
    """An idempotent producer and a consumer go on at the new leader: nothing lost, nothing twice, in order."""
    onlooker.create_topic("orders")
    producer, consumer = start(library, "producer"), start(library, "consumer")
    consumer.subscribe(group="billing", topics=["orders"])
    consumer.until(lambda: consumer.holds == {("orders", 0)}, "the consumer holds its partition")
    producer.send("orders", *numbered(0, 100), idempotent=True)
    consumer.until(lambda: len(consumer.messages) == 100, "the first hundred are there")

    first = onlooker.leader("orders")
    listed = [message.json() for message in numbered(100, 2000)]
    producer.tell("produce", topic="orders", messages=listed, idempotent=True)
    onlooker.until(lambda: end_offset(broker) > 100, "the producer is in the middle of it")
    broker.node(first).stop(hard=hard)
    stored = [*producer.answer("produce"), *producer.send("orders", *numbered(2100, 100), idempotent=True)]
    assert [offset for _, offset in stored] == list(range(100, 2200))
    assert onlooker.leader("orders") not in (first, -1)
    consumer.until(lambda: len(consumer.messages) >= 2200, "all are there")
    assert [message.offset for message in consumer.messages] == list(range(2200))
    assert consumer.values == [b"%d" % number for number in range(2200)]


def end_offset(broker: Broker) -> int:
    """How far the log of orders 0 is."""

    async def look() -> int:
        return server_of(broker).cluster.topics["orders"].partitions[0].log_end_offset

    return broker.call(look())


@how
@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_story_f4_with_a_group_of_real_clients(
    broker: Broker, onlooker: Onlooker, start: Start, library: Library, *, hard: bool
) -> None:
    """The members go on in the same generation: nobody rebalances, commits succeed, each reads on."""
    onlooker.create_topic("orders", partitions=2)
    ana, bo = start(library, "ana"), start(library, "bo")
    for member in (ana, bo):
        member.subscribe(group="billing", topics=["orders"], auto_commit=False)
    share("orders", 2, [ana, bo])
    before = onlooker.stable("billing", 2)
    seen = [len(member.rebalances) for member in (ana, bo)]
    generation_id = generation(broker)

    first = onlooker.coordinator("billing")
    broker.node(first).stop(hard=hard)
    onlooker.until(lambda: onlooker.coordinator("billing") not in (first, -1), "there is another coordinator")
    after = onlooker.stable("billing", 2)
    assert sorted(member.member_id for member in after.members) == sorted(member.member_id for member in before.members)
    ana.send("orders", *(Message(b"to %d" % index, partition=index) for index in range(2)))
    until(lambda: [len(member.messages) for member in (ana, bo)] == [1, 1], "each has read from its own", ana, bo)
    for member in (ana, bo):
        commit(member)
    assert {offset for _, _, offset, _ in ana.group_offsets(group="billing")} == {1}
    assert [len(member.rebalances) for member in (ana, bo)] == seen
    assert generation(broker) == generation_id


def commit(member: ClientProcess) -> None:
    ((topic, partition),) = member.holds
    member.ask("commit", offsets=[[topic, partition, 1, ""]])


def generation(broker: Broker) -> int:
    """The generation of the one group there is, where it is coordinated."""

    async def look() -> int:
        coordinators = server_of(broker).services.group_coordination.of_node.values()
        (group,) = [group for coordinator in coordinators for group in coordinator.groups]
        return group.generation_id

    return broker.call(look())
