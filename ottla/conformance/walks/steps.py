"""What a producer may do: begin, add, write, commit offsets, end; rightly for the most part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ottla.conformance.batches import batch
from ottla.conformance.producer import TIMEOUT_MS, TRANSACTIONAL, Producer
from ottla.conformance.walks.onlooker import SHORT_MS
from ottla.conformance.walks.walk import Walk, Who
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import Message

INTERNAL: Final = ("__consumer_offsets", "__transaction_state")


def begin(walk: Walk, producer: Producer) -> None:
    """InitProducerId: anew, or with what it has."""
    timeout_ms = walk.mostly(TIMEOUT_MS, [SHORT_MS, SHORT_MS, 0, -1, 900_000, 900_001], usually=0.85)
    transactional_id = walk.mostly(producer.transactional_id, [None, ""], usually=0.95)
    who = (-1, -1)
    version = walk.pick(range(6))
    if version >= 3 and walk.chance(0.6):
        who = walk.who(producer)
    answer = producer.actor.ask(InitProducerIdRequest(transactional_id, timeout_ms, *who), version)
    if transactional_id:
        producer.learn(answer)


def begin_until_done(walk: Walk, producer: Producer) -> None:
    """The same as a client does: again until nothing is under way."""
    producer.begin()


def _listed(walk: Walk, *, least: int = 1) -> list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]:
    """Some partitions, also twice, also of a topic that comes twice, also of one that is not there."""
    listed = []
    for _ in range(walk.pick((least, 1, 1, 2, 2, 3))):
        topic, index = walk.topic()
        name = walk.mostly(topic.name, ["", *INTERNAL, "a b"], usually=0.97)
        listed.append(
            AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
                name, walk.mostly([index], [[], [index, index], [0, 1]], usually=0.85)
            )
        )
    return listed


def add_partitions(walk: Walk, producer: Producer) -> None:
    who = walk.who(producer)
    listed = _listed(walk)
    request = AddPartitionsToTxnRequest([], producer.transactional_id, *who, listed)
    producer.actor.ask(request, walk.pick(range(4)))


def add_partitions_in_batches(walk: Walk, producer: Producer) -> None:
    """Of several producers in one request, and those only verified."""
    of = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
    asking = {one.transactional_id: one for one in walk.rng.sample(walk.producers, walk.pick((1, 1, 2)))}
    transactions = [of(name, *walk.who(one), walk.chance(0.5), _listed(walk, least=0)) for name, one in asking.items()]
    producer.actor.ask(AddPartitionsToTxnRequest(transactions), walk.pick((4, 5)))


def add_offsets(walk: Walk, producer: Producer) -> None:
    request = AddOffsetsToTxnRequest(producer.transactional_id, *walk.who(producer), walk.group_or_none())
    producer.actor.ask(request, walk.pick(range(5)))


def end(walk: Walk, producer: Producer) -> None:
    """EndTxn; now and then again, or the other way, before it is known what became of it."""
    commit, who = walk.chance(0.6), walk.who(producer)
    version = walk.version(producer, range(5), (5,))
    transactional_id = walk.mostly(producer.transactional_id, ["", "nobody's"], usually=0.97)
    answer = producer.actor.ask(EndTxnRequest(transactional_id, *who, commit), version)
    if walk.chance(0.8):
        producer.learn(answer)


def write(walk: Walk, producer: Producer) -> None:
    """Produce in a transaction: the next record, for the most part."""
    request, places = _batches(walk, producer, walk.who(producer), is_transactional=walk.chance(0.95))
    request.transactional_id = walk.mostly(producer.transactional_id, [None, "", "nobody's"], usually=0.95)
    _send(walk, producer, request, places)


def write_after_adding(walk: Walk, producer: Producer) -> None:
    """As clients do before KIP-890: AddPartitionsToTxn, then Produce."""
    topic, index = walk.topic(absent=0)
    producer.actor.ask(producer.add((topic.name, index)), 3)
    write(walk, producer)


def write_plainly(walk: Walk, producer: Producer) -> None:
    """Produce without a transaction: by the same producer, by one that has no transactional id, by nobody."""
    who = walk.pick([(producer.producer_id, producer.producer_epoch), (walk.stranger, 0), (walk.stranger, 1), (-1, -1)])
    request, places = _batches(walk, producer, who, is_transactional=False)
    request.transactional_id = walk.mostly(None, [producer.transactional_id], usually=0.9)
    _send(walk, producer, request, places)


_Place = tuple[str, int]


def _batches(
    walk: Walk, producer: Producer, who: Who, *, is_transactional: bool
) -> tuple[ProduceRequest, dict[_Place, int]]:
    """A batch for one or two partitions; and each one's next sequence if they are taken."""
    data: dict[str, Any] = {}
    nexts: dict[_Place, int] = {}
    for _ in range(walk.mostly(1, (2, 3), usually=0.7)):
        topic, index = walk.topic(absent=0.02)
        place = topic.name, index
        if place in nexts:
            continue
        own = producer.sequences if who[0] == producer.producer_id else {}
        first = own.get(place, 0)
        first = walk.mostly(first, (0, max(0, first - 1), first + 1, first + 5, 2**31 - 1), usually=0.8)
        count = walk.pick((1, 1, 2, 3))
        size = walk.mostly(1, (3_000,), usually=0.85)  # now and then enough for Kafka to put it into its index
        nexts[place] = (first + count) % 2**31
        records = batch(
            [(b"k", b"%d" % number * size) for number in range(count)],
            attributes=TRANSACTIONAL if is_transactional else 0,
            producer_id=who[0],
            producer_epoch=who[1],
            base_sequence=first if who[0] >= 0 else -1,
        )
        one = ProduceRequest.TopicProduceData(topic.name, topic.topic_id)
        data.setdefault(topic.name, one).partition_data.append(ProduceRequest.PartitionProduceData(index, records))
    return ProduceRequest(None, walk.pick((-1, 1)), 5_000, list(data.values())), nexts


