"""The cluster: topics come, grow and go, and whoever needs to know is told."""

from __future__ import annotations

import gc
import weakref
from uuid import UUID

from ottla.broker.internal.coordinators import group_coordinator, group_partition
from ottla.cluster.topic import Topic
from ottla.cluster.topic_creation import create_on_demand
from ottla.cluster.topic_names import GROUP_TOPIC, SHARE_GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.cluster.uuids import random_hex_uuid, random_uuid, uuid_text
from ottla.events.kind import Kind
from ottla.events.stream import Event
from ottla.log.partition_answers import PartitionEvent
from tests.broker.scene import Scene


def test_leaders_are_spread_over_the_nodes_topic_after_topic() -> None:
    """Seven partitions in three topics on three nodes: nobody leads more than three."""
    scene = Scene(nodes=3)
    topics = [scene.create("a", 2, replicas=2), scene.create("b", 1), scene.create("c", 4, replicas=3)]
    leaders = [placement.leader_id for topic in topics for placement in topic.placements]
    assert leaders == [1, 2, 3, 1, 2, 3, 1]
    assert topics[2].placements[1].replicas == topics[2].placements[1].isr == [2, 3, 1]


def test_topic_is_found_by_name_and_id_until_it_is_deleted() -> None:
    scene = Scene()
    topic = scene.create("orders")
    cluster = scene.cluster
    assert cluster.topic("orders") is topic
    assert cluster.topics_by_id[topic.topic_id] is topic
    cluster.delete_topic(topic)
    assert cluster.topic("orders") is None
    assert topic.topic_id not in cluster.topics_by_id


def test_changes_are_told_when_they_are_complete() -> None:
    """Created with its partitions, grown from the first new one, deleted with its logs closed."""
    scene = Scene()
    told: list[tuple[object, ...]] = []

    def hear(event: Event) -> None:
        is_there = scene.cluster.topic("orders") is not None
        told.append((event.kind, event.details.get("first_partition"), event.details["partitions"], is_there))

    scene.parts.events.read(hear, [Kind.TOPIC_CREATED, Kind.TOPIC_GROWN, Kind.TOPIC_DELETED])
    topic = scene.create("orders", 2)
    scene.cluster.add_partitions(topic, [[1], [1]])
    scene.cluster.delete_topic(topic)
    assert topic.partitions[0].is_closed
    assert told == [
        (Kind.TOPIC_CREATED, None, 2, True),
        (Kind.TOPIC_GROWN, 2, 4, True),
        (Kind.TOPIC_DELETED, None, 4, False),
    ]


def test_the_logs_of_a_deleted_topic_are_gone_at_once() -> None:
    """Without any periodic work, which on a clock that stands still never comes."""

    class Listener:
        def __call__(self, *_: object) -> None:
            """It is there as long as the log."""

    scene, listener = Scene(), Listener()
    scene.create("orders").partitions[0].listeners.append(listener)
    is_there = weakref.ref(listener)
    del listener
    scene.cluster.delete_topic(scene.cluster.topics["orders"])
    gc.collect()
    assert is_there() is None


def test_deleting_a_topic_tells_who_waits_on_its_partitions() -> None:
    """And gives their bytes back."""
    scene = Scene()
    topic = scene.create("orders")
    heard: list[PartitionEvent] = []
    topic.partitions[0].listeners.append(lambda partition, event: heard.append(event))
    scene.cluster.delete_topic(topic)
    assert heard == [PartitionEvent.CLOSED]
    assert scene.cluster.logs.bytes.bytes_held == 0


def test_colliding_name_is_free_again_when_the_topic_is_gone() -> None:
    scene = Scene()
    first, second = scene.create("a.b"), scene.create("plain")
    assert scene.cluster.colliding_topic("a_b") == "a.b"
    assert scene.cluster.colliding_topic("plain") is None
    scene.cluster.delete_topic(first)
    scene.cluster.delete_topic(second)
    assert scene.cluster.colliding_topic("a_b") is None


def test_changed_settings_reach_logs_that_are_open() -> None:
    """The cluster's for all, a node's for the partitions it leads; what the topic says itself stays."""
    scene = Scene(nodes=2)
    plain, own = scene.create("plain", 2), scene.create("own", 1, max_message_bytes="500")
    scene.cluster.change_settings("", {"message.max.bytes": "2000", "min.insync.replicas": "1"})
    assert [partition.config.rules.max_message_bytes for partition in plain.partitions] == [2000, 2000]
    scene.cluster.change_settings("2", {"message.max.bytes": "3000"})
    assert [placement.leader_id for placement in plain.placements] == [1, 2]
    assert [partition.config.rules.max_message_bytes for partition in plain.partitions] == [2000, 3000]
    assert own.partitions[0].config.rules.max_message_bytes == 500


