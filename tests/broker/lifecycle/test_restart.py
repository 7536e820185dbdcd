"""A broker on disk that is stopped and started again is the same broker."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.lifecycle import assembly, server
from ottla.cluster.store import ClusterStore
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.update_features import UpdateFeaturesRequest
from ottla.purgatory import Timer, VirtualClock
from tests.log.partitions import batch_of, numbered
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

ALL_TOPICS: Any = None


class Restarts:
    """Brokers one after the other, on one directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def broker(self, **options: Any) -> RunningBroker:
        return RunningBroker(data_dir=self.path, **options)


@pytest.fixture
def restarts(tmp_path: Path) -> Restarts:
    return Restarts(tmp_path / "data")


def create(client: Client, name: str, partitions: int = 1, **configs: str) -> bytes:
    """Make a topic; returns its id."""
    topic = CreateTopicsRequest.CreatableTopic(
        name,
        partitions,
        -1,
        [],
        [CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()],
    )
    (made,) = client.ask(CreateTopicsRequest([topic], 1000), 7).topics
    assert not made.error_code
    topic_id: bytes = made.topic_id
    return topic_id


def produce(client: Client, topic: str, records: bytes, partition: int = 0) -> Any:
    """Append a batch with acks=all; returns the partition's answer."""
    data = ProduceRequest.TopicProduceData(
        topic, partition_data=[ProduceRequest.PartitionProduceData(partition, records)]
    )
    return client.ask(ProduceRequest(None, -1, 1000, [data]), 9).responses[0].partition_responses[0]


def fetch(client: Client, topic: str, offset: int, *, version: int = 11, epoch: int = -1) -> Any:
    wanted = FetchRequest.FetchTopic(
        topic, partitions=[FetchRequest.FetchPartition(0, epoch, offset, partition_max_bytes=1 << 20)]
    )
    request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[wanted])
    return client.ask(request, version).responses[0].partitions[0]


def earliest(client: Client, topic: str) -> int:
    asked = ListOffsetsRequest.ListOffsetsTopic(topic, [ListOffsetsRequest.ListOffsetsPartition(0, -1, -2)])
    offset: int = client.ask(ListOffsetsRequest(-1, 0, [asked]), 5).topics[0].partitions[0].offset
    return offset


def alter(client: Client, resource_type: int, resource: str, name: str, value: str) -> None:
    config = IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value)
    asked = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type, resource, [config])
    (answer,) = client.ask(IncrementalAlterConfigsRequest([asked]), 1).responses
    assert not answer.error_code


def config(client: Client, resource_type: int, resource: str, name: str) -> str:
    asked = DescribeConfigsRequest.DescribeConfigsResource(resource_type, resource, [name])
    (shown,) = client.ask(DescribeConfigsRequest([asked]), 4).results[0].configs
    value: str = shown.value
    return value


def test_topics_and_records_are_there_again(restarts: Restarts) -> None:
    """Ids, partitions, configs, bytes, and the cluster's id; deleted topics are not."""
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        topic_id = create(client, "orders", 3, retention_ms="123456")
        create(client, "gone")
        produce(client, "orders", batch_of(5))
        produce(client, "gone", batch_of(5))
        added = CreatePartitionsRequest.CreatePartitionsTopic("orders", 4, None)
        assert not client.ask(CreatePartitionsRequest([added], 1000, False), 3).results[0].error_code
        assert not client.ask(DeleteTopicsRequest([], ["gone"], 1000), 5).responses[0].error_code
        cluster_id = client.ask(DescribeClusterRequest(), 0).cluster_id
        before = fetch(client, "orders", 0).records
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert client.ask(DescribeClusterRequest(), 0).cluster_id == cluster_id
        (topic,) = client.ask(MetadataRequest(ALL_TOPICS), 12).topics
        assert (topic.name, topic.topic_id, len(topic.partitions)) == ("orders", topic_id, 4)
        assert config(client, 2, "orders", "retention.ms") == "123456"
        assert bytes(fetch(client, "orders", 0).records) == bytes(before)
        assert produce(client, "orders", batch_of(1)).base_offset == 5
        assert create(client, "gone") != topic_id
        assert fetch(client, "gone", 0).high_watermark == 0
    assert not [name for name in restarts.path.iterdir() if name.name.endswith("-delete")]


