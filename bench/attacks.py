"""The nastiest requests we know, for each API that is served: legal ones and illegal ones, of up to 1 MB and of 100 MB.

An attack is what it needs (`prepare`, on a broker of its own) and the frames that are sent, each on a connection of its
own, before any answer is read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.frames import request_frame
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.headers import encode_request_header
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import Message
from ottla.protocol.registry import Api, all_apis
from tests.support.batches import batch, record
from tests.support.client import API, Client

MB: Final = 1_000_000
#: Partitions of a topic called "wide".
WIDE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Attack:
    """`closes`: the broker answers by closing the connection. `reads`: whether the attacker takes the answers."""

    name: str
    frames: Callable[[], Sequence[bytes]]
    prepare: Callable[[Client], object] = lambda _client: None
    reads: bool = True
    #: Of what is sent, the records that the broker is to keep: in memory it has them instead of the frames.
    kept_bytes: int = 0
    #: After these, what is sent by somebody else and answered before it counts as over.
    then: Callable[[], Sequence[bytes]] = lambda: ()
    #: Asked, by another client, until it is so: what the attack has begun is over then.
    until: Callable[[Client], bool] = lambda _client: True


def wide_topic(client: Client) -> None:
    client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("wide", WIDE, 1)], 30_000), 7)


def one_topic(client: Client) -> None:
    client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("wide", 1, 1)], 30_000), 7)


def many_topics(client: Client) -> None:
    topics = [CreateTopicsRequest.CreatableTopic(f"topic-{number}", 1, 1) for number in range(1_000)]
    client.ask(CreateTopicsRequest(topics, 30_000), 7)


def topics_and_groups(client: Client) -> None:
    """A thousand topics, and a thousand groups that have read one of them."""
    many_topics(client)
    client.ask(FindCoordinatorRequest("g", 0), 2)
    for number in range(1_000):
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic("topic-0", partitions=[partition])
        client.send(OffsetCommitRequest(f"group-{number}", topics=[topic]), 7)
        client.receive()


def full(api: Api, size: int, element: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A request of some `size` bytes in its last version that is not flexible: one array of equal elements."""
    version = max(v for v in range(api.version_first, api.version_last + 1) if not api.is_flexible(v))
    return sized(
        api, version, before + struct.pack(">i", count(size, element)) + element * count(size, element) + after
    )


def count(size: int, element: bytes) -> int:
    return size // len(element)


def sized(api: Api, version: int, body: bytes) -> bytes:
    header = encode_request_header(api.key, version, 7, "bench", api.is_flexible(version))
    return struct.pack(">i", len(header) + len(body)) + header + body


def produce(batches: Sequence[tuple[int, bytes]], topic: str = "wide") -> bytes:
    partitions = [ProduceRequest.PartitionProduceData(index, records) for index, records in batches]
    topics = [ProduceRequest.TopicProduceData(topic, partition_data=partitions)]
    return request_frame(ProduceRequest(None, -1, 30_000, topics), 7)


def alike_records(records: int) -> bytes:
    """A batch of so many empty records in some hundred bytes."""
    payload = record(None, None) * records
    packed = compress(CompressionType.ZSTD, payload, 19)
    return batch(payload=packed, attributes=4, count=records, last_offset_delta=records - 1)


def zeros(codec: CompressionType, size: int) -> bytes:
    return batch(payload=compress(codec, bytes(size)), attributes=int(codec), count=1)


def fetch(partitions: int, *, topic: str = "wide", wait_ms: int = 0, epoch: int = -1, min_bytes: int = 1) -> bytes:
    listed = [FetchRequest.FetchPartition(index, partition_max_bytes=1_000) for index in range(partitions)]
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        session_epoch=epoch,
        topics=[FetchRequest.FetchTopic(topic, partitions=listed)],
    )
    return request_frame(request, 11)


def commit(partitions: int) -> bytes:
    listed = [OffsetCommitRequest.OffsetCommitRequestPartition(index % WIDE, 1) for index in range(partitions)]
    topic = OffsetCommitRequest.OffsetCommitRequestTopic("wide", partitions=listed)
    return request_frame(OffsetCommitRequest("g", topics=[topic]), 7)


def flexible_bodies(size: int) -> Iterator[Attack]:
    """Each API in its newest version: arrays of zeros and of ones all the way down, as far as a million bytes go."""
    for api in all_apis():
        if api.name in SERVED_NAMES and api.is_flexible(api.version_last):
            for name, octet in (("zeros", b"\0"), ("ones", b"\1"), ("twos", b"\2"), ("0xff", b"\xff")):
                body = b"\xff\xff\x3f" + octet * size if octet == b"\2" else octet * size
                frame = sized(api, api.version_last, body)
                yield Attack(f"{api.name}: {size // MB} MB of {name}", lambda frame=frame: [frame])  # type: ignore[misc]


