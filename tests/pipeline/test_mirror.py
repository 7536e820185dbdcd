"""`ottla pipeline mirror` between live brokers: two Ottlas, and out into a real Kafka and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow
import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
)
from pyspark.errors import PySparkException

from ottla.pipeline.address import ClusterAddress
from ottla.pipeline.cluster import KafkaCluster
from ottla.pipeline.jobs.mirror import without_mirrored
from ottla.pipeline.source_header import SOURCE_HEADER
from tests.cli.terminal import until
from tests.pipeline.conftest import BROKER_SETTINGS, Pipeline
from tests.pipeline.topics import LATE_MS, ODD_RECORDS, Header, Sent, make_topic, plain_records, read, send
from tests.support.kafka_process import kafka, missing_tools
from tests.support.ottla_process import ottla

NO_KAFKA = missing_tools()
SECONDS_MAX = 20.0


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """Another broker, which looks for something to compact all the time."""
    with ottla({**BROKER_SETTINGS, "log.cleaner.backoff.ms": "100"}) as broker:
        yield broker.bootstrap


def commit(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    positions = [TopicPartition(topic, number, offset, metadata="md") for number, offset in offsets.items()]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, positions)])[group].result()


def committed(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result()
    return {(at.topic, at.partition): at.offset for at in answer.topic_partitions}


def log_offsets(bootstrap: str, topic: str, number: int = 0) -> list[int]:
    """The offsets that have a record, for who reads what is committed."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0)])
    offsets: list[int] = []
    while True:
        message: Any = consumer.poll(SECONDS_MAX)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF
            consumer.close()
            return offsets
        offsets.append(message.offset())


def plain(records: list[list[Sent]]) -> list[list[Sent]]:
    """The records without the mirror's header, of which each has one."""
    stripped = []
    for partition in records:
        for record in partition:
            assert [name for name, _ in record.headers].count(SOURCE_HEADER) == 1
        stripped.append([Sent(r.partition, r.key, r.value, r.timestamp_ms, _others(r)) for r in partition])
    return stripped


def _others(record: Sent) -> tuple[Header, ...]:
    return tuple(header for header in record.headers if header[0] != SOURCE_HEADER)


def by_partition(records: list[Sent], partitions: int) -> list[list[Sent]]:
    return [[record for record in records if record.partition == number] for number in range(partitions)]


def mirror(pipeline: Pipeline, source: str, target: str, topic: str, *arguments: str) -> Any:
    """Run it; returns what it says with --json, with the one topic's line as `topic`."""
    said = pipeline(
        "mirror", "--json", "--source", source, "--target", target, "--topic", topic, *arguments
    ).json  # fmt: skip
    said["topic"] = said["topics"][0]
    return said


