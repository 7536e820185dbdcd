"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords: where a log begins and ends."""

from __future__ import annotations

from ottla.conformance.batches import TIMESTAMP, batch, record, stored
from ottla.conformance.partitions import fetch, fill, new_topic
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

GZIP = 1


def _list(topic: str, *timestamps: int, isolation_level: int = 0, epoch: int = -1) -> ListOffsetsRequest:
    """Each timestamp for the partition at its position."""
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        timeout_ms=1_000,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsRequest.ListOffsetsPartition(
                        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch
                    )
                    for index, timestamp in enumerate(timestamps)
                ],
            )
        ],
    )


@script(versions=every("ListOffsets"))
def list_offsets(scene: Scene, version: int) -> None:
    """The end, the start, the largest timestamp, the special ones, and the first record not before a time."""
    topic, empty = new_topic(scene), new_topic(scene, "empty")
    fill(scene, topic, batch(base_timestamp=TIMESTAMP))
    three = ((b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
    fill(scene, topic, batch(three, timestamps=[TIMESTAMP + 10, TIMESTAMP + 30, TIMESTAMP + 20]))
    fill(scene, topic, batch(base_timestamp=TIMESTAMP + 30))
    ana = scene.actor()
    for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, *(TIMESTAMP + ms for ms in (0, 1, 10, 15, 25, 30, 31))):
        ana.ask(_list(topic.name, timestamp))
    for timestamp in (-1, -2, -3, 0):
        ana.ask(_list(empty.name, timestamp))
    if version >= 2:
        ana.ask(_list(topic.name, -1, isolation_level=1))
        ana.ask(_list(topic.name, TIMESTAMP + 20, isolation_level=1))


@script(versions=every("ListOffsets"))
def list_offsets_wrongly(scene: Scene, version: int) -> None:
    """Unknown partitions, one listed twice, an epoch that isn't."""
    topic = new_topic(scene)
    ana = scene.actor()
    ana.ask(_list(scene.name("absent"), -1))
    ana.ask(_list(topic.name, -1, -1))
    twice = _list(topic.name, -1, -2)
    twice.topics[0].partitions[1].partition_index = 0
    ana.ask(twice)
    if version >= 4:
        for epoch in (0, 3, -2):
            ana.ask(_list(topic.name, -1, epoch=epoch))
    ana.ask(ListOffsetsRequest(replica_id=-1, topics=[], timeout_ms=1_000))


@script(versions=every("ListOffsets"))
def list_offsets_of_appended_time(scene: Scene, version: int) -> None:
    """With the broker's time all records of a batch have the batch's."""
    topic = new_topic(scene, configs={"message.timestamp.type": "LogAppendTime"})
    fill(scene, topic, batch(((b"a", b"1"), (b"b", b"2"))))
    ana = scene.actor()
    for timestamp in (-3, TIMESTAMP, 0):
        ana.ask(_list(topic.name, timestamp))


@script(versions=every("ListOffsets"))
def list_offsets_above_the_limit_of_a_record(scene: Scene, version: int) -> None:
    """A max.decompressed.message.bytes that was lowered later: no look into compressed records that are larger."""
    plain, packed = new_topic(scene, "plain"), new_topic(scene, "packed")
    fill(scene, plain, batch(((b"a", b"1" * 200),)))
    fill(scene, packed, batch(payload=stored(GZIP, record(b"a", b"1" * 200)), attributes=GZIP))
    ana = scene.actor()
    for topic in (plain, packed):
        ana.ask(_list(topic.name, TIMESTAMP))
        changes = [IncrementalAlterConfigsRequest.AlterableConfig("max.decompressed.message.bytes", value="100")]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(2, topic.name, changes)
        ana.ask(IncrementalAlterConfigsRequest([resource]), 1)
    scene.until_settled()
    for topic in (plain, packed):
        for timestamp in (TIMESTAMP, TIMESTAMP + 1, -1, -2, -3):
            ana.ask(_list(topic.name, timestamp))


@script(versions=every("OffsetForLeaderEpoch"))
def epoch_end_offsets(scene: Scene, version: int) -> None:
    """The current epoch ends at the log's end; a later one is unknown; a wrong current epoch is told."""
    topic = new_topic(scene)
    fill(scene, topic, batch(), batch())
    ana = scene.actor()

    def ask(name: str, *pairs: tuple[int, int]) -> None:
        ana.ask(
            OffsetForLeaderEpochRequest(
                replica_id=-1,
                topics=[
                    OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                        topic=name,
                        partitions=[
                            OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                                partition=index, current_leader_epoch=current, leader_epoch=epoch
                            )
                            for index, (current, epoch) in enumerate(pairs)
                        ],
                    )
                ],
            )
        )

    for current, epoch in ((-1, 0), (0, 0), (-1, 5), (-1, -1), (3, 0), (-2, 0)):
        ask(topic.name, (current, epoch))
    ask(topic.name, (-1, 0), (-1, 0))
    ask(scene.name("absent"), (-1, 0))
    ask(new_topic(scene, "empty").name, (-1, 0))


@script(versions=every("DeleteRecords"))
def delete_records(scene: Scene, version: int) -> None:
    """The start moves up, never down; -1 empties the log; beyond the end and below -1 are out of range."""
    topic, compacted = new_topic(scene), new_topic(scene, "compacted", configs={"cleanup.policy": "compact"})
    both = new_topic(scene, "both", configs={"cleanup.policy": "compact,delete"})
    for name in (topic, compacted, both):
        fill(scene, name, *[batch() for _ in range(6)], batch(((b"a", b"1"), (b"b", b"2"))))
    ana = scene.actor()

    def ask(name: str, *offsets: int, timeout_ms: int = 5_000) -> None:
        ana.ask(
            DeleteRecordsRequest(
                timeout_ms=timeout_ms,
                topics=[
                    DeleteRecordsRequest.DeleteRecordsTopic(
                        name=name,
                        partitions=[
                            DeleteRecordsRequest.DeleteRecordsPartition(partition_index=index, offset=offset)
                            for index, offset in enumerate(offsets)
                        ],
                    )
                ],
            )
        )

    for offset in (5, 3, 999, -2, 7):
        ask(topic.name, offset)
    ana.ask(fetch(topic, 6), 11)
    ana.ask(fetch(topic, 7), 11)
    ana.ask(_list(topic.name, -2), 5)
    ask(topic.name, -1)
    ana.ask(fetch(topic, 8), 11)
    ask(topic.name, 8, 8)
    ask(compacted.name, 3)
    ask(both.name, 3)
    ask(scene.name("absent"), 0)
    ask("__consumer_offsets", 0)
    ask(both.name, 4, timeout_ms=0)