def every_kind(size: int) -> Iterator[Attack]:
    """Each API in its last classic version with its array as long as the size allows, by what an element is."""
    strings = struct.pack(">h", 1) + b"x"
    pairs = strings + struct.pack(">iii", 1, 0, 0)
    for name, element, before, after in (
        ("Metadata", strings, b"", b"\1\0\0"),
        ("DescribeGroups", strings, b"", b"\0"),
        ("DeleteGroups", strings, b"", b""),
        ("DeleteTopics", strings, b"", struct.pack(">i", 30_000)),
        ("OffsetFetch", strings + struct.pack(">ii", 1, 0), b"\0\1g", b""),
        ("ListOffsets", strings + struct.pack(">iiiq", 1, 0, -1, -1), struct.pack(">ib", -1, 0), b""),
        ("DescribeConfigs", b"\2" + strings + struct.pack(">i", -1), b"", b"\0"),
        ("DescribeLogDirs", strings + struct.pack(">ii", 1, 0), b"", b""),
        ("DeleteRecords", strings + struct.pack(">iiq", 1, 0, 0), b"", struct.pack(">i", 1)),
        ("OffsetForLeaderEpoch", strings + struct.pack(">iiii", 1, 0, -1, 0), struct.pack(">i", -1), b""),
        ("OffsetDelete", strings + struct.pack(">ii", 1, 0), b"\0\1g", b""),
        ("ElectLeaders", strings + struct.pack(">ii", 1, 0), b"\0", struct.pack(">i", 1_000)),
        ("AlterConfigs", b"\2" + strings + struct.pack(">i", 0), b"", b"\1"),
        ("IncrementalAlterConfigs", b"\2" + strings + struct.pack(">i", 0), b"", b"\1"),
        ("CreateTopics", strings + struct.pack(">ihii", 1, 1, 0, 0), b"", struct.pack(">i", 1_000) + b"\1"),
        ("CreatePartitions", strings + struct.pack(">ii", 2, -1), b"", struct.pack(">i", 1_000) + b"\1"),
        ("LeaveGroup", strings + b"\xff\xff", b"\0\1g", b""),
        ("SyncGroup", strings + struct.pack(">i", 0), b"\0\1g" + struct.pack(">i", 1) + b"\0\1m\xff\xff", b""),
        (
            "JoinGroup",
            strings + struct.pack(">i", 0),
            b"\0\1g" + struct.pack(">ii", 6000, 6000) + b"\0\0\xff\xff\0\1c",
            b"",
        ),
        ("OffsetCommit", pairs, b"\0\1g" + struct.pack(">i", -1) + b"\0\0\xff\xff", b""),
        (
            "Fetch",
            strings + struct.pack(">i", 0),
            struct.pack(">iiiibii", -1, 0, 1, 1_000, 0, 0, -1),
            struct.pack(">i", 0) + b"\0\0",
        ),
        ("Produce", strings + struct.pack(">iii", 1, 0, 0), struct.pack(">hhi", -1, -1, 1_000), b""),
    ):
        api = API[name]
        yield Attack(
            f"{name}: {size // MB} MB of small elements",
            lambda api=api, element=element, before=before, after=after: [full(api, size, element, before, after)],  # type: ignore[misc]
            one_topic,
        )


def special() -> Iterator[Attack]:
    """What takes some thought: a small request with much work behind it."""
    for kind in (produces, fetches, metadata, topics, configs, groups, frames):
        yield from kind()


def produces() -> Iterator[Attack]:
    """Batches that are many, large, or said to hold much."""
    yield Attack(
        "Produce: 9,000 zstd batches of a million records",
        lambda: [produce([(index, MILLION()) for index in range(9_000)])],
        wide_topic,
    )
    yield Attack(
        "Produce: 200 zstd batches of 100 MiB of zeros",
        lambda: [produce([(index, BOMB()) for index in range(200)])],
        wide_topic,
    )
    yield Attack(
        "Produce: 1 MB of empty batches", lambda: [produce([(index, batch()) for index in range(9_000)])], wide_topic
    )
    yield Attack(
        "Produce: 1 MB in one batch of tiny records",
        lambda: [produce([(0, batch([(None, None)] * 100_000))])],
        one_topic,
    )
    yield Attack(
        "Produce: 90 MB in batches of tiny records",
        lambda: [produce([(index, batch([(None, None)] * 100_000)) for index in range(100)])],
        wide_topic,
        kept_bytes=89 * MB,
    )
    yield Attack(
        "Produce: 100 MB in batches of 1 MB",
        lambda: [produce([(index, batch([(None, bytes(1_000_000))])) for index in range(100)])],
        wide_topic,
        kept_bytes=100 * MB,
    )


def fetches() -> Iterator[Attack]:
    """Waiting for many partitions, and fetch sessions."""
    yield Attack("Fetch: 10,000 partitions", lambda: [fetch(WIDE)], wide_topic)
    yield Attack(
        "Fetch: 10 parked on 10,000 partitions, and a produce to 100",
        lambda: [fetch(WIDE, wait_ms=3_000)] * 10,
        wide_topic,
        then=lambda: [produce([(index * 7, batch()) for index in range(100)])],
    )
    yield Attack(
        "Fetch: the same, but not enough for them",
        lambda: [fetch(WIDE, wait_ms=3_000, min_bytes=1_000_000)] * 10,
        wide_topic,
        then=lambda: [produce([(index * 7, batch()) for index in range(100)])],
    )
    yield Attack("Fetch: 20 sessions of 50,000 unknown partitions", lambda: [fetch(50_000, topic="none", epoch=0)] * 20)