def test_configs_that_were_changed_stay_changed(restarts: Restarts) -> None:
    """Of topics, of a broker, of all brokers, of groups; and logs go by them."""
    changes = (
        (2, "orders", "max.message.bytes", "100"),
        (4, "1", "log.retention.ms", "5000"),
        (4, "", "log.segment.bytes", "2000000"),
        (32, "group", "consumer.session.timeout.ms", "50000"),
    )
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        for change in changes:
            alter(client, *change)
    for _ in range(2):
        with restarts.broker() as broker, Client(broker.bootstrap) as client:
            for resource_type, resource, name, value in changes:
                assert config(client, resource_type, resource, name) == value
            assert produce(client, "orders", batch_of(20)).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_no_producer_id_is_handed_out_twice(restarts: Restarts) -> None:
    """And those who have one go on with it."""
    ids: set[int] = set()
    for number in range(3):
        with restarts.broker() as broker, Client(broker.bootstrap) as client:
            if not number:
                create(client, "orders")
            new = {client.ask(InitProducerIdRequest(None, -1), 4).producer_id for _ in range(2)}
            assert not new & ids
            ids |= new
            produced = produce(client, "orders", numbered(number, producer_id=min(ids)))
            assert (produced.error_code, produced.base_offset) == (0, number)
            repeated = produce(client, "orders", numbered(number, producer_id=min(ids)))
            assert (repeated.error_code, repeated.base_offset) == (0, number)


def test_what_delete_records_removed_stays_removed(restarts: Restarts) -> None:
    """The start of the log is kept at once."""
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        produce(client, "orders", batch_of(10))
        until = DeleteRecordsRequest.DeleteRecordsPartition(0, 7)
        topic = DeleteRecordsRequest.DeleteRecordsTopic("orders", [until])
        assert client.ask(DeleteRecordsRequest([topic], 1000), 2).topics[0].partitions[0].low_watermark == 7
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert earliest(client, "orders") == 7
        assert fetch(client, "orders", 6).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_retention_removes_files(restarts: Restarts) -> None:
    """Its passage gives the disk back, also of what a broker before has written."""
    clock = VirtualClock()
    with restarts.broker(clock=clock) as broker, Client(broker.bootstrap) as client:
        create(client, "orders", internal_segment_bytes="500", retention_ms="1000")
        for _ in range(5):
            produce(client, "orders", batch_of(30, base_timestamp=clock.wall_ms()))
    directory = restarts.path / "orders-0"
    assert len(list(directory.glob("*.log"))) == 5
    with restarts.broker(clock=clock) as broker, Client(broker.bootstrap) as client:
        broker.advance(31_000)
        assert earliest(client, "orders") == 150
        broker.wait_until("one file is left", lambda: len(list(directory.glob("*.log*"))) == 1)
    with restarts.broker(clock=clock) as broker, Client(broker.bootstrap) as client:
        assert earliest(client, "orders") == 150


def test_log_dirs_shows_the_directory(restarts: Restarts) -> None:
    """Its path, what lies in it, and the sizes of its file system."""
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        produce(client, "orders", batch_of(10))
        (shown,) = client.ask(DescribeLogDirsRequest(ALL_TOPICS), 4).results
    assert (shown.error_code, shown.log_dir) == (0, str(restarts.path))
    assert 0 < shown.usable_bytes <= shown.total_bytes
    assert shown.topics[0].partitions[0].partition_size == len(batch_of(10))


