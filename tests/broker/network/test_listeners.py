"""Several listeners on a node: who comes to one is told the addresses of that one, in every answer that has any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.cluster.address import Address
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.purgatory import VirtualClock
from tests.broker.scene import Scene
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

#: What is asked of a node: by listener, the host that its clients are told.
HOSTS = {"INTERNAL": "127.0.0.2", "HOST": "localhost"}


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """Two nodes, two listeners each; INTERNAL is advertised by another address than it listens on."""
    listen = [f"{name}://127.0.0.1:0" for name in HOSTS]
    advertise = [f"{name}://{host}:0" for name, host in HOSTS.items()]
    with RunningBroker(nodes=2, listen=listen, advertise=advertise) as broker:
        with Client(broker.bootstrap_on(1, "HOST")) as client:
            client.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="orders")]), 8)
        yield broker


def addresses(broker: RunningBroker, name: str) -> list[tuple[int, str, int]]:
    """(node id, host, port) that clients of this listener are to be told."""
    return [(node.node_id, HOSTS[name], node.listens[name].port) for node in broker.server.nodes]


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("node_id", [1, 2])
class TestEveryAnswerNamesTheListenersAddresses:
    @pytest.fixture
    def client(self, broker: RunningBroker, name: str, node_id: int) -> Iterator[Client]:
        with Client(broker.bootstrap_on(node_id, name)) as client:
            yield client

    @pytest.mark.parametrize("version", [0, 8, 13])
    def test_metadata(self, broker: RunningBroker, client: Client, name: str, version: int) -> None:
        told = client.ask(MetadataRequest([]), version).brokers
        assert [(node.node_id, node.host, node.port) for node in told] == addresses(broker, name)

    @pytest.mark.parametrize("version", [0, 2])
    def test_describe_cluster(self, broker: RunningBroker, client: Client, name: str, version: int) -> None:
        told = client.ask(DescribeClusterRequest(), version).brokers
        assert [(node.broker_id, node.host, node.port) for node in told] == addresses(broker, name)

    def test_find_coordinator(self, broker: RunningBroker, client: Client, name: str) -> None:
        one = client.ask(FindCoordinatorRequest("ana"), 1)
        (of_many,) = client.ask(FindCoordinatorRequest(coordinator_keys=["ana"]), 4).coordinators
        for told in (one, of_many):
            assert (told.node_id, told.host, told.port) in addresses(broker, name)

    def test_who_asked_the_wrong_node(self, broker: RunningBroker, client: Client, name: str, node_id: int) -> None:
        """Of the two nodes one leads; the other says where it is."""
        (topic,) = [topic for topic in broker.server.cluster.topics.values() if topic.name == "orders"]
        fetched = [FetchRequest.FetchTopic(topic_id=topic.topic_id, partitions=[FetchRequest.FetchPartition(0)])]
        data = [ProduceRequest.PartitionProduceData(0, batch())]
        produced = [ProduceRequest.TopicProduceData(name="orders", partition_data=data)]
        for answer in (
            client.ask(FetchRequest(topics=fetched), 16),
            client.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=produced), 10),
        ):
            told = [(node.node_id, node.host, node.port) for node in answer.node_endpoints]
            leads = node_id == topic.placements[0].leader_id
            assert told == ([] if leads else [addresses(broker, name)[2 - node_id]])


def test_node_that_stops_and_starts_does_so_on_all_its_listeners() -> None:
    """Nobody is let in meanwhile, and it is back at the addresses it had."""
    with RunningBroker(nodes=2, listen=["A://127.0.0.1:0", "B://127.0.0.1:0"]) as broker:
        held = {name: broker.bootstrap_on(2, name) for name in ("A", "B")}
        clients = [Client(address) for address in held.values()]
        broker.wait_until("both are in", lambda: broker.server.connection_counts == {1: 0, 2: 2})
        broker.run(broker.controlled.nodes.stop(2, hard=True))
        assert broker.look(lambda: broker.server.connection_counts) == {1: 0, 2: 0}
        for address in held.values():
            with pytest.raises(ConnectionRefusedError):
                Client(address)
        broker.run(broker.controlled.nodes.start(2))
        for name, address in held.items():
            with Client(address) as client:
                ports = [node.port for node in client.ask(MetadataRequest([]), 8).brokers]
            assert ports == [node.listens[name].port for node in broker.server.nodes]
        for client in clients:
            client.close()


# ── A listener that is not advertised ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def scene() -> Scene:
    """Two nodes that listen as HIDDEN too, and tell nobody where."""
    scene = Scene(nodes=2)
    for node in scene.cluster.nodes.values():
        node.listens["HIDDEN"] = Address("127.0.0.1", 29091 + node.node_id)
    scene.create("orders", partitions=2, replicas=2)
    return scene


def ask(scene: Scene, request: Any, version: int) -> Any:
    return scene.ask(request, version, listener_name="HIDDEN")


@pytest.mark.parametrize("version", range(14))
def test_metadata_there_has_no_nodes_and_no_leaders(scene: Scene, version: int) -> None:
    """LISTENER_NOT_FOUND; up to v5, where clients may not know it, LEADER_NOT_AVAILABLE. All replicas are offline."""
    answer = ask(scene, MetadataRequest(None if version else []), version)
    assert answer.brokers == []
    (topic,) = answer.topics
    expected = ErrorCode.LISTENER_NOT_FOUND if version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
    for partition in topic.partitions:
        assert (partition.error_code, partition.leader_id) == (expected, -1)
        assert sorted(partition.replica_nodes) == ([] if version == 0 else [1, 2])
        assert sorted(partition.offline_replicas) == ([1, 2] if version >= 5 else [])


def test_other_answers_there_have_no_nodes_either(scene: Scene) -> None:
    cluster = ask(scene, DescribeClusterRequest(), 2)
    assert (cluster.brokers, cluster.controller_id) == ([], -1)
    assert ask(scene, FindCoordinatorRequest("ana"), 1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    (found,) = ask(scene, FindCoordinatorRequest(coordinator_keys=["ana"]), 4).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    asked = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest("orders")])
    for partition in ask(scene, asked, 0).topics[0].partitions:
        assert (partition.leader_id, sorted(partition.offline_replicas)) == (-1, [1, 2])


def test_wrong_node_there_names_the_leader_without_an_address(scene: Scene) -> None:
    topic = scene.create("single")
    leader_id = topic.placements[0].leader_id
    data = [ProduceRequest.PartitionProduceData(0, batch())]
    produced = [ProduceRequest.TopicProduceData(name="single", partition_data=data)]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=produced)
    answer = scene.ask(request, 10, node_id=3 - leader_id, listener_name="HIDDEN")
    assert answer.responses[0].partition_responses[0].current_leader.leader_id == leader_id
    assert answer.node_endpoints == []


def test_groups_are_coordinated_all_the_same(scene: Scene) -> None:
    """For clients of the other listener."""
    assert scene.ask(FindCoordinatorRequest("ana"), 1).error_code == ErrorCode.NONE
    assert GROUP_TOPIC in scene.cluster.topics


# ── Settings, as they are shown ───────────────────────────────────────────────────────────────────────────────────────


def shown(broker: RunningBroker, node_id: int, *names: str) -> dict[str, str | None]:
    """What a node says of its settings."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(4, str(node_id), list(names))
    with Client(broker.bootstrap_on(node_id, "A")) as client:
        configs = client.ask(DescribeConfigsRequest([resource]), 4).results[0].configs
    return {config.name: config.value for config in configs}