def _send(walk: Walk, producer: Producer, request: ProduceRequest, nexts: Mapping[_Place, int]) -> None:
    names = {one.topic_id: one.name for one in request.topic_data}
    answer = producer.actor.ask(request, walk.version(producer, range(3, 12), (12, 13)))
    for topic in answer.responses:
        for partition in topic.partition_responses:
            place = topic.name or names.get(topic.topic_id, ""), partition.index
            if partition.error_code == 0 and place in nexts:
                producer.sequences[place] = nexts[place]


def commit_offsets(walk: Walk, producer: Producer) -> None:
    """TxnOffsetCommit: as nobody in particular, as the member, as somebody who is none."""
    said: dict[str, Any] = {}
    if walk.chance(0.4):
        said["member_id"] = walk.mostly(walk.member.member_id, ["", "made up"], usually=0.8)
        said["generation_id_or_member_epoch"] = walk.mostly(walk.member.generation_id, (-1, 0, 1, 2, -5), usually=0.8)
        said["group_instance_id"] = walk.mostly(None, ["", "nobody's"], usually=0.9)
    who = walk.who(producer)
    listed = [_offsets_of(walk) for _ in range(walk.pick((1, 1, 1, 2, 0)))]
    transactional_id = walk.mostly(producer.transactional_id, ["", "nobody's"], usually=0.97)
    request = TxnOffsetCommitRequest(
        transactional_id, walk.group_or_none(), *who, **{"generation_id_or_member_epoch": -1} | said, topics=listed
    )
    version = walk.version(producer, range(5), (5, 6))
    producer.actor.ask(request, version if version >= 3 or not said else 3)


def _offsets_of(walk: Walk) -> TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic:
    topic, index = walk.topic()
    partitions = [
        TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            index,
            walk.mostly(walk.rng.randrange(100), (-1, -2, 2**62), usually=0.9),
            walk.mostly(-1, (0, 5, -7), usually=0.9),
            walk.mostly("m", [None, "", "m" * 64, "m" * 65], usually=0.8),
        )
        for _ in range(walk.mostly(1, (0, 2), usually=0.9))
    ]
    return TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(topic.name, topic.topic_id, partitions)


def commit_offsets_after_adding(walk: Walk, producer: Producer) -> None:
    """As clients do before KIP-890: AddOffsetsToTxn, then TxnOffsetCommit."""
    for group in walk.groups:
        producer.actor.ask(producer.add_offsets(group), 3)
    commit_offsets(walk, producer)


def end_twice(walk: Walk, producer: Producer) -> None:
    """EndTxn, and when it is done once more as if there had been no answer; or the other way round."""
    who, commit = (producer.producer_id, producer.producer_epoch), walk.chance(0.5)
    version = walk.version(producer, range(5), (5,))

    def request(*, commit: bool) -> Message:
        return EndTxnRequest(producer.transactional_id, *who, commit)

    producer.learn(producer.actor.ask(request(commit=commit), version))
    producer.settles()
    producer.actor.ask(request(commit=commit != walk.chance(0.3)), version)


STEPS: Final[Mapping[Callable[[Walk, Producer], None], int]] = {
    begin: 8,
    begin_until_done: 6,
    add_partitions: 8,
    add_partitions_in_batches: 4,
    add_offsets: 4,
    write: 16,
    write_after_adding: 12,
    write_plainly: 5,
    commit_offsets: 8,
    commit_offsets_after_adding: 6,
    end: 14,
    end_twice: 4,
}
