"""How many elements a message may have: Kafka 4.4's limits, and that nothing is made of a number that can't be true."""

from __future__ import annotations

import struct

import pytest

from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import ARRAY_ELEMENTS_MAX, TAGGED_FIELDS_MAX, DecodeError, unsigned_varint


@pytest.mark.parametrize(("count", "is_read"), [(ARRAY_ELEMENTS_MAX, True), (ARRAY_ELEMENTS_MAX + 1, False)])
def test_elements_of_an_array(count: int, is_read: bool) -> None:
    """Of strings; an array of them is empty or not, and each is looked at."""
    body = struct.pack(">i", count) + bytes(2) * count + struct.pack(">i", 0)
    if is_read:
        assert len(DeleteTopicsRequest.decode(body, 1).topic_names) == count
    else:
        with pytest.raises(DecodeError, match=f"topic_names has {count} elements"):
            DeleteTopicsRequest.decode(body, 1)


@pytest.mark.parametrize(("count", "is_read"), [(ARRAY_ELEMENTS_MAX, True), (ARRAY_ELEMENTS_MAX + 1, False)])
def test_elements_of_an_array_of_numbers(count: int, is_read: bool) -> None:
    body = b"\2\2t" + unsigned_varint(count + 1) + bytes(4) * count + b"\0\0"
    if is_read:
        assert len(DescribeProducersRequest.decode(body, 0).topics[0].partition_indexes) == count
    else:
        with pytest.raises(DecodeError, match=f"partition_indexes has {count} elements"):
            DescribeProducersRequest.decode(body, 0)


@pytest.mark.parametrize(("count", "is_read"), [(TAGGED_FIELDS_MAX, True), (TAGGED_FIELDS_MAX + 1, False)])
def test_tagged_fields(count: int, is_read: bool) -> None:
    """Nobody knows any of them."""
    tags = b"".join(unsigned_varint(tag) + b"\0" for tag in range(count))
    body = b"\1" + b"\1\0\0" + unsigned_varint(count) + tags
    if is_read:
        assert len(MetadataRequest.decode(body, 9).unknown_tagged_fields or ()) == count
    else:
        with pytest.raises(DecodeError, match=f"a tag section has {count} fields"):
            MetadataRequest.decode(body, 9)


def test_elements_that_the_bytes_left_can_not_hold() -> None:
    """A topic to be created takes sixteen bytes at least: there are as many bytes as topics, and more."""
    body = struct.pack(">i", 20) + bytes(16 * 19) + bytes(4)
    with pytest.raises(DecodeError, match="topics claims 20 elements"):
        CreateTopicsRequest.decode(body, 2)
