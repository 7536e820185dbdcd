"""OffsetCommit as consumers send it again and again: the same but for how far they have read.

    client id · group · generation · member · one topic · how many partitions    the beginning
    partition · offset · leader epoch · metadata, for each of them               what moves

A connection remembers the beginning of the last one with what it says, and of the next one that begins with the same
bytes only the partitions are read: in half the time that the generated codec takes for all of it. What is not of the
usual form is left to the codec, and so is what can't be read; a test holds the two to the same requests.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import Final

from ottla.pacing import FEW_ELEMENTS
from ottla.protocol.messages.offset_commit import OffsetCommitRequest

_Partition = OffsetCommitRequest.OffsetCommitRequestPartition
_Topic = OffsetCommitRequest.OffsetCommitRequestTopic

#: From this version on partitions have a leader epoch, and from this one on the form is flexible.
_LEADER_EPOCHS_FROM: Final = 6
_FLEXIBLE_FROM: Final = 8

_PARTITION: Final = Struct(">iqih")
_FLEXIBLE_PARTITION: Final = Struct(">iqiB")
_unpack = _PARTITION.unpack_from
_unpack_flexible = _FLEXIBLE_PARTITION.unpack_from
_PARTITION_BYTES: Final = _PARTITION.size
_FLEXIBLE_PARTITION_BYTES: Final = _FLEXIBLE_PARTITION.size
#: A varint has further bytes from here on.
_LONG_VARINT: Final = 0x80
#: Behind a topic's partitions, in flexible versions: that neither the topic nor the request has tagged fields.
_NO_TAGS: Final = b"\0\0"


class CommitBeginning:
    """What the beginning of an OffsetCommit says. `at`: where in the frame it ends."""

    __slots__ = ("_count", "_is_flexible", "_said", "_topic", "at")

    def __init__(self, request: OffsetCommitRequest, at: int, *, is_flexible: bool) -> None:
        (topic,) = request.topics
        self.at = at
        self._said = (
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
            request.retention_time_ms,
        )
        self._topic = topic.name, topic.topic_id  # by value, for the handler fills in what is missing
        self._count = len(topic.partitions)
        self._is_flexible = is_flexible

    def read(self, frame: bytes) -> OffsetCommitRequest | None:
        """The request in a frame that begins so; None: the codec is to read it."""
        try:
            partitions = self._read_flexible(frame) if self._is_flexible else self._read(frame)
        except (struct.error, IndexError):
            return None
        if partitions is None:
            return None
        return OffsetCommitRequest(*self._said, [_Topic(*self._topic, partitions)])

    def _read(self, frame: bytes) -> list[_Partition] | None:
        position = self.at
        partitions = []
        for _ in range(self._count):
            index, offset, leader_epoch, size = _unpack(frame, position)
            position += _PARTITION_BYTES
            metadata: str | None = ""
            if size > 0:
                metadata = frame[position : position + size].decode("utf-8", "replace")
                position += size
            elif size:
                metadata = None
            partitions.append(_Partition(index, offset, leader_epoch, metadata))
        return partitions if position <= len(frame) else None

    def _read_flexible(self, frame: bytes) -> list[_Partition] | None:
        position = self.at
        partitions = []
        for _ in range(self._count):
            index, offset, leader_epoch, size = _unpack_flexible(frame, position)
            position += _FLEXIBLE_PARTITION_BYTES
            metadata: str | None = ""
            if size >= _LONG_VARINT:
                return None
            if size > 1:
                metadata = frame[position : position + size - 1].decode("utf-8", "replace")
                position += size - 1
            elif not size:
                metadata = None
            if frame[position]:
                return None  # it has tagged fields
            position += 1
            partitions.append(_Partition(index, offset, leader_epoch, metadata))
        return partitions if frame[position : position + 2] == _NO_TAGS else None


def beginning_of(frame: bytes, request: OffsetCommitRequest, version: int) -> CommitBeginning | None:
    """How this frame begins, of which the codec has made this request; None: that is not worth remembering."""
    if version < _LEADER_EPOCHS_FROM or len(request.topics) != 1 or len(request.topics[0].partitions) > FEW_ELEMENTS:
        return None
    is_flexible = version >= _FLEXIBLE_FROM
    partition_bytes = _FLEXIBLE_PARTITION_BYTES + 1 if is_flexible else _PARTITION_BYTES
    texts = (partition.committed_metadata or "" for partition in request.topics[0].partitions)
    moving = sum(partition_bytes + len(text.encode()) for text in texts)
    at = len(frame) - moving - len(_NO_TAGS) * is_flexible
    beginning = CommitBeginning(request, at, is_flexible=is_flexible)
    return beginning if beginning.read(frame) == request else None  # there may be more behind it, or in it
