"""A transactional producer for scripts, and a look at what everybody sees of its transaction."""

from __future__ import annotations

from typing import Any, Final

from ottla.conformance.batches import batch
from ottla.conformance.partitions import Topic, fetch, produce
from ottla.conformance.scene import Scene
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import Message

TIMEOUT_MS: Final = 60_000
TRANSACTIONAL: Final = 0x10

#: Versions for what is not recorded: the last that clients of before KIP-890 use.
_INIT, _END = 4, 4


class Producer:
    """A transactional producer: its requests carry the id and epoch it was given, unless told otherwise."""

    def __init__(self, scene: Scene, transactional_id: str | None = None, name: str = "ana") -> None:
        self.scene = scene
        self.actor = scene.actor(name)
        self.transactional_id = scene.name("tx") if transactional_id is None else transactional_id
        self.producer_id = self.producer_epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    def begin(self) -> Producer:
        """Have an id and an epoch, unrecorded; if a transaction is open, when it is aborted."""

        def begun() -> bool:
            answer = self.actor.quietly(self.init(), _INIT)
            self.learn(answer)
            return bool(answer.error_code == 0)

        self.scene.until(begun, what="the producer has an id")
        return self

    def learn(self, answer: Any) -> Any:
        """Go on with what an InitProducerId or EndTxn gave."""
        if answer.error_code == 0 and answer.producer_id >= 0:
            if (answer.producer_id, answer.producer_epoch) != (self.producer_id, self.producer_epoch):
                self.sequences.clear()
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return answer

    def init(self, *, timeout_ms: int = TIMEOUT_MS, who: tuple[int, int] = (-1, -1)) -> InitProducerIdRequest:
        return InitProducerIdRequest(self.transactional_id, timeout_ms, *who)

    def add(self, *partitions: tuple[str, int], who: tuple[int, int] | None = None, verify: bool = False) -> Message:
        """For any version: v0–3 read the one transaction, v4 and later the list."""
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        listed = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, found) for name, found in topics.items()]
        of_producer = (self.transactional_id, *(who or (self.producer_id, self.producer_epoch)))
        only = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(*of_producer, verify, listed)
        return AddPartitionsToTxnRequest([only], *of_producer, listed)

    def add_offsets(self, group: str, who: tuple[int, int] | None = None) -> Message:
        return AddOffsetsToTxnRequest(self.transactional_id, *(who or (self.producer_id, self.producer_epoch)), group)

    def end(self, *, commit: bool, who: tuple[int, int] | None = None) -> Message:
        return EndTxnRequest(self.transactional_id, *(who or (self.producer_id, self.producer_epoch)), commit)

    def send(self, topic: Topic, *values: bytes, sequence: int | None = None, epoch: int | None = None) -> Message:
        """A batch for partition 0."""
        place = topic.name, 0
        first = self.sequences.get(place, 0) if sequence is None else sequence
        self.sequences[place] = first + len(values)
        records = [(b"k", value) for value in values]
        data = batch(
            records,
            attributes=TRANSACTIONAL,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch if epoch is None else epoch,
            base_sequence=first,
        )
        return produce(topic, data, transactional_id=self.transactional_id)

    def commit_offsets(
        self, group: str, topic: Topic, *offsets: int, who: tuple[int, int] | None = None, **fields: Any
    ) -> TxnOffsetCommitRequest:
        """Of partitions 0, 1, …; by name and by id."""
        partitions = [
            TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(index, offset, committed_metadata="m")
            for index, offset in enumerate(offsets)
        ]
        listed = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(topic.name, topic.topic_id, partitions)
        said: dict[str, Any] = {"generation_id_or_member_epoch": -1, "topics": [listed]} | fields
        producer_id, producer_epoch = who or (self.producer_id, self.producer_epoch)
        return TxnOffsetCommitRequest(
            self.transactional_id, group, producer_id=producer_id, producer_epoch=producer_epoch, **said
        )

    def settles(self) -> None:
        """Wait until no markers are on their way."""

        def settled() -> bool:
            request = DescribeTransactionsRequest([self.transactional_id])
            (state,) = self.scene.stagehand.ask(request, 0).transaction_states
            return not state.transaction_state.startswith("Prepare")

        self.scene.until(settled, what="all markers are written")

    def ends(self, *, commit: bool, version: int = _END) -> None:
        """Commit or abort, unrecorded, and wait until that is done."""
        answer = self.actor.quietly(self.end(commit=commit), version)
        assert answer.error_code == 0, answer
        self.learn(answer)
        self.settles()


def shown(scene: Scene, producer: Producer, *topics: Topic) -> None:
    """What everybody sees of it: the coordinator's words, and what both kinds of readers read."""
    producer.settles()
    producer.actor.ask(DescribeTransactionsRequest([producer.transactional_id]), 0)
    for topic in topics:
        for isolation_level in (0, 1):
            producer.actor.ask(fetch(topic, 0, isolation_level=isolation_level), 11)
            producer.actor.ask(_latest(topic, isolation_level), 5)
        asked = DescribeProducersRequest.TopicRequest(topic.name, [0])
        producer.actor.ask(DescribeProducersRequest([asked]), 0)


def _latest(topic: Topic, isolation_level: int) -> ListOffsetsRequest:
    partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=-1)
    return ListOffsetsRequest(-1, isolation_level, [ListOffsetsRequest.ListOffsetsTopic(topic.name, [partition])])
