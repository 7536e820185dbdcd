"""What those beside the producers may do: read, commit without a transaction, delete, write markers, ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ottla.conformance.cast import Member
from ottla.conformance.partitions import fetch
from ottla.conformance.producer import Producer
from ottla.conformance.walks.steps import INTERNAL
from ottla.conformance.walks.walk import EPOCHS, Walk
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

_STATES: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareEpochFence", "Dead", "nonsense", "")


def read(walk: Walk, producer: Producer) -> None:
    """Fetch, from anywhere, with either isolation."""
    topic, count = walk.pick(walk.topics)
    offsets = [walk.mostly(walk.rng.randrange(12), (0, -1, 100), usually=0.7) for _ in range(count)]
    limit = walk.mostly(1 << 20, (0, 1, 100, 200), usually=0.7)
    request = fetch(topic, *offsets, isolation_level=walk.mostly(1, (0, 2, -1), usually=0.7), partition_max_bytes=limit)
    producer.actor.ask(request, walk.pick(range(4, 19)))


def find_offsets(walk: Walk, producer: Producer) -> None:
    """ListOffsets by all kinds of timestamps."""
    asked = []
    for _ in range(walk.pick((1, 1, 2))):
        topic, index = walk.topic()
        timestamp = walk.pick((-1, -2, -3, -4, -5, -6, -7, 0, 1_700_000_000_000, 1_700_000_000_001, 2**62))
        partition = ListOffsetsRequest.ListOffsetsPartition(index, timestamp=timestamp)
        asked.append(ListOffsetsRequest.ListOffsetsTopic(topic.name, [partition]))
    request = ListOffsetsRequest(-1, walk.pick((0, 1, 1, 2)), asked, 1_000)
    producer.actor.ask(request, walk.pick(range(2, 12)))


def commit_plainly(walk: Walk, producer: Producer) -> None:
    """OffsetCommit, of a partition that may have one pending."""
    topic, index = walk.topic()
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        index, walk.rng.randrange(100), committed_metadata=walk.mostly("p", [None, "", "m" * 65], usually=0.9)
    )
    listed = OffsetCommitRequest.OffsetCommitRequestTopic(topic.name, topic.topic_id, [partition])
    said: dict[str, Any] = {}
    if walk.chance(0.4):
        said = {
            "member_id": walk.member.member_id,
            "generation_id_or_member_epoch": walk.mostly(walk.member.generation_id, (-1, 5), usually=0.9),
        }
    request = OffsetCommitRequest(walk.group(), **said, topics=[listed])
    producer.actor.ask(request, walk.pick(range(2, 11)))


def read_offsets(walk: Walk, producer: Producer) -> None:
    """OffsetFetch: of all topics, of some, of none; with and without those pending."""
    topic, index = walk.topic()
    group, version = walk.group(), walk.pick(range(1, 11))
    named = [OffsetFetchRequest.OffsetFetchRequestTopic(topic.name, [index, 0, 0])]
    listed = [OffsetFetchRequest.OffsetFetchRequestTopics(topic.name, topic.topic_id, [index, 0, 0])]
    of_all = version >= 2 and walk.chance(0.4)
    of_group = OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=None if of_all else listed)
    request = OffsetFetchRequest(group, None if of_all else named, [of_group], walk.chance(0.5) and version >= 7)
    producer.actor.ask(request, version)


def delete_offsets(walk: Walk, producer: Producer) -> None:
    topic, index = walk.topic()
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(index)
    topics = [OffsetDeleteRequest.OffsetDeleteRequestTopic(topic.name, [partition])]
    producer.actor.ask(OffsetDeleteRequest(walk.group(), topics), 0)


def delete_group(walk: Walk, producer: Producer) -> None:
    producer.actor.ask(DeleteGroupsRequest([walk.group()]), walk.pick(range(3)))


def leave_group(walk: Walk, producer: Producer) -> None:
    if walk.member.member_id:
        walk.member.actor.client.send(walk.member.leave(), 3)


def join_group(walk: Walk, producer: Producer) -> None:
    """Somebody else wants to be a member, and waits: the group rebalances if it has members."""
    newcomer = Member(walk.scene, walk.groups[1], "newcomer")
    newcomer.join_quietly()


def delete_topic(walk: Walk, producer: Producer) -> None:
    """In the midst of whatever there is on it; and wait until nobody leads it, and no group has offsets of it."""
    topic, count = walk.pick(walk.topics)
    walk.scene.delete_topic(topic.name)
    partitions = [ListOffsetsRequest.ListOffsetsPartition(index, timestamp=-1) for index in range(count)]
    ends = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(topic.name, partitions)])
    listed = OffsetFetchRequest.OffsetFetchRequestTopics(topic.name, partition_indexes=list(range(count)))
    groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=[listed]) for group in walk.groups]

    def forgotten() -> bool:
        answer = walk.scene.stagehand.ask(OffsetFetchRequest(groups=groups, require_stable=True), 8)
        return all(
            partition.committed_offset == -1 and not partition.error_code
            for group in answer.groups
            for listed in group.topics
            for partition in listed.partitions
        )

    def abandoned() -> bool:
        (answered,) = walk.scene.stagehand.ask(ends, 5).topics
        return all(partition.error_code for partition in answered.partitions)

    walk.scene.until(abandoned, what="nobody leads the topic")
    walk.scene.until(forgotten, what="no group has offsets of the topic")


def delete_records(walk: Walk, producer: Producer) -> None:
    """Up to anywhere: into the midst of an open transaction, past the end."""
    topic, index = walk.topic()
    partition = DeleteRecordsRequest.DeleteRecordsPartition(index, walk.mostly(walk.rng.randrange(10), (-1, -2, 99)))
    listed = DeleteRecordsRequest.DeleteRecordsTopic(topic.name, [partition])
    producer.actor.ask(DeleteRecordsRequest([listed], 5_000), walk.pick(range(3)))


def write_markers(walk: Walk, producer: Producer) -> None:
    """As Kafka's tool does, rightly and wrongly: of a producer that writes, and of one that never did."""
    markers = []
    count = walk.pick((1, 1, 1, 2))
    for _ in range(count):
        producer_id, epoch = walk.mostly(
            (producer.producer_id, producer.producer_epoch), [(walk.stranger, 0), (-1, -1)]
        )
        epoch = max(epoch, 0)
        coordinator_epoch = walk.mostly(0, (-1,), usually=0.95)
        # A real producer's never says more than its coordinator: that could not end its transaction any more.
        if producer_id == walk.stranger:
            epoch, coordinator_epoch = walk.pick(EPOCHS), walk.mostly(0, (-1, 1, 2**31 - 1), usually=0.8)
        elif walk.chance(0.2):
            epoch = max(0, epoch - 1)
        # Kafka never answers a marker that names a partition twice, nor one with nowhere to go after one that has.
        topics = {}
        for _ in range(walk.pick((1, 1, 2))):
            topic, index = walk.topic(absent=0.05 if count == 1 else 0)
            name = walk.mostly(topic.name, INTERNAL, usually=0.9)
            topics[name] = WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, [index])
        markers.append(
            WriteTxnMarkersRequest.WritableTxnMarker(
                producer_id,
                epoch,
                walk.chance(0.5),
                list(topics.values()),
                coordinator_epoch,
                walk.mostly(0, (1, 2), usually=0.6),
            )
        )
    producer.actor.ask(WriteTxnMarkersRequest(markers), walk.pick((1, 2)))