LISTENERS = ("listeners", "advertised.listeners", "listener.security.protocol.map", "inter.broker.listener.name")


def test_node_shows_where_it_listens_and_what_it_advertises() -> None:
    """With the ports it has; what is advertised is shown also if it is the same."""
    listen = ["A://127.0.0.1:0", "B://127.0.0.1:0"]
    with RunningBroker(nodes=2, listen=listen, clock=VirtualClock()) as broker:
        configs = shown(broker, 2, *LISTENERS)
        a, b = (broker.server.nodes[1].listens[name].port for name in ("A", "B"))
        assert configs["listeners"] == f"A://127.0.0.1:{a},B://127.0.0.1:{b}"
        assert configs["advertised.listeners"] == configs["listeners"]
        assert (configs["listener.security.protocol.map"] or "").startswith("A:PLAINTEXT,B:PLAINTEXT,SASL_SSL:")
        assert configs["inter.broker.listener.name"] is None
    with RunningBroker(listen=listen, advertise=["B://localhost:7"], clock=VirtualClock()) as broker:
        a = broker.server.nodes[0].listens["A"].port
        assert shown(broker, 1, *LISTENERS)["advertised.listeners"] == f"A://127.0.0.1:{a},B://localhost:7"


def test_settings_are_shown_as_they_were_given() -> None:
    """But for the ports, which are those of the node."""
    settings = {
        "listeners": "A://127.0.0.1:0,C://127.0.0.1:1",
        "advertised.listeners": "A://localhost:7,C://localhost:8",
        "listener.security.protocol.map": "A:PLAINTEXT,C:PLAINTEXT",
        "controller.listener.names": "C",
        "inter.broker.listener.name": "A",
    }
    with RunningBroker(settings=settings, nodes=2, clock=VirtualClock()) as broker:
        port = broker.server.nodes[1].listens["A"].port
        assert shown(broker, 2, *LISTENERS) == {
            "listeners": f"A://127.0.0.1:{port}",
            "advertised.listeners": "A://localhost:8",
            "listener.security.protocol.map": "A:PLAINTEXT,C:PLAINTEXT",
            "inter.broker.listener.name": "A",
        }