def test_a_log_that_is_damaged_harms_no_other(restarts: Restarts) -> None:
    """It is answered KAFKA_STORAGE_ERROR, to old consumers NOT_LEADER_OR_FOLLOWER; the rest is served."""
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        for name in ("good", "bad"):
            create(client, name)
            produce(client, name, batch_of(10))
    (restarts.path / "bad-0" / f"{0:020d}.log").write_bytes(b"no batch")
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert fetch(client, "bad", 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert fetch(client, "bad", 0, version=5).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert produce(client, "bad", batch_of(1)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert fetch(client, "good", 0).records
        assert produce(client, "good", batch_of(1)).base_offset == 10
        assert "bad-0" in broker.log.named("log.offline")[0]["directory"]


def test_leader_epochs_rise_with_every_restart(restarts: Restarts) -> None:
    """By two after a clean stop and after a crash, for logs with and without records, as a Kafka of one node did."""

    def epochs() -> list[int]:
        with restarts.broker() as broker, Client(broker.bootstrap) as client:
            topics = {topic.name: topic for topic in client.ask(MetadataRequest(ALL_TOPICS), 12).topics}
            partitions = [*topics["empty"].partitions, *topics["orders"].partitions]
            return [partition.leader_epoch for partition in partitions]

    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        create(client, "empty", 2)
        produce(client, "orders", batch_of(10))
    assert epochs() == [2, 2, 2]
    for expected in (4, 6):
        (restarts.path / "clean-shutdown.json").unlink()
        assert epochs() == [expected] * 3
    assert epochs() == [8, 8, 8]
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert fetch(client, "orders", 0, epoch=8).error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert fetch(client, "orders", 0, epoch=10).records


def test_a_leader_epoch_is_never_used_again(restarts: Restarts) -> None:
    """Even if the note of a log's epochs is lost: the batches tell which it was written under."""
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        produce(client, "orders", batch_of(10))
    for expected in (2, 4):
        with restarts.broker() as broker, Client(broker.bootstrap) as client:
            produce(client, "orders", batch_of(10))
            assert fetch(client, "orders", 0, epoch=expected).records
    (restarts.path / "clean-shutdown.json").unlink()
    (restarts.path / "orders-0" / "leader-epoch-checkpoint").unlink()
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert fetch(client, "orders", 0, epoch=6).records


def replicas(client: Client, topic: str) -> list[tuple[list[int], int, list[int], list[int]]]:
    """Of each partition: its replicas, who leads, who is in sync, who is down."""
    found = client.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)]), 12).topics[0].partitions
    return [(one.replica_nodes, one.leader_id, one.isr_nodes, one.offline_replicas) for one in found]


def create_on(client: Client, name: str, *assignment: list[int]) -> None:
    """Make a topic with these replicas of each partition."""
    listed = [CreateTopicsRequest.CreatableReplicaAssignment(index, nodes) for index, nodes in enumerate(assignment)]
    (made,) = client.ask(
        CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, -1, -1, listed)], 1000), 7
    ).topics
    assert not made.error_code


def test_replicas_stay_as_they_were_assigned(restarts: Restarts) -> None:
    """With fewer nodes those that are not there are down, whatever is changed of the topic meanwhile. Where there is
    none of them, the first node stands in, and what is there can be read and written."""
    with restarts.broker(nodes=3) as broker, Client(broker.bootstrap) as client:
        create_on(client, "orders", [3, 1], [2, 3])
        for partition, node in enumerate(broker.server.addresses[index] for index in (2, 1)):
            with Client(str(node)) as leader:
                produce(leader, "orders", batch_of(5), partition)
    for _ in range(2):
        with restarts.broker() as broker, Client(broker.bootstrap) as client:
            assert replicas(client, "orders") == [([3, 1], 1, [1], [3]), ([1], 1, [1], [])]
            assert fetch(client, "orders", 0).records
            assert not produce(client, "orders", batch_of(5), 1).error_code
            alter(client, 2, "orders", "retention.ms", "123456")
    with restarts.broker(nodes=2) as broker, Client(broker.bootstrap) as client:
        assert replicas(client, "orders") == [([3, 1], 1, [1], [3]), ([2, 3], 2, [2], [3])]
        more = CreatePartitionsRequest.CreatePartitionsTopic("orders", 3, None)
        assert not client.ask(CreatePartitionsRequest([more], 1000), 3).results[0].error_code
    with restarts.broker(nodes=3) as broker, Client(broker.bootstrap) as client:
        assert replicas(client, "orders")[:2] == [([3, 1], 3, [3, 1], []), ([2, 3], 2, [2, 3], [])]