def test_changed_producer_settings_reach_logs_that_are_open() -> None:
    scene = Scene(settings={"producer.id.expiration.ms": "1000"})
    scene.create("orders")
    shared = scene.cluster.logs.producer_settings
    assert shared.producer_id_expiration_ms == 1000
    scene.cluster.change_settings("", {"producer.id.expiration.ms": "5", "min.insync.replicas": "1"})
    assert shared.producer_id_expiration_ms == 5


def test_internal_topics_are_made_with_their_own_settings() -> None:
    """Kafka's configs for each; replicas no more than there are nodes."""
    scene = Scene(
        nodes=2, settings={"offsets.topic.num.partitions": "5", "transaction.state.log.segment.bytes": "2000000"}
    )
    offsets = create_on_demand(scene.cluster, GROUP_TOPIC)
    assert offsets is not None
    assert offsets.is_internal
    assert offsets.configs == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    assert [len(placement.replicas) for placement in offsets.placements] == [2] * 5
    transactions = create_on_demand(scene.cluster, TRANSACTION_TOPIC)
    assert transactions is not None
    assert transactions.configs == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "segment.bytes": "2000000",
        "unclean.leader.election.enable": "false",
    }
    shares = create_on_demand(scene.cluster, SHARE_GROUP_TOPIC)
    assert shares is not None
    assert (shares.is_internal, shares.configs["retention.ms"]) == (True, "-1")


def test_topic_on_demand_that_can_not_be_is_logged_and_not_made() -> None:
    scene = Scene()
    scene.create("a.b")
    for name in ("a_b", "__cluster_metadata", "a.b"):
        assert create_on_demand(scene.cluster, name) is None
    refused = scene.log.named("topic.autocreation.refused")
    assert [keys["error"] for keys in refused] == [
        "INVALID_TOPIC_EXCEPTION",
        "INVALID_REQUEST",
        "TOPIC_ALREADY_EXISTS",
    ]


def test_group_is_coordinated_by_the_leader_of_its_partition() -> None:
    """Java's hash of the name, over the number of partitions that the settings say."""
    scene = Scene(nodes=3)
    assert group_partition(scene.cluster, "my-group") == 12
    assert group_coordinator(scene.cluster, "my-group") is None
    topic = create_on_demand(scene.cluster, GROUP_TOPIC)
    assert topic is not None
    node = group_coordinator(scene.cluster, "my-group")
    assert node is not None
    assert node.node_id == topic.placements[12].leader_id


def test_uuids_are_random_and_never_begin_with_a_dash() -> None:
    """A command line would take it for an option."""
    uuids = {random_uuid() for _ in range(2000)}
    assert len(uuids) == 2000
    texts = [uuid_text(uuid) for uuid in uuids]
    assert all(len(text) == 22 and text[0] != "-" for text in texts)


def test_uuids_of_members_are_those_of_java() -> None:
    """Version 4 in hex, as the standard library makes it of the same bytes."""
    random = bytes(range(240, 256))
    assert random_hex_uuid(lambda _size: random) == str(UUID(bytes=random, version=4))


def test_retention_is_applied_to_every_open_log_when_the_account_is_full() -> None:
    """A topic that was deleted is not asked again."""
    scene = Scene()
    kept, gone = scene.create("kept"), scene.create("gone")
    scene.cluster.delete_topic(gone)
    assert scene.cluster.logs.bytes.reclaim is not None
    scene.cluster.logs.bytes.reclaim(scene.clock.wall_ms())
    assert not kept.partitions[0].is_closed
    assert gone.partitions[0].is_closed


def test_a_node_that_leaves_while_a_wide_topic_is_made() -> None:
    """What was opened before goes by the nodes as they are when it is added."""
    scene = Scene(nodes=2)
    cluster = scene.cluster
    topic = Topic("wide", bytes(16), {}, cluster, is_internal=False)
    opened = topic.open_partitions([[1, 2]] * 100)
    scene.services.failover.node_leaves(cluster.nodes[1])
    topic.add_partitions(opened)
    assert {placement.leader_id for placement in topic.placements} == {2}
    assert len(topic.partitions) == 100
