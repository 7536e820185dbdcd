"""What consumers tell each other through JoinGroup and SyncGroup: subscriptions and assignments.

To the broker they are opaque bytes, with two exceptions: the coordinator reads which topics a group reads, and tools
show which member has which partitions. Each begins with an int16, its version:

    metadata in JoinGroup     version · topics · user_data · v1: owned_partitions · v2: generation_id · v3: rack_id
    assignment in SyncGroup   version · assigned_partitions · user_data

A version only adds fields at the end. So a version newer than the newest known one is read as that one, and the rest is
ignored; to get the topics alone, any version is read as the first. An assignment is empty if there is no leader.
Kafka: clients/.../consumer/internals/ConsumerProtocol.java.
"""

from __future__ import annotations

from typing import Final, TypeVar

from ottla.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.primitives import DecodeError, Message

#: The protocol_type of a group whose members use this protocol.
PROTOCOL_TYPE: Final = "consumer"

#: The newest version of both; Kafka, too, insists that they agree.
VERSION_LAST: Final = max(ConsumerProtocolSubscription.READERS)

_VERSION_BYTES: Final = 2
_Blob = TypeVar("_Blob", bound=Message)


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """What a member told the group's leader when it joined. Raises `DecodeError`."""
    return _read(ConsumerProtocolSubscription, metadata)


def read_subscribed_topics(metadata: bytes) -> list[str]:
    """The topics alone, as the coordinator reads them: whatever comes behind may be broken. Raises `DecodeError`."""
    _version(metadata)
    return ConsumerProtocolSubscription.decode(metadata, 0, _VERSION_BYTES).topics


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """What the leader gave a member; nothing, if there are no bytes. Raises `DecodeError`."""
    return _read(ConsumerProtocolAssignment, assignment) if assignment else ConsumerProtocolAssignment()


def write_subscription(subscription: ConsumerProtocolSubscription, version: int = VERSION_LAST) -> bytes:
    """The metadata a member sends with JoinGroup."""
    return _write(subscription, version)


def write_assignment(assignment: ConsumerProtocolAssignment, version: int = VERSION_LAST) -> bytes:
    """The assignment a leader sends with SyncGroup."""
    return _write(assignment, version)


def _read(kind: type[_Blob], blob: bytes) -> _Blob:
    return kind.decode(blob, min(_version(blob), VERSION_LAST), _VERSION_BYTES)


def _write(blob: Message, version: int) -> bytes:
    return version.to_bytes(_VERSION_BYTES) + blob.encode(version)


def _version(blob: bytes) -> int:
    version = int.from_bytes(blob[:_VERSION_BYTES], signed=True)
    if len(blob) < _VERSION_BYTES or version < 0:
        raise DecodeError(f"the consumer protocol has no version {blob[:_VERSION_BYTES].hex() or 'at all'}")
    return version
