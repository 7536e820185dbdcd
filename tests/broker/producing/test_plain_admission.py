"""Transactional batches by the short way of Produce: the long way would have said the same, and left the same logs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ottla.broker.internal.log import InternalLog
from ottla.broker.producing.plain_produce import PLAIN_VERSIONS, answer_plain
from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.coordinator.transactions.coordinator import PARTITIONS_FEW
from ottla.coordinator.transactions.events import LogMayBeWritable
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.broker.log_scene import produce_request
from tests.broker.scene import WALL_MS
from tests.broker.transactions.test_coordination import ID, Transactions, running
from tests.support.batches import batch

BEFORE, ADDING = 11, 12
TRANSACTIONAL: Final = 0x10


def produced(
    scene: Transactions, index: int = 0, sequence: int = 0, epoch_ahead: int = 0, attributes: int = TRANSACTIONAL
) -> ProduceRequest:
    producer_id, epoch = scene.producer
    data = batch(
        attributes=attributes,
        producer_id=producer_id,
        producer_epoch=epoch + epoch_ahead,
        base_sequence=sequence,
        base_timestamp=WALL_MS,
    )
    request = produce_request(scene.cluster.topics["orders"], data, transactional_id=ID)
    request.topic_data[0].partition_data[0].index = index
    return request


def go_short(scene: Transactions, request: ProduceRequest, version: int) -> Any:
    """The answer of the short way; None: it is not taken."""
    body = answer_plain(request.encode(version), 0, version, scene.nodes[1])
    return None if body is None else ProduceResponse.decode(body, version)


def error_of(answer: Any) -> ErrorCode:
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def state_of(scene: Transactions) -> list[Any]:
    """All that a request may have changed."""
    return [
        (
            [bytes(batch) for segment in log.segments for batch in segment.batches()],
            (log.log_end_offset, log.high_watermark, log.last_stable_offset),
            list(log.producers),
        )
        for name in ("orders", TRANSACTION_TOPIC)
        for log in scene.cluster.topics[name].partitions
    ]


steps = st.one_of(
    st.tuples(
        st.just("produce"),
        st.sampled_from([8, BEFORE, ADDING, ADDING, 13]),
        st.integers(0, 1),
        st.sampled_from([0, 0, 0, 3, 6]),
        st.sampled_from([0, 0, 0, 0, -1, 1]),
        st.sampled_from([TRANSACTIONAL, TRANSACTIONAL, TRANSACTIONAL, 0, TRANSACTIONAL | 8]),
    ),
    st.tuples(st.just("add"), st.integers(0, 1)),
    st.tuples(st.just("end"), st.booleans(), st.sampled_from([4, 5])),
    st.tuples(st.just("begin")),
)


@settings(max_examples=80)
@example([("add", 0), ("produce", 8, 0, 0, 1, 0), ("end", False, 4), ("produce", 12, 0, 0, 1, TRANSACTIONAL)])
@given(st.lists(steps, min_size=1, max_size=12))
def test_both_ways_come_to_the_same(story: list[tuple[Any, ...]]) -> None:
    """Whatever a producer does one after the other: the same answers, and the same logs and producers."""
    told = [asyncio.run(_tell(story, is_short=is_short)) for is_short in (False, True)]
    assert told[0] == told[1]


async def _tell(story: list[tuple[Any, ...]], *, is_short: bool) -> list[Any]:
    seen: list[Any] = []
    async with running() as scene:
        scene.cluster.random_source = Random(1)  # for the topic's id
        scene.create("orders", partitions=2)
        await scene.begin()
        for kind, *said in story:
            seen.append(await _DEEDS[kind](scene, is_short, *said))
            seen.append(state_of(scene))
    return seen


async def _produce(scene: Transactions, is_short: bool, version: int, *said: int) -> bytes:
    request = produced(scene, *said)
    answer = go_short(scene, request, version) if is_short else None
    if answer is None:
        answer = await scene.tell_at_once(request, version)  # where a marker is missing it may have to ask again
    await scene.settle()
    return _encoded(answer, version)


async def _add(scene: Transactions, _is_short: bool, index: int) -> bytes:
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("orders", [index])]
    return _encoded(await scene.tell(AddPartitionsToTxnRequest(None, ID, *scene.producer, topics), 3), 3)


async def _end(scene: Transactions, _is_short: bool, commit: bool, version: int) -> bytes:
    answer = await scene.tell(EndTxnRequest(ID, *scene.producer, commit), version)
    if not answer.error_code and version == 5:
        scene.producer = answer.producer_id, answer.producer_epoch
    return _encoded(answer, version)


async def _begin(scene: Transactions, _is_short: bool) -> bytes:
    answer = await scene.tell(InitProducerIdRequest(ID, 60_000), 4)
    if not answer.error_code:
        scene.producer = answer.producer_id, answer.producer_epoch
    return _encoded(answer, 4)


def _encoded(answer: Any, version: int) -> bytes:
    encoded: bytes = answer.encode(version)
    return encoded


_DEEDS: Final[dict[str, Callable[..., Any]]] = {"produce": _produce, "add": _add, "end": _end, "begin": _begin}


@pytest.mark.parametrize("version", PLAIN_VERSIONS)
async def test_a_transaction_goes_the_short_way_all_along(version: int) -> None:
    """The batch by which a partition is added or verified, and those that follow; with each transaction anew."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        for _ in range(2):
            if version < ADDING:
                await scene.add("orders", 0)
            for sequence in (0, 1):
                answer = go_short(scene, produced(scene, sequence=sequence), version)
                assert error_of(answer) is ErrorCode.NONE
            assert scene.open_in("orders") == [0]
            assert await scene.state() == ("Ongoing", 1)
            await scene.end()
            assert scene.open_in("orders") == []


