"""The short way of Produce: the long way would have answered the same bytes, and left the same log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Any, Final, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.broker.handlers import produce
from ottla.broker.network.call import Call, CloseConnection
from ottla.broker.producing.plain_produce import PLAIN_VERSIONS, answer_plain
from ottla.cluster.topic import Topic
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.events.kind import Kind
from ottla.events.stream import Event
from ottla.log.storage.contract import StorageError
from ottla.pacing import SLICE_SECONDS, Pace
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.produce import ProduceRequest, ProduceResponse
from ottla.protocol.primitives import DecodeError, Message
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record
from tests.broker.log_scene import LogScene, SentCall, only, produce_request
from tests.broker.network.stage import Stage
from tests.log.partitions import batch_of, numbered, offsets_of, read_all
from tests.support.batches import TIMESTAMP, batch, record, stored

VERSIONS: Final = [*range(3, 14)]
TINY: Final = batch_of(1)


class RawCall(SentCall):
    """A call whose answer is kept as it leaves."""

    body: bytes | None = None

    def answer(self, response: Message) -> None:
        self.is_answered = True
        self.body = response.encode(self.api_version)


def go_long(scene: LogScene, body: bytes, version: int, *, is_brief: bool = False) -> bytes | None:
    """What the long way answers; None: nothing, and the connection may be closed."""
    try:
        request = ProduceRequest.decode(body, version)
    except DecodeError:
        return None
    call = RawCall(scene.nodes[1], request, version, "ana")
    call.is_brief = is_brief
    try:
        response = produce.handle(request, cast(Call, call))
    except CloseConnection:
        return None
    if response is not None:
        call.answer(response)
    return call.body


def go_short(scene: LogScene, body: bytes, version: int) -> bytes | None:
    answer = answer_plain(body, 0, version, scene.nodes[1]) if version in PLAIN_VERSIONS else None
    return go_long(scene, body, version) if answer is None else answer


def state_of(topic: Topic) -> list[Any]:
    """All that a request may have changed."""
    return [
        (
            [bytes(batch) for segment in partition.segments for batch in segment.batches()],
            [(s.base_offset, s.size_bytes, s.max_timestamp, s.modified_ms) for s in partition.segments],
            (partition.log_end_offset, partition.high_watermark, partition.last_stable_offset),
            list(partition.producers),
        )
        for partition in topic.partitions
    ]


times = st.integers(TIMESTAMP - 9_000, TIMESTAMP + 7_200_000)
batches = st.one_of(
    st.builds(batch_of, st.integers(1, 40)),
    st.builds(numbered, st.integers(0, 4), st.integers(1, 2), epoch=st.integers(0, 2)),
    st.builds(
        batch,
        st.lists(st.tuples(st.none() | st.binary(max_size=3), st.none() | st.binary(max_size=200)), max_size=12),
        timestamps=st.none() | st.lists(times, min_size=12, max_size=12),
    ),
    st.builds(
        lambda field, value: batch(**{field: value}),
        st.sampled_from(
            [
                "base_offset", "length_added", "leader_epoch", "magic", "crc_added", "attributes", "last_offset_delta",
                "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count",
            ]
        ),
        st.sampled_from([-2, -1, 0, 1, 2, 8, 16, 32]),
    ),
    st.binary(max_size=80),
    st.just(batch(payload=stored(1, record(b"k", b"v")), attributes=1, count=1, last_offset_delta=0)),
    st.just(batch(payload=record(b"k", b"v", headers=[(b"h", None)]), count=1, last_offset_delta=0)),
    st.just(TINY + b"rest"),
    st.none(),
)  # fmt: skip
topic_configs = st.sampled_from(
    [
        {},
        {},
        {"message.timestamp.type": "LogAppendTime"},
        {"cleanup.policy": "compact"},
        {"compression.type": "gzip"},
        {"compression.type": "uncompressed"},
        {"max.message.bytes": "100"},
        {"internal.segment.bytes": "150"},
        {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "0"},
        {"flush.messages": "2"},
        {"min.insync.replicas": "2"},
    ]
)


def as_it_is(request: ProduceRequest) -> None:
    """A topic that is there, and its first partition."""


def beyond(request: ProduceRequest) -> None:
    request.topic_data[0].partition_data[-1].index = 2


def strange(request: ProduceRequest) -> None:
    request.topic_data[0].name, request.topic_data[0].topic_id = "strange", b"\7" * 16


def twice(request: ProduceRequest) -> None:
    request.topic_data *= 2


def empty(request: ProduceRequest) -> None:
    request.topic_data[0].partition_data = []


def tagged(request: ProduceRequest) -> None:
    request.unknown_tagged_fields = {7: b"x"}


shapes: Final = st.sampled_from([*[as_it_is] * 9, beyond, strange, twice, empty, tagged])
#: How many bytes of a request come, or what comes behind it.
cuts: Final = st.none() | st.none() | st.none() | st.integers(0, 300) | st.just(b"\0")


@settings(max_examples=400)
@given(
    configs=topic_configs,
    sent=st.lists(
        st.tuples(st.lists(batches, min_size=1, max_size=2), st.sampled_from([-1, -1, -1, 1, 0, 2]), shapes, cuts),
        max_size=6,
    ),
    version=st.sampled_from(VERSIONS),
    transactional_id=st.sampled_from([None, None, None, "tx"]),
)
def test_both_ways_come_to_the_same(
    configs: dict[str, str],
    sent: list[tuple[list[bytes | None], int, Callable[[ProduceRequest], None], int | bytes | None]],
    version: int,
    transactional_id: str | None,
) -> None:
    """Whatever producers send one after the other, whole or not: the same answers, logs, producers and segments."""
    long, short = LogScene(), LogScene()
    long.cluster.random_source, short.cluster.random_source = Random(1), Random(1)  # for the topics' ids
    topics = [scene.cluster.create_topic("orders", [[1], [1]], configs) for scene in (long, short)]
    for records, acks, shape, cut in sent:
        bodies = []
        for topic in topics:
            request = produce_request(topic, *records, acks=acks, transactional_id=transactional_id)
            shape(request)
            if version < 9:
                request.unknown_tagged_fields = {}
            body = request.encode(version)
            bodies.append(body[:cut] if isinstance(cut, int) else body + (cut or b""))
        answers = go_long(long, bodies[0], version), go_short(short, bodies[1], version)
        assert answers[0] == answers[1]
        assert state_of(topics[0]) == state_of(topics[1])


PLAIN: Final = {
    "a batch": batch_of(1),
    "many records": batch_of(1_500),
    "null keys": batch([(None, b"v")] * 3),
    "timestamps apart": batch([(b"k", b"v")] * 3, timestamps=[TIMESTAMP, TIMESTAMP - 70_000, TIMESTAMP + 70_000]),
    "no timestamps": batch([(b"k", b"v")] * 2, timestamps=[-1, -1], base_timestamp=-1),
    "an idempotent producer's": numbered(0),
    "headers": batch(payload=record(b"k", b"v", headers=[(b"h", b"x")]), count=1, last_offset_delta=0),
}


@pytest.mark.parametrize("version", PLAIN_VERSIONS)
@pytest.mark.parametrize("records", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("acks", [-1, 1])
def test_what_is_plain_goes_the_short_way(records: bytes, acks: int, version: int) -> None:
    """And is answered as a client of this version expects."""
    scene = LogScene()
    topic = scene.create("orders", partitions=2)
    request = produce_request(topic, records, acks=acks)
    request.topic_data[0].partition_data[0].index = 1
    body = answer_plain(request.encode(version), 0, version, scene.nodes[1])
    assert body is not None
    answered = only(ProduceResponse.decode(body, version).responses)
    assert (answered.index, answered.error_code, answered.base_offset, answered.log_start_offset) == (1, 0, 0, 0)
    assert topic.partitions[1].high_watermark > 0


def test_the_brokers_own_topics_go_the_long_way() -> None:
    scene = LogScene()
    topic = scene.cluster.create_topic(GROUP_TOPIC, [[1]], {})
    assert answer_plain(produce_request(topic, TINY).encode(9), 0, 9, scene.nodes[1]) is None


def test_who_does_not_lead_and_who_waits_for_replicas_go_the_long_way() -> None:
    scene = LogScene(nodes=2)
    topic = scene.cluster.create_topic("orders", [[1, 2]], {"min.insync.replicas": "2"})
    body = produce_request(topic, TINY).encode(9)
    assert answer_plain(body, 0, 9, scene.nodes[2]) is None
    topic.placements[0].isr = [1]
    assert answer_plain(body, 0, 9, scene.nodes[1]) is None
    topic.placements[0].isr = [1, 2]
    topic.partitions[0].hold_high_watermark(held=True)
    assert answer_plain(body, 0, 9, scene.nodes[1]) is None
    assert topic.partitions[0].log_end_offset == 0
    topic.partitions[0].hold_high_watermark(held=False)
    assert answer_plain(body, 0, 9, scene.nodes[1]) is not None


@pytest.fixture
def pace() -> Iterator[Pace]:
    """Each look at the clock finds that the slice is over."""
    ticks = count()
    pace = Pace(lambda _task: None, lambda: next(ticks) * SLICE_SECONDS)
    yield pace
    pace.close()


def begin(scene: LogScene, topic: Topic, pace: Pace) -> list[bytes | None]:
    """Append a batch in a task that is suspended while it looks at it; what it answers will be in the list."""
    body, answers = produce_request(topic, batch_of(1_500)).encode(7), list[bytes | None]()
    pace.run(lambda: answers.append(answer_plain(body, 0, 7, scene.nodes[1])))
    assert answers == [], "it was not suspended"
    return answers


def test_others_append_while_a_large_batch_is_looked_at(pace: Pace) -> None:
    """It comes behind them."""
    scene = LogScene()
    topic = scene.create("orders")
    answers = begin(scene, topic, pace)
    assert go_short(scene, produce_request(topic, batch_of(3)).encode(7), 7) is not None
    pace.close()
    (body,) = answers
    assert body is not None
    assert only(ProduceResponse.decode(body, 7).responses).base_offset == 3
    assert offsets_of(read_all(topic.partitions[0])) == list(range(1_503))


@pytest.mark.parametrize("change", ["the topic goes", "another node leads"])
def test_what_becomes_unusual_while_a_large_batch_is_looked_at_goes_the_long_way(change: str, pace: Pace) -> None:
    scene = LogScene(nodes=2)
    topic = scene.cluster.create_topic("orders", [[1, 2]], {})
    answers = begin(scene, topic, pace)
    if change == "the topic goes":
        topic.delete()
    else:
        topic.placements[0].leader_id = 2
    pace.close()
    assert answers == [None]
    assert topic.partitions[0].log_end_offset == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [("another node leads", ErrorCode.NOT_LEADER_OR_FOLLOWER), ("a replica lags", ErrorCode.NOT_ENOUGH_REPLICAS)],
)
def test_on_the_long_way_what_changes_while_a_batch_is_unpacked_counts_too(
    change: str, error: ErrorCode, pace: Pace
) -> None:
    scene = LogScene(nodes=2)
    topic = scene.cluster.create_topic("orders", [[1, 2]], {"min.insync.replicas": "2"})
    packed = build_batch_of([Record(0, TIMESTAMP, b"k", b"v")], base_offset=0, compression=CompressionType.GZIP)
    body, answers = produce_request(topic, packed).encode(7), list[bytes | None]()
    # A brief call is suspended first where the batch is unpacked.
    pace.run(lambda: answers.append(go_long(scene, body, 7, is_brief=True)))
    assert answers == [], "it was not suspended"
    if change == "another node leads":
        topic.placements[0].leader_id = 2
    else:
        topic.placements[0].isr = [1]
    pace.close()
    (answer,) = answers
    assert answer is not None
    assert only(ProduceResponse.decode(answer, 7).responses).error_code == error
    assert topic.partitions[0].log_end_offset == 0


def test_a_disk_that_fails_is_asked_once() -> None:
    """The answer is the one of the long way."""
    bodies: list[bytes] = []
    asked = []

    class Fails:
        is_offline = False

        def __init__(self, real: Any) -> None:
            self.segments = real.segments

        def append(self, *_arguments: Any) -> None:
            asked.append(1)
            raise StorageError("the disk is full")

    for go in (go_long, go_short):
        scene = LogScene()
        topic = scene.create("orders")
        topic.partitions[0].put_around_storage(cast(Any, Fails))
        body = go(scene, produce_request(topic, TINY).encode(9), 9)
        assert body is not None
        bodies.append(body)
    assert len(asked) == 2
    assert bodies[0] == bodies[1]
    assert only(ProduceResponse.decode(bodies[0], 9).responses).error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_bug_of_ours_on_the_short_way_is_told_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the long one."""
    async with Stage() as stage:
        scene_node = stage.listener.node
        topic = scene_node.cluster.create_topic("orders", [[1]], {})
        told: list[Event] = []
        scene_node.events.read(told.append, [Kind.REQUEST_FAILED])
        stage.connect()
        request = produce_request(topic, TINY)
        monkeypatch.setattr(type(topic.partitions[0]), "append_prepared", None)
        header = bytes([0, 0, 0, 9, 0, 0, 0, 5, 255, 255, 0])
        frame = header + request.encode(9)
        stage.receive(len(frame).to_bytes(4, "big") + frame)
        (written,) = stage.transport.written
        assert written[4:8] == bytes([0, 0, 0, 5])
        answered = only(ProduceResponse.decode(written, 9, 9).responses)
        assert answered.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert len(told) == 1