def test_takes_records_and_groups_along_and_goes_on(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """A log whose beginning is deleted, odd records, groups before, within and at the end. Later the source has more
    records and a partition more; of groups only those move that are behind, and have no members."""
    topic = "mirror-orders"
    admin = make_topic(bootstrap, topic, 2)
    deleted = plain_records(8, 2)
    send(bootstrap, topic, deleted)
    admin.delete_records([TopicPartition(topic, 0, 4)])[TopicPartition(topic, 0)].result()
    send(bootstrap, topic, ODD_RECORDS)
    kept = by_partition([record for record in deleted if record.partition == 1] + list(ODD_RECORDS), 2)
    commit(bootstrap, "mirror-within", topic, {0: 5, 1: 3})
    commit(bootstrap, "mirror-old", topic, {0: 2})
    commit(bootstrap, "mirror-end", topic, {0: 7, 1: 7})
    commit(bootstrap, "mirror-other", topic, {0: 5})
    chosen = [word for name in ("within", "old", "end") for word in ("--group", f"mirror-{name}")]

    said = mirror(pipeline, bootstrap, elsewhere, topic, *chosen)

    assert plain(read(elsewhere, topic, [3, 7])) == kept
    assert (said["rows"], said["topic"]["sent"], said["topic"]["equal"], said["partitions"]) == (10, 10, 10, 2)
    assert committed(elsewhere, "mirror-within") == {(topic, 0): 1, (topic, 1): 3}
    assert committed(elsewhere, "mirror-old") == {(topic, 0): 0}
    assert committed(elsewhere, "mirror-end") == {(topic, 0): 3, (topic, 1): 7}
    assert committed(elsewhere, "mirror-other") == {}
    assert (said["groups"], said["offsets_written"], said["offsets_kept"], said["left"]) == (3, 5, 0, [])

    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    more = [Sent(0, b"k", b"more", LATE_MS), Sent(2, b"k", b"new", LATE_MS)]
    send(bootstrap, topic, more)
    commit(bootstrap, "mirror-within", topic, {0: 8, 1: 2})
    commit(bootstrap, "mirror-old", topic, {0: 8})
    member = Consumer({"bootstrap.servers": elsewhere, "group.id": "mirror-old", "enable.auto.commit": False})
    member.subscribe([topic])
    until(lambda: member.poll(0.1) is not None or bool(member.assignment()), "the group has a member")

    said = mirror(pipeline, bootstrap, elsewhere, topic, *chosen)

    member.close()
    assert plain(read(elsewhere, topic, [4, 7, 1])) == [[*kept[0], more[0]], kept[1], [more[1]]]
    assert (said["rows"], said["topic"]["equal"]) == (2, 12)
    assert committed(elsewhere, "mirror-within") == {(topic, 0): 4, (topic, 1): 3}
    assert committed(elsewhere, "mirror-old") == {(topic, 0): 0}
    assert said["left"] == [{"group_id": "mirror-old", "reason": "it has members there"}]
    assert (said["offsets_written"], said["offsets_kept"]) == (1, 3)


def test_a_compacted_topic(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """Offsets have gaps at the source and none at the target; a group in a gap is at the next record."""
    topic = "mirror-compacted"
    make_topic(elsewhere, topic, 1, cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_ms="1")
    for round_number, keys in enumerate((b"01234", b"1234", b"234", b"5")):
        at_ms = LATE_MS + round_number * 1000
        send(elsewhere, topic, [Sent(0, bytes([key]), b"%d" % round_number, at_ms) for key in keys])
    until(lambda: log_offsets(elsewhere, topic) == [0, 5, 9, 10, 11, 12], "what is old is gone")
    for offset in range(14):
        commit(elsewhere, f"mirror-gap-{offset}", topic, {0: offset})

    said = mirror(pipeline, elsewhere, bootstrap, topic)

    assert (said["topic"]["sent"], said["topic"]["equal"]) == (6, 6)
    assert b"".join(record.key or b"" for record in read(bootstrap, topic, [6])[0]) == b"012345"
    first_at_or_beyond = [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6]
    for offset, translated in enumerate(first_at_or_beyond):
        assert committed(bootstrap, f"mirror-gap-{offset}") == {(topic, 0): translated}
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    settings = admin.describe_configs([resource])[resource].result()
    assert settings["cleanup.policy"].value == "compact"


def test_goes_on_where_it_failed(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """In the middle of one partition is a record too large for the target: what is there is a beginning, without a
    gap, and when the target has been told to take it the rest comes behind, each record once."""
    topic = "mirror-large"
    make_topic(bootstrap, topic, 2, max_message_bytes="3000000")
    small = [Sent(number % 2, None, b"%04d" % number + bytes(2000), LATE_MS) for number in range(2000)]
    records = [*small[:1500], Sent(0, b"large", bytes(1_500_000), LATE_MS), *small[1500:]]
    send(bootstrap, topic, records)
    admin = make_topic(elsewhere, topic, 2, max_message_bytes="1100000")

    with pytest.raises(PySparkException, match="too large"):
        mirror(pipeline, bootstrap, elsewhere, topic, "--no-groups")

    ends = [len(log_offsets(elsewhere, topic, number)) for number in range(2)]
    assert ends[0] <= 750
    kept = by_partition(records, 2)
    assert plain(read(elsewhere, topic, ends)) == [kept[0][: ends[0]], kept[1][: ends[1]]]
    entry = ConfigEntry("max.message.bytes", "3000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result()

    said = mirror(pipeline, bootstrap, elsewhere, topic, "--no-groups")

    assert (said["rows"], said["topic"]["equal"]) == (2001 - sum(ends), 2001)
    assert plain(read(elsewhere, topic, [1001, 1000])) == kept
    assert (said["groups"], said["offsets_written"]) == (0, 0)


def test_a_task_that_begins_again(bootstrap: str, elsewhere: str) -> None:
    """It leaves out what the one before it has sent."""
    topic = "mirror-again"
    make_topic(bootstrap, topic, 2)
    topic_id = KafkaCluster(ClusterAddress(bootstrap), SECONDS_MAX).topic_ids([topic])[topic]
    make_topic(elsewhere, topic, 2)
    send(elsewhere, topic, [Sent(0, None, b"v", LATE_MS, ((SOURCE_HEADER, f"{topic_id}:7".encode()),))])
    batch = pyarrow.RecordBatch.from_pydict({"partition": [0, 0, 0, 1], "position": [6, 7, 9, 0]})
    rest = list(without_mirrored([batch], KafkaCluster(ClusterAddress(elsewhere), SECONDS_MAX), topic, topic_id))
    assert [piece.to_pydict() for piece in rest] == [{"partition": [0, 1], "position": [9, 0]}]


def test_refusals(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """What can't be mirrored is said before Spark starts, and nothing is made at the target."""
    make_topic(bootstrap, "mirror-refused", 2)
    words = ("mirror", "--source", bootstrap, "--target")

    def refused(*arguments: str) -> tuple[int, str]:
        ended = pipeline(*words, *arguments)
        return ended.exit_code, ended.stderr.removeprefix("ottla: ").rstrip("\n")

    code, line = refused(bootstrap)
    assert (code, line.split(", ")[0]) == (2, f"{bootstrap} and {bootstrap} are one cluster")
    assert refused(elsewhere, "--topic", "__consumer_offsets")[0] == 2
    assert refused(elsewhere, "--topic", "mirror-no-such") == (
        1,
        f"{bootstrap} has no topic mirror-no-such; `ottla topics` lists those there are",
    )
    admin = make_topic(elsewhere, "mirror-refused", 3)
    assert refused(elsewhere, "--topic", "mirror-refused") == (
        1,
        f"mirror-refused has 3 partitions at {elsewhere}, and only 2 at the source; "
        "partitions can't be taken away, so delete the topic there, or add partitions here",
    )
    admin.delete_topics(["mirror-refused"])["mirror-refused"].result()
    admin = make_topic(elsewhere, "mirror-refused", 2, message_timestamp_type="LogAppendTime")
    assert refused(elsewhere, "--topic", "mirror-refused")[0] == 1
    admin.delete_topics(["mirror-refused"])["mirror-refused"].result()
    make_topic(elsewhere, "mirror-refused", 2)
    send(elsewhere, "mirror-refused", [Sent(1, None, b"somebody's", LATE_MS)])
    assert refused(elsewhere, "--topic", "mirror-refused") == (
        1,
        f"partition 1 of mirror-refused at {elsewhere} has records that are not from this source; "
        "a mirror goes on only behind its own, so delete the topic there, or leave it out",
    )


def test_a_mirror_that_was_tampered_with(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """The last record is the mirror's, but one before it is missing: it is said, and no group is touched."""
    topic = "mirror-tampered"
    make_topic(bootstrap, topic, 1)
    send(bootstrap, topic, plain_records(3, 1))
    commit(bootstrap, "mirror-deceived", topic, {0: 3})
    topic_id = KafkaCluster(ClusterAddress(bootstrap), SECONDS_MAX).topic_ids([topic])[topic]
    make_topic(elsewhere, topic, 1)
    for record, offset in zip(plain_records(3, 1), (0, 1, 2), strict=True):
        if offset != 1:
            header = (SOURCE_HEADER, f"{topic_id}:{offset}".encode())
            send(elsewhere, topic, [Sent(0, record.key, record.value, record.timestamp_ms, (header,))])
    ended = pipeline(
        "mirror", "--source", bootstrap, "--target", elsewhere, "--topic", topic, "--group", "mirror-deceived"
    )
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1] == (
        f"ottla: partition 0 of {topic} is not the same at {elsewhere}: 1 missing; "
        "no group was touched; delete the topic there and mirror it again"
    )
    assert committed(elsewhere, "mirror-deceived") == {}


@pytest.mark.skipif(NO_KAFKA is not None, reason=str(NO_KAFKA))
def test_into_a_real_kafka_and_back(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """Out of the stand-in with records and groups; there, transactions write on, one of them in vain, and a group works
    on; back in a stand-in it has what was committed, at offsets without the gaps that markers leave."""
    topic = "mirror-outgrown"
    make_topic(bootstrap, topic, 2)
    send(bootstrap, topic, ODD_RECORDS)
    commit(bootstrap, "mirror-kitchen", topic, {0: 2, 1: 3})
    with kafka() as real:
        said = mirror(pipeline, bootstrap, real.bootstrap, topic, "--group", "mirror-kitchen")
        assert (said["topic"]["sent"], said["topic"]["equal"], said["offsets_written"]) == (6, 6, 2)
        before = plain(read(real.bootstrap, topic, [3, 3]))
        assert before == by_partition(list(ODD_RECORDS), 2)
        assert committed(real.bootstrap, "mirror-kitchen") == {(topic, 0): 2, (topic, 1): 3}

        for name, is_committed in (("a", True), ("b", False), ("c", True)):
            transact(real.bootstrap, topic, name, is_committed=is_committed)
        assert log_offsets(real.bootstrap, topic) == [0, 1, 2, 3, 7]
        commit(real.bootstrap, "mirror-kitchen", topic, {0: 5})
        commit(real.bootstrap, "mirror-bar", topic, {0: 9, 1: 1})

        said = mirror(pipeline, real.bootstrap, elsewhere, topic)

    assert (said["topic"]["sent"], said["topic"]["equal"]) == (8, 8)
    back = plain(read(elsewhere, topic, [5, 3]))
    assert [records[:3] for records in back] == before
    assert [record.value for record in back[0][3:]] == [b"a", b"c"]
    assert committed(elsewhere, "mirror-kitchen") == {(topic, 0): 4, (topic, 1): 3}
    assert committed(elsewhere, "mirror-bar") == {(topic, 0): 5, (topic, 1): 1}


def transact(bootstrap: str, topic: str, name: str, *, is_committed: bool) -> None:
    """A transaction of one record in partition 0, and its marker."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"mirror-{name}"})
    producer.init_transactions(SECONDS_MAX)
    producer.begin_transaction()
    producer.produce(topic, name.encode(), partition=0)
    producer.flush(SECONDS_MAX)
    if is_committed:
        producer.commit_transaction(SECONDS_MAX)
    else:
        producer.abort_transaction(SECONDS_MAX)
