"""The same bytes to two brokers, one with short ways and one without: the same answers and logs, byte for byte.

However the bytes are cut on their way, and whatever else the client asks between: what is long and what waits, what
changes the topic, what ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.protocol.headers import encode_request_header
from ottla.protocol.messages.alter_configs import AlterConfigsRequest
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import Message
from ottla.purgatory import VirtualClock
from ottla.security.authorizer import AllowAll
from tests.log.partitions import batch_of, numbered
from tests.support.batches import TIMESTAMP, batch, record, stored
from tests.support.client import api_of
from tests.support.running_broker import RunningBroker
from tests.support.wire import Connection, ConnectionClosedError

PARTITIONS: Final = 2
TOPIC: Final = "orders"
#: The last request of each script is of this version, and has this correlation id.
LAST_VERSION: Final = 0
LAST_ID: Final = 1_000


class Lenient:
    """Allows everything, and is asked."""

    allows = AllowAll.allows
    allows_on_some = AllowAll.allows_on_some


def produce(data: list[bytes | None], acks: int, index: int, name: str) -> ProduceRequest:
    partitions = [ProduceRequest.PartitionProduceData(index + place, records) for place, records in enumerate(data)]
    return ProduceRequest(None, acks, 1_000, [ProduceRequest.TopicProduceData(name, partition_data=partitions)])


def fetch(max_wait_ms: int) -> FetchRequest:
    partitions = [FetchRequest.FetchPartition(index, partition_max_bytes=1 << 22) for index in range(PARTITIONS)]
    topics = [FetchRequest.FetchTopic(TOPIC, partitions=partitions)]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 24, session_epoch=-1, topics=topics)


def list_offsets() -> ListOffsetsRequest:
    partitions = [ListOffsetsRequest.ListOffsetsPartition(index, timestamp=-1) for index in range(PARTITIONS)]
    return ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(TOPIC, partitions)])


def delete_records(offset: int) -> DeleteRecordsRequest:
    partitions = [DeleteRecordsRequest.DeleteRecordsPartition(0, offset)]
    return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(TOPIC, partitions)], timeout_ms=1_000)


def alter(configs: dict[str, str]) -> AlterConfigsRequest:
    listed = [AlterConfigsRequest.AlterableConfig(name, value) for name, value in configs.items()]
    return AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(2, TOPIC, listed)])


def create() -> CreateTopicsRequest:
    return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(TOPIC, PARTITIONS, 1)], timeout_ms=1_000)


data = st.one_of(
    st.builds(batch_of, st.integers(1, 20)),
    st.builds(numbered, st.integers(0, 4), st.integers(1, 2), epoch=st.integers(0, 1)),
    st.sampled_from(
        [
            batch([(b"k", bytes(3_000))] * 30),
            batch_of(9_000),
            batch(crc_added=1),
            batch(payload=stored(1, record(b"k", b"v")), attributes=1, count=1, last_offset_delta=0),
            None,
        ]
    ),
)
#: (a request, versions it may have)
requests: Any = st.one_of(
    *[
        st.tuples(
            st.builds(
                produce,
                st.lists(data, min_size=1, max_size=2),
                st.sampled_from([-1, -1, 1, 1, 0]),
                st.integers(0, 1),
                st.sampled_from([TOPIC, TOPIC, TOPIC, "strange"]),
            ),
            st.integers(3, 12),
        )
    ]
    * 6,
    st.tuples(st.builds(fetch, st.just(0)), st.integers(4, 12)),
    st.tuples(st.builds(list_offsets), st.integers(1, 7)),
    st.tuples(st.builds(delete_records, st.integers(0, 3)), st.integers(0, 2)),
    st.tuples(
        st.builds(
            alter,
            st.sampled_from(
                [
                    {},
                    {"message.timestamp.type": "LogAppendTime"},
                    {"max.message.bytes": "1000"},
                    {"cleanup.policy": "compact"},
                    {"compression.type": "gzip"},
                    {"min.insync.replicas": "2"},
                    {"segment.bytes": "1048576", "message.timestamp.before.max.ms": "1000"},
                ]
            ),
        ),
        st.integers(0, 2),
    ),
    st.tuples(st.builds(DeleteTopicsRequest, topic_names=st.just([TOPIC]), timeout_ms=st.just(1_000)), st.just(4)),
    st.tuples(st.builds(create), st.integers(2, 6)),
    st.tuples(st.just(ApiVersionsRequest(client_software_name="a", client_software_version="1")), st.integers(0, 4)),
)


def frame(request: Message, version: int, correlation_id: int) -> bytes:
    api = api_of(request)
    header = encode_request_header(api.key, version, correlation_id, "ana", api.is_flexible(version))
    body = request.encode(version)
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


def answers(broker: RunningBroker, pieces: list[bytes]) -> tuple[list[bytes], bool]:
    """(what comes back, whether that is all: a connection that ends may take some of it along)."""
    connection = Connection(broker.bootstrap)
    received: list[bytes] = []
    try:
        for piece in pieces:
            connection.send(piece)
        while not received or received[-1][:4] != LAST_ID.to_bytes(4, "big"):
            received.append(connection.receive_frame())
    except ConnectionClosedError:
        return received, False
    finally:
        connection.close()
    return received, True


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[RunningBroker, RunningBroker]]:
    """The first has short ways."""
    with (
        RunningBroker(clock=VirtualClock(wall_ms=TIMESTAMP)) as short,
        RunningBroker(clock=VirtualClock(wall_ms=TIMESTAMP), authorizer=Lenient()) as long,
    ):
        yield short, long


def begin_anew(broker: RunningBroker) -> None:
    def begin() -> None:
        cluster = broker.server.cluster
        cluster.random_source = Random(1)  # for the topics' ids
        if TOPIC in cluster.topics:
            cluster.delete_topic(cluster.topics[TOPIC])
        cluster.create_topic(TOPIC, [[1]] * PARTITIONS, {})

    broker.look(begin)


def logs(broker: RunningBroker) -> Any:
    def read() -> Any:
        topic = broker.server.cluster.topics.get(TOPIC)
        return topic and [
            (
                [bytes(found) for segment in partition.segments for found in segment.batches()],
                (partition.log_start_offset, partition.log_end_offset, partition.high_watermark),
                list(partition.producers),
            )
            for partition in topic.partitions
        ]

    return broker.look(read)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    script=st.lists(requests, min_size=1, max_size=12),
    cuts=st.lists(st.floats(0, 1), max_size=6),
)
def test_the_same_bytes_come_to_the_same(
    brokers: tuple[RunningBroker, RunningBroker], script: list[tuple[Message, int]], cuts: list[float]
) -> None:
    frames = [frame(request, version, number) for number, (request, version) in enumerate(script)]
    frames.append(frame(ApiVersionsRequest(), LAST_VERSION, LAST_ID))
    stream = b"".join(frames)
    places = sorted({0, len(stream), *(int(cut * len(stream)) for cut in cuts)})
    pieces = [stream[start:end] for start, end in pairwise(places)]
    told, logged = [], []
    for broker in brokers:
        begin_anew(broker)
        told.append(answers(broker, pieces))
        logged.append(logs(broker))
    (one, one_is_whole), (other, other_is_whole) = told
    assert one_is_whole is other_is_whole
    count = None if one_is_whole else min(len(one), len(other))
    assert one[:count] == other[:count]
    assert logged[0] == logged[1]


def test_one_of_them_has_short_ways(brokers: tuple[RunningBroker, RunningBroker]) -> None:
    """Or nothing is said above."""
    routes = [broker.server.sockets.listeners[0].routes.find(b"\0\0\0\7") for broker in brokers]
    assert [route.answer_plain is not None for route in routes] == [True, False]
