"""Subscriptions and assignments: as consumers write them, as the coordinator and people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment as TheirAssignment
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription as TheirSubscription

from ottla.protocol.consumer import (
    VERSION_LAST,
    read_assignment,
    read_subscribed_topics,
    read_subscription,
    write_assignment,
    write_subscription,
)
from ottla.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.primitives import DecodeError
from tests.protocol.strategies import kinds_and_versions, messages

Owned = ConsumerProtocolSubscription.TopicPartition
Assigned = ConsumerProtocolAssignment.TopicPartition

VERSIONS = [version for kind, version in kinds_and_versions() if kind is ConsumerProtocolSubscription]

ORDERS = ConsumerProtocolSubscription(
    topics=["orders", "refunds"],
    user_data=b"sticky",
    owned_partitions=[Owned("orders", [0, 1])],
    generation_id=7,
    rack_id="cellar",
)


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_what_is_written_reads_back_equal(version: int, data: st.DataObject) -> None:
    """In every version, subscriptions and assignments alike; the two have the same versions."""
    subscription = data.draw(messages(ConsumerProtocolSubscription, version))
    assignment = data.draw(messages(ConsumerProtocolAssignment, version))
    assert isinstance(subscription, ConsumerProtocolSubscription)
    assert isinstance(assignment, ConsumerProtocolAssignment)
    assert max(ConsumerProtocolAssignment.READERS) == VERSION_LAST
    assert read_subscription(write_subscription(subscription, version)) == subscription
    assert read_assignment(write_assignment(assignment, version)) == assignment


def test_kafka_python_writes_what_is_read_here() -> None:
    """A consumer's own bytes, version prefix and all, in both directions."""
    theirs = TheirSubscription(
        version=3,
        topics=["orders", "refunds"],
        user_data=b"sticky",
        owned_partitions=[("orders", [0, 1])],
        generation_id=7,
        rack_id="cellar",
    ).encode()
    assert read_subscription(theirs) == ORDERS
    assert write_subscription(ORDERS) == theirs
    assigned = TheirAssignment(version=1, assigned_partitions=[("orders", [2])], user_data=b"").encode()
    assert read_assignment(assigned) == ConsumerProtocolAssignment([Assigned("orders", [2])], b"")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_topics_are_read_from_any_version(version: int) -> None:
    """The first version is the beginning of all others, and the topics come first."""
    assert read_subscribed_topics(write_subscription(ORDERS, version)) == ["orders", "refunds"]


def test_a_newer_version_is_read_as_the_newest_known() -> None:
    """Version 99 has added fields at the end: what is known is read, the rest left."""
    newer = (99).to_bytes(2) + ORDERS.encode(3) + b"fields of the future"
    assert read_subscription(newer) == ORDERS
    assert read_subscribed_topics(newer) == ["orders", "refunds"]
    assert read_assignment((99).to_bytes(2) + ConsumerProtocolAssignment([Assigned("t", [5])]).encode(3) + b"more") == (
        ConsumerProtocolAssignment([Assigned("t", [5])])
    )


def test_the_topics_are_read_though_the_rest_is_broken() -> None:
    """The coordinator does not care for what version 1 and later put behind the first version's fields."""
    broken = (1).to_bytes(2) + ORDERS.encode(0) + b"\x7f\xff\xff\xff"
    assert read_subscribed_topics(broken) == ["orders", "refunds"]
    with pytest.raises(DecodeError, match="owned_partitions"):
        read_subscription(broken)


def test_no_bytes_are_no_assignment() -> None:
    """A member whom the leader gave nothing, or that has not been told yet."""
    assert read_assignment(b"") == ConsumerProtocolAssignment()


@pytest.mark.parametrize(
    "blob", [b"", b"\0", b"\xff\xff", b"\0\0", b"\0\0\0\0\0\1"], ids=lambda blob: blob.hex() or "empty"
)
def test_a_blob_that_is_none_of_it_is_refused(blob: bytes) -> None:
    """Too short, a negative version, or cut off: another program's metadata, perhaps."""
    with pytest.raises(DecodeError):
        read_subscription(blob)
    with pytest.raises(DecodeError):
        read_subscribed_topics(blob)
    if blob:
        with pytest.raises(DecodeError):
            read_assignment(blob)


@given(st.binary(max_size=40))
def test_any_blob_is_read_or_refused(blob: bytes) -> None:
    """Members may send what they like; nothing but `DecodeError` comes of it."""
    for read in (read_subscription, read_subscribed_topics, read_assignment):
        try:
            read(blob)
        except DecodeError:
            continue