def ask_for_transactions(walk: Walk, producer: Producer) -> None:
    """DescribeTransactions and ListTransactions, with names and filters of all kinds."""
    names = [walk.mostly(producer.transactional_id, ["", "nobody's"]) for _ in range(walk.pick((0, 1, 2, 3)))]
    producer.actor.ask(DescribeTransactionsRequest(names), 0)
    states = [walk.pick(_STATES) for _ in range(walk.pick((0, 1, 2)))]
    ids = [walk.mostly(producer.producer_id, (walk.stranger, -1)) for _ in range(walk.pick((0, 1, 2)))]
    version = walk.pick((0, 1))
    request = ListTransactionsRequest(states, ids, walk.pick((-1, -5, 3_600_000)) if version else -1)

    def ours(answer: Any) -> list[Any]:
        answer.transaction_states = sorted(
            (one for one in answer.transaction_states if one.transactional_id in walk.transactional_ids),
            key=lambda one: one.transactional_id,
        )
        return [answer]

    producer.actor.ask_and_keep(request, ours, version)


def ask_for_producers(walk: Walk, producer: Producer) -> None:
    """DescribeProducers of what is not there, of what is there twice."""
    topic, index = walk.topic(absent=0.5)
    asked = [DescribeProducersRequest.TopicRequest(walk.mostly(topic.name, ["", "a b"]), [index, 7, -1])]
    producer.actor.ask(DescribeProducersRequest(asked), 0)


def ask_for_the_coordinator(walk: Walk, producer: Producer) -> None:
    key = walk.mostly(producer.transactional_id, ["", "nobody's"])
    version = walk.pick(range(1, 7))
    request = FindCoordinatorRequest(key, walk.mostly(1, (0, 3, -1)), [key, key] if walk.chance(0.5) else [key])
    producer.actor.ask(request, version)


STEPS: Final[Mapping[Callable[[Walk, Producer], None], int]] = {
    read: 8,
    find_offsets: 4,
    commit_plainly: 3,
    read_offsets: 3,
    delete_offsets: 1,
    delete_group: 2,
    leave_group: 1,
    join_group: 1,
    delete_topic: 1,
    delete_records: 3,
    write_markers: 4,
    ask_for_transactions: 2,
    ask_for_producers: 1,
    ask_for_the_coordinator: 1,
}