def metadata() -> Iterator[Attack]:
    """Answers much larger than what is asked."""
    yield Attack("Metadata: all of 10,000 partitions", lambda: [request_frame(MetadataRequest(None), 8)], wide_topic)
    yield Attack(
        "Metadata: 20 such answers nobody reads",
        lambda: [request_frame(MetadataRequest(None), 8) * 10] * 20,
        wide_topic,
        reads=False,
    )


def topics() -> Iterator[Attack]:
    """Topics and partitions that come and go by the thousand."""
    yield Attack(
        "CreateTopics: 10,000 partitions",
        lambda: [request_frame(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("wider", WIDE, 1)], 30_000), 4)],
    )
    yield Attack(
        "CreateTopics: 10,000 topics",
        lambda: [
            request_frame(
                CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(f"t{n}", 1, 1) for n in range(10_000)], 30_000),
                4,
            )
        ],
    )
    yield Attack(
        "DeleteTopics: one of 10,000 partitions",
        lambda: [request_frame(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=30_000), 3)],
        wide_topic,
    )
    yield Attack(
        "DeleteTopics: 1,000 topics, with 1,000 groups",
        lambda: [
            request_frame(DeleteTopicsRequest(topic_names=[f"topic-{n}" for n in range(1_000)], timeout_ms=30_000), 3)
        ],
        topics_and_groups,
    )


def configs() -> Iterator[Attack]:
    """All configs, again and again."""
    broker_configs = DescribeConfigsRequest.DescribeConfigsResource(4, "1")
    yield Attack(
        "DescribeConfigs: the broker 1,000 times",
        lambda: [request_frame(DescribeConfigsRequest([broker_configs] * 1_000, True), 1)],
    )
    yield Attack(
        "DescribeConfigs: 1,000 topics",
        lambda: [
            request_frame(
                DescribeConfigsRequest(
                    [DescribeConfigsRequest.DescribeConfigsResource(2, f"topic-{n}") for n in range(1_000)], True
                ),
                1,
            )
        ],
        many_topics,
    )


def groups() -> Iterator[Attack]:
    """A group again and again, and all that it has committed."""
    yield Attack(
        "DescribeGroups: a group 30,000 times",
        lambda: [request_frame(DescribeGroupsRequest(["group-1"] * 30_000), 4)],
        topics_and_groups,
    )
    yield Attack("OffsetCommit: 10,000 partitions", lambda: [commit(WIDE)], wide_topic)
    yield Attack("OffsetCommit: 50,000 partitions", lambda: [commit(50_000)], wide_topic)
    yield Attack(
        "OffsetFetch: all of a group, 10,000 times",
        lambda: [
            request_frame(
                OffsetFetchRequest(
                    groups=[OffsetFetchRequest.OffsetFetchRequestGroup("group-1", topics=None)] * 10_000
                ),
                8,
            )
        ],
        topics_and_groups,
    )


def frames() -> Iterator[Attack]:
    """What is not sent to its end, and what is no text."""
    named = [OffsetFetchRequest.OffsetFetchRequestTopics(f"topic-{n}", partition_indexes=[0]) for n in range(33_000)]
    yield Attack(
        "OffsetFetch: 33,000 topics",
        lambda: [
            request_frame(
                OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup("group-1", topics=named)]), 8
            )
        ],
        topics_and_groups,
    )
    yield Attack(
        "Frames: 20 of 90 MB, half sent", lambda: [struct.pack(">i", 90 * MB) + bytes(45 * MB)] * 20, reads=False
    )
    yield Attack(
        "Metadata: 90 MB of names that are no UTF-8",
        lambda: [full(API["Metadata"], 90 * MB, struct.pack(">h", 30_000) + b"\xff" * 30_000, b"", b"\1\0\0")],
    )
    yield Attack(
        "Metadata: 1 MB of names that are no UTF-8",
        lambda: [full(API["Metadata"], MB, struct.pack(">h", 30_000) + b"\xff" * 30_000, b"", b"\1\0\0")],
    )


def _once(make: Callable[[], bytes]) -> Callable[[], bytes]:
    made: list[bytes] = []

    def get() -> bytes:
        if not made:
            made.append(make())
        return made[0]

    return get


MILLION: Final = _once(lambda: alike_records(1_000_000))
BOMB: Final = _once(lambda: zeros(CompressionType.ZSTD, 100 * 1024 * 1024))


def served_names() -> frozenset[str]:
    from ottla.broker.network.apis import SERVED

    return frozenset(api.name for api in all_apis() if api.key in SERVED)


SERVED_NAMES: Final[Any] = served_names()


def all_attacks() -> list[Attack]:
    return [*special(), *every_kind(MB), *every_kind(90 * MB), *flexible_bodies(MB)]


__all__ = ["Attack", "Message", "all_attacks"]
