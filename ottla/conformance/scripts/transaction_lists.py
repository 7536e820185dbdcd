"""What is listed more than once in requests about transactions: ids, topics, partitions."""

from __future__ import annotations

from itertools import product

from ottla.conformance.batches import batch
from ottla.conformance.partitions import new_topic
from ottla.conformance.producer import TRANSACTIONAL, Producer
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.conformance.scripts.transactions import offsets_shown
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

_Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic


@script(versions=(4, 5))
def one_transactional_id_twice(scene: Scene, version: int) -> None:
    """Added or only asked for, with other partitions each time, also of a topic that there is not, by whom not."""
    first, second = new_topic(scene, partitions=2).name, new_topic(scene).name
    absent = scene.name("absent")
    for verifies, others in product(((False, False), (False, True), (True, False), (True, True)), (second, absent)):
        ana = Producer(scene).begin()
        asked = [
            _Transaction(ana.transactional_id, ana.producer_id, ana.producer_epoch, verify, listed)
            for verify, listed in zip(verifies, ([_Topic(first, [1, 0])], [_Topic(others, [0])]), strict=True)
        ]
        ana.actor.ask(AddPartitionsToTxnRequest(asked))
        ana.actor.ask(AddPartitionsToTxnRequest(asked[::-1]))
        asked[1].producer_epoch = 7
        ana.actor.ask(AddPartitionsToTxnRequest(asked))
        ana.actor.ask(DescribeTransactionsRequest([ana.transactional_id]), 0)


@script(versions=every("Produce"))
def one_partition_twice(scene: Scene, version: int) -> None:
    """A batch that the transaction may refuse, before and behind one that is none."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    for is_added, is_behind in product((False, True), repeat=2):
        if is_added:
            ana.actor.quietly(ana.add((topic.name, 0)), 3)
        good = batch(
            attributes=TRANSACTIONAL,
            producer_id=ana.producer_id,
            producer_epoch=ana.producer_epoch,
            base_sequence=int(is_behind),
        )
        batches = [b"", good] if is_behind else [good, b""]
        data = [ProduceRequest.PartitionProduceData(0, records) for records in batches]
        listed = [ProduceRequest.TopicProduceData(topic.name, topic.topic_id, data)]
        ana.actor.ask(ProduceRequest(ana.transactional_id, -1, 5_000, listed))
    ana.actor.ask(DescribeTransactionsRequest([ana.transactional_id]), 0)


@script(versions=every("TxnOffsetCommit"))
def one_offset_twice(scene: Scene, version: int) -> None:
    """Of one topic, and of one that is listed twice; beside what is refused."""
    topic = new_topic(scene, partitions=2)
    group = scene.name("group")
    ana = Producer(scene).begin()
    ana.actor.quietly(ana.add_offsets(group), 3)

    def listed(*offsets: tuple[int, int]) -> TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic:
        partitions = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(index, at) for index, at in offsets]
        return TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(topic.name, topic.topic_id, partitions)

    for topics in (
        [listed((0, 1), (0, 2))],
        [listed((0, 3), (1, 1)), listed((0, 4))],
        [listed((0, 5), (7, 1), (7, 2)), listed((7, 3), (0, 6))],
    ):
        request = ana.commit_offsets(group, topic)
        request.topics = topics
        ana.actor.ask(request)
    ana.ends(commit=True)
    offsets_shown(ana, group, topic)