def test_other_nodes_than_before_are_told_of(restarts: Restarts) -> None:
    """Topics stay where they were; who expected replicas on more nodes, or has lost some, reads why."""
    with restarts.broker(nodes=2) as broker, Client(broker.bootstrap) as client:
        create_on(client, "orders", [1, 2])
        create_on(client, "payments", [1])
        assert not broker.log.named("nodes.missing") + broker.log.named("nodes.without.replicas")
    with restarts.broker(nodes=2) as broker:
        assert not broker.log.named("nodes.missing") + broker.log.named("nodes.without.replicas")
    with restarts.broker() as broker:
        (told,) = broker.log.named("nodes.missing")
        assert (told["missing_nodes"], told["partitions"]) == ([2], 1)
        assert "start with as many --nodes as before" in told["reason"]
        assert not broker.log.named("nodes.without.replicas")
    with restarts.broker(nodes=4) as broker:
        (told,) = broker.log.named("nodes.without.replicas")
        assert told["idle_nodes"] == [3, 4]
        assert "topics keep their replicas, new ones use all nodes" in told["reason"]


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
def test_the_date_of_a_virtual_clock_goes_on(restarts: Restarts, tmp_path: Path, is_killed: bool) -> None:
    """It is that which was reached, and not the system's, by which what was written would be in the future."""
    day_ms = 24 * 3_600_000  # of which each has thousands of rounds of the broker's own
    left = tmp_path / "left"
    with restarts.broker(clock=VirtualClock()) as broker, Client(broker.bootstrap) as client:
        create(client, "orders", message_timestamp_type="LogAppendTime")
        for _ in range(2):
            broker.advance(day_ms)
        produce(client, "orders", batch_of(1))
        reached_ms = broker.server.clock.wall_ms()
        if is_killed:
            shutil.copytree(restarts.path, left)
    later = Restarts(left) if is_killed else restarts
    clock = VirtualClock()
    assert clock.wall_ms() < reached_ms
    with later.broker(clock=clock) as broker:
        assert clock.wall_ms() == reached_ms
        broker.advance(day_ms)
    (later.path / "virtual-date").write_bytes(b"nonsense")
    clock = VirtualClock(wall_ms=reached_ms + 5)
    with later.broker(clock=clock):
        assert clock.wall_ms() == reached_ms + 5


def test_logs_are_looked_after_however_long_their_recovery_took(
    restarts: Restarts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was due meanwhile is done when the broker serves."""
    clock = VirtualClock()
    with restarts.broker(clock=clock) as broker, Client(broker.bootstrap) as client:
        for name in ("orders", "prices"):
            create(
                client, name, cleanup_policy="compact", internal_segment_bytes="500", min_cleanable_dirty_ratio="0.01"
            )
            for number in range(4):
                produce(client, name, batch([(b"key", b"%d" % number * 300)]))
    open_log = ClusterStore.open_log
    timers: list[Timer] = []
    make = assembly.assemble

    def assemble(*parts: Any, **options: Any) -> assembly.Assembly:
        made = make(*parts, **options)
        timers.append(made.timer)
        return made

    def open_slowly(store: ClusterStore, *log: Any) -> Any:
        clock.move_to(clock.now_ms() + 60_000)
        timers[-1].fire_due()
        return open_log(store, *log)

    monkeypatch.setattr(server, "assemble", assemble)

    monkeypatch.setattr(ClusterStore, "open_log", open_slowly)
    with restarts.broker(clock=clock) as broker, Client(broker.bootstrap):
        broker.advance(60_000)
        assert {event["topic"] for event in broker.log.named("log.cleaned")} == {"orders", "prices"}


def test_reassigned_partitions_stay_where_they_are(restarts: Restarts) -> None:
    """With what was appended before and after; what waits for a node that is down is complete, for all are up then."""
    asked = AlterPartitionReassignmentsRequest

    def reassign(client: Client, index: int, *replicas: int) -> None:
        topic = asked.ReassignableTopic("orders", [asked.ReassignablePartition(index, list(replicas))])
        (answer,) = client.ask(asked(1000, True, [topic]), 1).responses
        assert answer.partitions[0].error_code == 0

    def replicas(broker: RunningBroker) -> list[list[int]]:
        return [placement.replicas for placement in broker.server.cluster.topics["orders"].placements]

    with restarts.broker(nodes=3) as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 2)
        produce(client, "orders", batch_of(5))
        reassign(client, 0, 2, 1)
        broker.run(broker.controlled.nodes.stop(3))
        reassign(client, 1, 3)
        assert replicas(broker) == [[2, 1], [3, 2]]
    with restarts.broker(nodes=3) as broker, Client(broker.bootstrap_on(2, "PLAINTEXT")) as client:
        assert replicas(broker) == [[2, 1], [3]]
        assert fetch(client, "orders", 0).high_watermark == 5


def test_features_keep_their_levels(restarts: Restarts) -> None:
    asked = UpdateFeaturesRequest
    lower = asked(1000, [asked.FeatureUpdateKey("transaction.version", 1, upgrade_type=2)])

    def level(client: Client) -> int:
        found = client.ask(ApiVersionsRequest("test", "1"), 4).finalized_features
        (highest,) = [feature.max_version_level for feature in found if feature.name == "transaction.version"]
        return int(highest)

    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert level(client) == 2
        assert client.ask(lower, 2).error_code == 0
        assert level(client) == 1
    with restarts.broker() as broker, Client(broker.bootstrap) as client:
        assert level(client) == 1
