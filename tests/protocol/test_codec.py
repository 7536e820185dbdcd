"""Every message in every version: what is written reads back equal, and every other codec agrees on the bytes.

Three others judge: kafka-python, which interprets the schemas; kio, with a class for each version; and Apache Kafka's
own generated classes. What they cannot hold, and why, stands at the head of their modules in `peers/`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.primitives import EncodeError, Message
from tests.protocol.cases import every, every_kind, few_examples
from tests.protocol.peers import kafka_python, kio
from tests.protocol.peers.kafka import KafkaCodec, Reading, assert_same_values
from tests.protocol.strategies import (
    UNKNOWN_TAG_FIRST,
    Kind,
    extreme_messages,
    is_flexible,
    kinds_and_versions,
    messages,
)


@every()
@few_examples
@given(data=st.data())
def test_what_is_written_reads_back_equal(kind: Kind, version: int, data: st.DataObject) -> None:
    """decode(encode(message)) == message, tags that nobody knows included, and it is written the same again."""
    message = data.draw(messages(kind, version))
    frame = message.encode(version)
    again = kind.decode(frame, version)
    assert again == message
    assert again.encode(version) == frame


@every_kind
def test_the_corners_of_every_field_read_back_equal(kind: Kind) -> None:
    """In each version the lowest and highest numbers, long texts, bytes and arrays, and null wherever it may be."""
    for version in kind.READERS:
        for message in extreme_messages(kind, version):
            assert kind.decode(message.encode(version), version) == message, version


@every()
@few_examples
@given(data=st.data())
def test_kafka_reads_and_writes_the_same(
    kind: Kind, version: int, data: st.DataObject, apache_kafka: KafkaCodec
) -> None:
    """Kafka finds the same value in every field, nothing is left over, and it writes the very same bytes."""
    _assert_kafka_agrees(apache_kafka, data.draw(messages(kind, version)), version)


@every_kind
def test_kafka_reads_and_writes_the_corners_the_same(kind: Kind, apache_kafka: KafkaCodec) -> None:
    """The same for the lowest and highest values and for nulls, in each version."""
    for version in kind.READERS:
        for message in extreme_messages(kind, version):
            _assert_kafka_agrees(apache_kafka, message, version)


def _assert_kafka_agrees(apache_kafka: KafkaCodec, message: Message, version: int) -> None:
    frame = message.encode(version)
    reading = apache_kafka.read(type(message), version, frame)
    assert isinstance(reading, Reading), reading
    assert_same_values(message, version, reading.values)
    assert reading.bytes_left == 0
    assert reading.written == frame


@every(kafka_python.knows)
@few_examples
@given(data=st.data())
def test_kafka_python_reads_and_writes_the_same(kind: Kind, version: int, data: st.DataObject) -> None:
    """kafka-python writes the same bytes for the same values, and reads the values from them."""
    message = data.draw(messages(kind, version, unknown_tags=False))
    frame = message.encode(version)
    assert kafka_python.encode(message, version) == frame
    assert kafka_python.decode(kind, version, frame) == message


@every(kio.knows)
@few_examples
@given(data=st.data())
def test_kio_reads_and_writes_the_same(kind: Kind, version: int, data: st.DataObject) -> None:
    """kio writes the same bytes for the same values, and reads the values from them."""
    message = kio.narrowed(data.draw(messages(kind, version, unknown_tags=False)), version)
    frame = message.encode(version)
    assert kio.encode(message, version) == frame
    assert kio.decode(kind, version, frame) == message


def test_every_message_has_judges() -> None:
    """kio knows every request and response up to its release, and kafka-python those of the 52 APIs in its wheel."""
    apis = [(kind, v) for kind, v in kinds_and_versions() if kind.__name__.endswith(("Request", "Response"))]
    assert len({kind for kind, _ in apis}) == 2 * 75
    unknown = [(kind.__name__, version) for kind, version in apis if not kio.knows(kind, version)]
    assert sorted(unknown) == sorted((name + kind, v) for name, v in kio.NEWER for kind in ("Request", "Response"))
    assert len({kind for kind, version in apis if kafka_python.knows(kind, version)}) >= 2 * 52


@every_kind
def test_a_fresh_message_can_be_written_in_every_version(kind: Kind) -> None:
    """What a constructor is not given has a value that may travel: the one Kafka leaves there."""
    for version in kind.READERS:
        fresh = kind()
        assert kind.decode(fresh.encode(version), version) == fresh


def test_tags_of_a_newer_peer_are_kept_in_order() -> None:
    """Tags that no schema knows survive reading and writing, between known ones and sorted by number."""
    from ottla.protocol.messages.fetch import FetchRequest

    request = FetchRequest(cluster_id="c", replica_state=FetchRequest.ReplicaState(3, 4))
    request.unknown_tagged_fields = {UNKNOWN_TAG_FIRST: b"later", 2: b"soon"}
    frame = request.encode(17)
    read = FetchRequest.decode(frame, 17)
    assert read.unknown_tagged_fields == {2: b"soon", UNKNOWN_TAG_FIRST: b"later"}
    assert read == request
    assert read.encode(17) == frame


@pytest.mark.parametrize(
    ("values", "version"),
    [
        ({"group_id": "g" * 32_768}, 0),
        ({"group_id": "g" * 32_768}, 4),
        ({"group_id": "\ud800"}, 4),
        ({"generation_id": 2**31}, 4),
    ],
    ids=["classic string too long", "compact string too long", "half a surrogate pair", "number too high"],
)
def test_a_value_that_does_not_fit_is_not_written(values: dict[str, Any], version: int) -> None:
    """`EncodeError`, whatever the reason: peers would refuse the frame, or read another value."""
    from ottla.protocol.messages.heartbeat import HeartbeatRequest

    with pytest.raises(EncodeError):
        HeartbeatRequest(**values).encode(version)


def test_flexible_versions_are_where_the_registry_says() -> None:
    """The registry's first flexible version is the first whose messages have tag sections."""
    from ottla.protocol.registry import all_apis

    for api in filter(lambda api: api.module, all_apis()):
        for version in api.request.READERS:
            assert is_flexible(api.request, version) == api.is_flexible(version) == is_flexible(api.response, version)
