"""What is odd on the wire, one row each, and what becomes of it: Kafka's generated classes decide, and are asked.

The rules stand in `generate/reader.py`. They matter little to honest clients; but a stand-in that refuses what Kafka
takes, or the reverse, sends somebody after the wrong bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pytest

from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import DecodeError
from tests.protocol.peers.kafka import KafkaCodec, Reading, Refusal
from tests.protocol.strategies import Kind


@dataclass(frozen=True, slots=True)
class Oddity:
    """A frame that is odd in one way, and the values read from it; or words of the refusal."""

    kind: Kind
    version: int
    frame: bytes
    becomes: dict[str, Any] | str


def _heartbeat_v0(group_id: bytes) -> bytes:
    return group_id + b"\0\0\0\1" + b"\0\1m"


def _heartbeat_v4(group_id: bytes = b"\x02g", group_instance_id: bytes = b"\x02i", tags: bytes = b"\0") -> bytes:
    return group_id + b"\0\0\0\1" + b"\x02m" + group_instance_id + tags


def _fetch_v17(tags: bytes) -> bytes:
    """A Fetch of nothing; the tags are cluster_id, 0, and replica_state, 1."""
    return bytes(12) + b"\0" + bytes(8) + b"\1\1\1" + tags


_CURSOR: Final = b"\x02t" + b"\0\0\0\7" + b"\0"

ODDITIES: Final = {
    # lengths and counts
    "any negative length is null": Oddity(
        HeartbeatRequest, 3, _heartbeat_v0(b"\0\1g") + b"\xff\xfe", {"group_id": "g", "group_instance_id": None}
    ),
    "any negative count is null": Oddity(MetadataRequest, 1, b"\xff\xff\xff\xf9", {"topics": None}),
    "any negative compact length is null": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(group_instance_id=b"\xff\xff\xff\xff\x0f"), {"group_instance_id": None}
    ),
    "but the lowest int32 wraps to the longest": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(group_instance_id=b"\x80\x80\x80\x80\x08"), "more than any may have"
    ),
    "null where the version has none": Oddity(HeartbeatRequest, 0, _heartbeat_v0(b"\xff\xff"), "group_id is null"),
    "compact null where the version has none": Oddity(HeartbeatRequest, 4, _heartbeat_v4(b"\0"), "group_id is null"),
    "a string longer than the frame": Oddity(HeartbeatRequest, 0, _heartbeat_v0(b"\x7f\xffg"), "cut short"),
    "a last string longer than the frame": Oddity(
        HeartbeatRequest, 3, _heartbeat_v0(b"\0\1g") + b"\0\2i", "claims 1 bytes more"
    ),
    "an array longer than the frame": Oddity(MetadataRequest, 1, b"\x7f\xff\xff\xff", "claims 2147483647 elements"),
    "a compact string of 32,767 bytes": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(b"\x80\x80\x02" + b"g" * 32_767), {"group_id": "g" * 32_767}
    ),
    "a compact string of 32,768 bytes": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(b"\x81\x80\x02" + b"g" * 32_768), "more than any may have"
    ),
    # varints
    "a varint padded to five bytes": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(b"\x82\x80\x80\x80\0g"), {"group_id": "g"}
    ),
    "bits of a varint beyond the 32nd are dropped": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(b"\x82\x80\x80\x80\x70g"), {"group_id": "g"}
    ),
    "a varint of six bytes": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(b"\x82\x80\x80\x80\x80\0g"), "more than five bytes"
    ),
    # values
    "a bool is true unless zero": Oddity(
        DescribeGroupsRequest, 3, bytes(4) + b"\2", {"include_authorized_operations": True}
    ),
    "bad UTF-8 is replaced": Oddity(HeartbeatRequest, 0, _heartbeat_v0(b"\0\3g\xffh"), {"group_id": "g\ufffdh"}),
    "any byte not below zero says a struct is there": Oddity(
        DescribeTopicPartitionsRequest,
        0,
        b"\1" + bytes(4) + b"\5" + _CURSOR + b"\0",
        {"cursor": DescribeTopicPartitionsRequest.Cursor("t", 7)},
    ),
    "any byte below zero says it is null": Oddity(
        DescribeTopicPartitionsRequest, 0, b"\1" + bytes(4) + b"\x80" + b"\0", {"cursor": None}
    ),
    # the end
    "bytes left over are ignored": Oddity(HeartbeatRequest, 0, _heartbeat_v0(b"\0\1g") + b"left", {"group_id": "g"}),
    "an empty frame is a message without fields": Oddity(ApiVersionsRequest, 0, b"", {}),
    "an empty frame is no other message": Oddity(HeartbeatRequest, 0, b"", "cut short"),
    "a frame without its tag section": Oddity(HeartbeatRequest, 4, _heartbeat_v4(tags=b""), "cut short"),
    # tags
    "what size a known tag claims does not matter": Oddity(
        FetchRequest, 17, _fetch_v17(b"\1" + b"\0\x63\x02c"), {"cluster_id": "c"}
    ),
    "of a known tag the last one counts": Oddity(
        FetchRequest, 17, _fetch_v17(b"\2" + b"\0\2\2a" + b"\0\2\2b"), {"cluster_id": "b"}
    ),
    "of an unknown tag the last one counts": Oddity(
        FetchRequest, 17, _fetch_v17(b"\2" + b"\5\1a" + b"\5\1b"), {"unknown_tagged_fields": {5: b"b"}}
    ),
    "tags may stand in any order": Oddity(
        FetchRequest,
        17,
        _fetch_v17(b"\2" + b"\5\1x" + b"\0\2\2c"),
        {"cluster_id": "c", "unknown_tagged_fields": {5: b"x"}},
    ),
    "a negative number of tags": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(tags=b"\xff\xff\xff\xff\x0f"), "claims -1 fields"
    ),
    "the lowest number of tags": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(tags=b"\x80\x80\x80\x80\x08"), "claims -2147483648 fields"
    ),
    "a negative number of tags, where some are known": Oddity(
        FetchRequest, 17, _fetch_v17(b"\xff\xff\xff\xff\x0f"), "claims -1 fields"
    ),
    "more tags than bytes": Oddity(HeartbeatRequest, 4, _heartbeat_v4(tags=b"\x7f"), "claims 127 elements"),
    "an unknown tag longer than the frame": Oddity(
        HeartbeatRequest, 4, _heartbeat_v4(tags=b"\1" + b"\5\x09x"), "claims 9 bytes"
    ),
    "a tag that only later versions know": Oddity(
        FetchRequest, 12, bytes(4) + _fetch_v17(b"\1" + b"\1\0"), "tag 1 is not part of this version"
    ),
}


@pytest.mark.parametrize("oddity", ODDITIES.values(), ids=ODDITIES.keys())
def test_an_odd_frame_becomes_what_the_table_says(oddity: Oddity) -> None:
    """Values, or a refusal that says what was wrong."""
    if isinstance(oddity.becomes, str):
        with pytest.raises(DecodeError, match=oddity.becomes):
            oddity.kind.decode(oddity.frame, oddity.version)
    else:
        message = oddity.kind.decode(oddity.frame, oddity.version)
        assert {name: getattr(message, name) for name in oddity.becomes} == oddity.becomes


@pytest.mark.parametrize("oddity", ODDITIES.values(), ids=ODDITIES.keys())
def test_kafka_refuses_what_the_table_refuses_and_nothing_else(oddity: Oddity, apache_kafka: KafkaCodec) -> None:
    """The table is Kafka's judgement, not ours."""
    reading = apache_kafka.read(oddity.kind, oddity.version, oddity.frame)
    assert isinstance(reading, Refusal if isinstance(oddity.becomes, str) else Reading), reading
