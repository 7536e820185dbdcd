"""Messages as a trace has them: fields by Kafka's names, of their version, with what is opaque opened."""

from __future__ import annotations

from ottla.control.state.decoded import ELEMENTS_MAX, TEXT_CHARACTERS_MAX, as_json, bytes_as_text, records_as_json
from ottla.protocol.consumer import write_assignment, write_subscription
from ottla.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.messages.heartbeat import HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from ottla.protocol.messages.sync_group import SyncGroupResponse
from tests.support.batches import batch


def test_fields_are_those_of_the_version() -> None:
    """And errors have their names."""
    answer = HeartbeatResponse(error_code=25, throttle_time_ms=7)
    assert as_json(answer, 0) == {"error_code": "UNKNOWN_MEMBER_ID (25)"}
    assert as_json(answer, 1) == {"throttle_time_ms": 7, "error_code": "UNKNOWN_MEMBER_ID (25)"}
    assert as_json(None, 0) is None


def test_what_consumers_say_is_opened() -> None:
    """Subscriptions and assignments; of another protocol the bytes."""
    subscription = write_subscription(ConsumerProtocolSubscription(topics=["orders"]), 0)
    protocols = [
        JoinGroupRequest.JoinGroupRequestProtocol("range", subscription),
        JoinGroupRequest.JoinGroupRequestProtocol("other", b"\xff"),
    ]
    join = JoinGroupRequest(group_id="kitchen", protocols=protocols)
    shown = as_json(join, 0)["protocols"]
    assert shown[0] == {"name": "range", "metadata": {"topics": ["orders"], "user_data": None}}
    assert shown[1] == {"name": "other", "metadata": "0xff"}
    given = write_assignment(
        ConsumerProtocolAssignment([ConsumerProtocolAssignment.TopicPartition("orders", [0, 2])]), 0
    )
    assert as_json(SyncGroupResponse(assignment=given), 0)["assignment"]["assigned_partitions"] == [
        {"topic": "orders", "partitions": [0, 2]}
    ]


def test_records_are_opened() -> None:
    """Batch by batch, with keys, values and headers; what is none is said so."""
    (shown,) = records_as_json(batch([(None, b"soup"), (b"k", b"\xfe\xff")]))
    assert shown["base_offset"] == 0
    assert [record["value"] for record in shown["records"]] == ["soup", "0xfeff"]
    assert "no batches" in records_as_json(bytes(70))
    assert records_as_json(b"") == []


def test_what_is_long_is_cut() -> None:
    """With how much there is of it."""
    long = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=f"t{n}") for n in range(ELEMENTS_MAX + 5)])
    topics = as_json(long, 1)["topics"]
    assert len(topics) == ELEMENTS_MAX + 1
    assert topics[-1] == "… and 5 more"
    assert bytes_as_text(b"a" * 3000) == f"{'a' * TEXT_CHARACTERS_MAX}… (3000 bytes)"
    assert bytes_as_text(b"soup") == "soup"


def test_secrets_are_left_out() -> None:
    """A trace is passed around."""
    assert as_json(SaslAuthenticateRequest(auth_bytes=b"\0ana\0pass"), 0) == {"auth_bytes": "(not shown)"}