LONG: Final[dict[str, tuple[Callable[[Transactions], ProduceRequest], int]]] = {
    "it was not added": (produced, BEFORE),
    "of an epoch before": (lambda scene: produced(scene, epoch_ahead=-1), ADDING),
    "of an epoch to come": (lambda scene: produced(scene, epoch_ahead=1), ADDING),
    "no batch of a transaction": (lambda scene: produced(scene, attributes=0), ADDING),
}


@pytest.mark.parametrize("name", LONG)
async def test_what_the_coordinator_would_refuse_goes_the_long_way(name: str) -> None:
    """And nothing has happened then."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        make, version = LONG[name]
        request, before = make(scene), state_of(scene)
        assert go_short(scene, request, version) is None
        assert state_of(scene) == before


async def test_an_id_that_nobody_knows_goes_the_long_way() -> None:
    async with running() as scene:
        scene.create("orders")
        scene.producer = 7, 0
        assert go_short(scene, produced(scene), ADDING) is None


async def test_a_coordinator_with_something_else_to_do_is_not_waited_for() -> None:
    """Nor one that would take long, as it writes down many partitions."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        (owner,) = scene.services.transaction_coordination.of_node[1].runtime.owners.values()
        owner.post(LogMayBeWritable())
        assert go_short(scene, produced(scene), ADDING) is None
        await scene.settle()
        scene.create("many", partitions=PARTITIONS_FEW + 1)
        await scene.add("many", *range(PARTITIONS_FEW + 1))
        assert go_short(scene, produced(scene), ADDING) is None


async def test_without_verification_nothing_is_asked_of_a_coordinator() -> None:
    """The long way knows what that means."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.add("orders", 0)
        scene.cluster.settings.set("transaction.partition.verification.enable", "false")
        assert go_short(scene, produced(scene), BEFORE) is None


async def test_what_can_not_be_written_down_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer is told what the long way tells it, and nothing is appended."""
    answers = []
    for is_short in (True, False):
        async with running() as scene:
            scene.cluster.random_source = Random(1)
            scene.create("orders")
            await scene.begin()
            tries: list[int] = []

            def refused(_log: InternalLog, partition: int, *_: Any, tries: list[int] = tries) -> ErrorCode:
                tries.append(partition)
                return ErrorCode.NOT_ENOUGH_REPLICAS

            with monkeypatch.context() as patch:
                patch.setattr(InternalLog, "append", refused)
                request = produced(scene)
                answer = go_short(scene, request, ADDING) if is_short else await scene.tell(request, ADDING)
            assert tries == [0]
            assert scene.cluster.topics["orders"].partitions[0].log_end_offset == 0
            answers.append(answer.encode(ADDING))
    assert answers[0] == answers[1]
