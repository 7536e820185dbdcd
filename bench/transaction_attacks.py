"""The nastiest requests about transactions: many ids, many partitions, and thousands whose time is up at one moment.

The broker of an attack is new, so the producer of its first transactional id is 0, in epoch 0.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from bench.attacks import MB, WIDE, Attack, full, wide_topic
from bench.frames import request_frame
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from ottla.protocol.primitives import Message
from tests.support.batches import batch
from tests.support.client import API, Client

ID: Final = "tx"
WHO: Final = (0, 0)
#: With their topics they are as many as one request may name.
TOPICS: Final = 9
PARTITIONS: Final = TOPICS * WIDE
#: What a partition takes in memory with its first batch: a block of a kilobyte, and what is kept of the producer.
FIRST_BATCH_BYTES: Final = 1_800
MANY_IDS: Final = 20_000
STORM: Final = 10_000
STORM_SECONDS: Final = 12.0
_IN_FLIGHT: Final = 200

_Add = AddPartitionsToTxnRequest
_Marker = WriteTxnMarkersRequest.WritableTxnMarker


def ask_all(client: Client, requests: Sequence[Message], version: int) -> list[Any]:
    """Their answers. Some are sent before the first is answered."""
    answers = []
    for at in range(0, len(requests), _IN_FLIGHT):
        some = requests[at : at + _IN_FLIGHT]
        for request in some:
            client.send(request, version)
        answers += [client.receive().message for _ in some]
    return answers


# ── What there is before ──────────────────────────────────────────────────────────────────────────────────────────────


def begin(client: Client, *names: str, timeout_ms: int = 60_000) -> None:
    """The ids have their producers, and there are groups."""
    client.ask(FindCoordinatorRequest("g", 0), 2)
    client.ask(FindCoordinatorRequest(ID, 1), 2)
    answers = ask_all(client, [InitProducerIdRequest(name, timeout_ms) for name in names], 4)
    assert not any(answer.error_code for answer in answers)
    assert (answers[0].producer_id, answers[0].producer_epoch) == WHO


def wide_begin(client: Client) -> None:
    """One id, and a topic of 10,000 partitions."""
    wide_topic(client)
    begin(client, ID)


def wider_begin(client: Client) -> None:
    """One id, and nine such topics."""
    for number in range(TOPICS):
        client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(f"wide-{number}", WIDE, 1)], 30_000), 7)
    begin(client, ID)


def wider_open(client: Client) -> None:
    """The id has a transaction of all those partitions."""
    wider_begin(client)
    answer = client.ask(_Add(None, ID, *WHO, wide_topics()), 3)
    assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0


def many_ids(client: Client) -> None:
    begin(client, *(f"transactional-id-{number}" for number in range(MANY_IDS)))


def many_producers(client: Client) -> None:
    """A partition that has seen as many producers: each has had a marker there."""
    wide_topic(client)
    for at in range(0, MANY_IDS, 1_000):
        markers = [marker([("wide", [0])], producer_id) for producer_id in range(at, at + 1_000)]
        client.ask(WriteTxnMarkersRequest(markers), 1)


def storm(client: Client) -> None:
    """Ten thousand transactions, each of two partitions, whose time is up before the coordinator looks for them."""
    wide_topic(client)
    begin(client, ID)
    ends = time.monotonic() + STORM_SECONDS
    for at in range(0, STORM, _IN_FLIGHT):
        names = [f"transactional-id-{number}" for number in range(at, at + _IN_FLIGHT)]
        timeout_ms = max(1, int((ends - time.monotonic()) * 1e3))
        begun = ask_all(client, [InitProducerIdRequest(name, timeout_ms) for name in names], 4)
        topics = [_Add.AddPartitionsToTxnTopic("wide", [0, 1])]
        added = [
            _Add(None, name, answer.producer_id, answer.producer_epoch, topics)
            for name, answer in zip(names, begun, strict=True)
        ]
        ask_all(client, added, 3)


def is_storm_over(client: Client) -> bool:
    return not client.ask(ListTransactionsRequest(["Ongoing", "PrepareAbort"], []), 0).transaction_states


def is_committed(client: Client) -> bool:
    return bool(client.ask(ListTransactionsRequest(["CompleteCommit"], []), 0).transaction_states)


def is_aborted(client: Client) -> bool:
    return bool(client.ask(ListTransactionsRequest(["CompleteAbort"], []), 0).transaction_states)


# ── What is asked ─────────────────────────────────────────────────────────────────────────────────────────────────────


def wide_topics() -> list[Any]:
    return [_Add.AddPartitionsToTxnTopic(f"wide-{number}", list(range(WIDE))) for number in range(TOPICS)]


def marker(topics: Sequence[tuple[str, Sequence[int]]], producer_id: int = 77) -> Any:
    listed = [WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, list(indexes)) for name, indexes in topics]
    return _Marker(producer_id, 0, False, listed, 0)


def batched(*transactions: tuple[str, list[Any]], verify_only: bool = False) -> bytes:
    """As brokers ask each other."""
    listed = [_Add.AddPartitionsToTxnTransaction(name, *WHO, verify_only, topics) for name, topics in transactions]
    return request_frame(_Add(listed), 5)


def commit(partitions: int) -> bytes:
    listed = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(index % WIDE, 1) for index in range(partitions)]
    topics = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("wide", partitions=listed)]
    return request_frame(TxnOffsetCommitRequest(ID, "g", *WHO, topics=topics), 5)


def produce_in_transaction() -> bytes:
    data = batch(attributes=0x10, producer_id=0, producer_epoch=0, base_sequence=0)
    partitions = [ProduceRequest.PartitionProduceData(index, data) for index in range(WIDE)]
    return request_frame(
        ProduceRequest(ID, -1, 30_000, [ProduceRequest.TopicProduceData("wide", partition_data=partitions)]), 12
    )


def one_transaction() -> Iterator[Attack]:
    """One with all the partitions that a request may name."""
    yield Attack(
        "AddPartitionsToTxn: 90,000 partitions",
        lambda: [request_frame(_Add(None, ID, *WHO, wide_topics()), 3)],
        wider_begin,
    )
    yield Attack("AddPartitionsToTxn: 90,000 by a broker", lambda: [batched((ID, wide_topics()))], wider_begin)
    yield Attack(
        "AddPartitionsToTxn: are 90,000 there?", lambda: [batched((ID, wide_topics()), verify_only=True)], wider_open
    )
    yield Attack(
        "AddPartitionsToTxn: one more, 20 times",
        lambda: [batched((ID, [_Add.AddPartitionsToTxnTopic("__consumer_offsets", [n])])) for n in range(20)],
        wider_open,
    )
    yield Attack(
        "AddOffsetsToTxn: 20 groups, in a transaction of 90,000 partitions",
        lambda: [request_frame(AddOffsetsToTxnRequest(ID, *WHO, f"group-{n}"), 3) for n in range(20)],
        wider_open,
    )
    yield Attack(
        "EndTxn: a transaction of 90,000 partitions",
        lambda: [request_frame(EndTxnRequest(ID, *WHO, True), 4)],
        wider_open,
        until=is_committed,
        kept_bytes=PARTITIONS * FIRST_BATCH_BYTES,
    )
    yield Attack(
        "InitProducerId: fences a transaction of 90,000 partitions",
        lambda: [request_frame(InitProducerIdRequest(ID, 60_000), 4)],
        wider_open,
        until=is_aborted,
        kept_bytes=PARTITIONS * FIRST_BATCH_BYTES,
    )
    yield Attack(
        "DescribeTransactions: one of 90,000 partitions, 5 times",
        lambda: [request_frame(DescribeTransactionsRequest([ID] * 5), 0)],
        wider_open,
    )
    yield Attack("Produce: 10,000 partitions in a transaction", lambda: [produce_in_transaction()], wide_begin)
    yield Attack("TxnOffsetCommit: 10,000 partitions", lambda: [commit(WIDE)], wide_begin)
    yield Attack("TxnOffsetCommit: 50,000 partitions", lambda: [commit(50_000)], wide_begin)


def many_transactions() -> Iterator[Attack]:
    """Many at once, or the same again and again."""
    yield Attack(
        "AddPartitionsToTxn: 30,000 transactions",
        lambda: [batched(*((f"t{n}", [_Add.AddPartitionsToTxnTopic("wide", [n % WIDE])]) for n in range(30_000)))],
        wide_begin,
    )
    yield Attack(
        "AddPartitionsToTxn: a transaction 30,000 times",
        lambda: [batched(*((ID, [_Add.AddPartitionsToTxnTopic("wide", [n % WIDE])]) for n in range(30_000)))],
        wide_begin,
        kept_bytes=100 * MB,
    )
    yield Attack(
        "InitProducerId: 100 ids of 32 KB",
        lambda: [request_frame(InitProducerIdRequest(f"{n:032767}", 60_000), 4) for n in range(100)],
        wide_begin,
        kept_bytes=100 * 32_767,
    )
    yield Attack(
        "DescribeTransactions: 90,000 ids that there are not",
        lambda: [request_frame(DescribeTransactionsRequest([f"t{n}" for n in range(90_000)]), 0)],
        wide_begin,
    )
    yield Attack(
        "DescribeTransactions: 20,000 ids",
        lambda: [request_frame(DescribeTransactionsRequest([f"transactional-id-{n}" for n in range(MANY_IDS)]), 0)],
        many_ids,
    )
    yield Attack("ListTransactions: 20,000 ids", lambda: [request_frame(ListTransactionsRequest([], []), 0)], many_ids)
    yield Attack(
        "ListTransactions: 1 MB of filters",
        lambda: [request_frame(ListTransactionsRequest(["Empty"] * 90_000, list(range(9_000))), 0)],
        many_ids,
    )
    yield Attack(
        "FindCoordinator: 90,000 ids",
        lambda: [
            request_frame(FindCoordinatorRequest(key_type=1, coordinator_keys=[f"t{n}" for n in range(90_000)]), 5)
        ],
        wide_begin,
    )
    yield Attack(
        "Transactions: 10,000 time out at one moment", list, storm, until=is_storm_over, kept_bytes=STORM * 600
    )


def markers() -> Iterator[Attack]:
    """Markers of nobody, and what they leave."""
    yield Attack(
        "WriteTxnMarkers: 90,000 partitions",
        lambda: [
            request_frame(WriteTxnMarkersRequest([marker([(f"wide-{n}", range(WIDE)) for n in range(TOPICS)])]), 1)
        ],
        wider_begin,
        kept_bytes=PARTITIONS * FIRST_BATCH_BYTES,
    )
    yield Attack(
        "WriteTxnMarkers: 30,000 producers",
        lambda: [request_frame(WriteTxnMarkersRequest([marker([("wide", [0])], n) for n in range(30_000)]), 1)],
        wide_begin,
        kept_bytes=30_000 * 100,
    )
    yield Attack(
        "DescribeProducers: 90,000 partitions",
        lambda: [
            request_frame(
                DescribeProducersRequest(
                    [DescribeProducersRequest.TopicRequest(f"wide-{n}", list(range(WIDE))) for n in range(TOPICS)]
                ),
                0,
            )
        ],
        wider_begin,
    )
    yield Attack(
        "DescribeProducers: 20,000 producers, 20 times",
        lambda: [request_frame(DescribeProducersRequest([DescribeProducersRequest.TopicRequest("wide", [0] * 20)]), 0)],
        many_producers,
    )


def small_elements(size: int) -> Iterator[Attack]:
    """The arrays of what is asked in classic versions, as long as the size allows."""
    name = struct.pack(">h", 1) + b"x"
    who = b"\0\2tx" + struct.pack(">qh", *WHO)
    yield Attack(
        f"AddPartitionsToTxn: {size // MB} MB of small elements",
        lambda: [full(API["AddPartitionsToTxn"], size, name + struct.pack(">ii", 1, 0), who)],
        wide_begin,
    )
    yield Attack(
        f"TxnOffsetCommit: {size // MB} MB of small elements",
        lambda: [
            full(
                API["TxnOffsetCommit"],
                size,
                name + struct.pack(">iiqih", 1, 0, 1, -1, 0),
                b"\0\2tx\0\1g" + struct.pack(">qh", *WHO),
            )
        ],
        wide_begin,
    )


def transaction_attacks() -> list[Attack]:
    return [*one_transaction(), *many_transactions(), *markers(), *small_elements(MB), *small_elements(90 * MB)]
