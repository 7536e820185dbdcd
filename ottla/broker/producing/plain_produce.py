"""The short way of Produce: one batch, for one partition, with nothing unusual about it, from its frame into the log.

    frame ─▶ where its batch lies ─▶ topic ─▶ checked where it lies ─▶ leader, replicas ─▶ log ─▶ the answer's bytes

That is what nearly every producer sends. Nothing is made on the way that is not needed: no request, no call, no answer
but its bytes. Whatever is unusual is left to the long way, `handlers.produce`, and nothing has happened then: other
partitions beside it, compression, acks=0, replicas that lag, a transaction whose coordinator does not say yes at once,
and all that is to be refused. So the short way knows no error of a client's; and the long way alone would answer the
same bytes, and leave the same log.

It is not taken while requests are intercepted (faults, barriers) or recorded, nor where an
authorizer is to be asked: see `network.connection` and `network.routes`.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.cluster.partition_access import find_partition
from ottla.log.partition_answers import AppendResult
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.produce import ProduceResponse
from ottla.protocol.plain_batch import read_plain_batch
from ottla.protocol.primitives import ZERO_UUID, DecodeError, read_length, read_string_length
from ottla.protocol.records import TRANSACTIONAL_FLAG

if TYPE_CHECKING:
    from ottla.broker.node.broker_node import BrokerNode

#: The versions that it knows: their answers have log_start_offset.
PLAIN_VERSIONS: Final = range(5, 14)
_FLEXIBLE_SINCE: Final = 9
_TOPIC_ID_SINCE: Final = 13
_TOPIC_ID_BYTES: Final = 16
_ACKS_LEADER: Final = 1
_ACKS_ALL: Final = -1

#: transactional_id │ acks │ timeout_ms │ topics │ length of the name
_read_beginning: Final = Struct(">hhiih").unpack_from
#: partitions │ index │ bytes of records
_read_partition: Final = Struct(">iii").unpack_from
#: The same where it is flexible, without the lengths.
_read_flexible_beginning: Final = Struct(">bhib").unpack_from
_FLEXIBLE_BEGINNING_BYTES: Final = 8
_read_flexible_partition: Final = Struct(">bi").unpack_from
_FLEXIBLE_PARTITION_BYTES: Final = 5
#: Behind the records: no tagged fields of the partition, of the topic, of the request.
_NO_TAGS: Final = bytes(3)
#: base_offset │ log_append_time_ms │ log_start_offset, side by side in every answer.
_pack_offsets: Final = Struct(">qqq").pack
#: What stands there in the answer that others are made from.
_MARKED: Final = AppendResult(NONE, 0x0123456789ABCDEF, log_append_time_ms=-1, log_start_offset=0x7EDCBA9876543210)


#: What a plain request says: transactional id, acks, the topic's name or id, the partition; and where in the frame its
#: batch begins and ends.
_Found: TypeAlias = tuple[str | None, int, str | bytes, int, int, int]


def answer_plain(frame: bytes, position: int, version: int, node: BrokerNode) -> bytes | None:
    """Append what the request holds, and return the answer's body; None: the request is left to the long way.

    `position`: where its body begins. In a fiber the task may be suspended meanwhile.
    """
    try:
        found = (_find_flexible if version >= _FLEXIBLE_SINCE else _find)(frame, position, version)
    except (struct.error, DecodeError, IndexError):
        return None
    if found is None:
        return None
    transactional_id, acks, key, index, start, end = found
    cluster = node.cluster
    topic = cluster.topics.get(key) if isinstance(key, str) else cluster.topics_by_id.get(key)
    partition = find_partition(topic, index)
    if topic is None or partition is None or topic.is_internal:
        return None
    wall_ms = node.clock.wall_ms()
    attributes = 0 if transactional_id is None else TRANSACTIONAL_FLAG
    header = read_plain_batch(frame, start, end, partition.config.rules, wall_ms, attributes)
    if header is None:
        return None
    placement = topic.placements[index]
    if (
        placement.leader_id != node.node_id
        or partition.is_offline
        or partition.is_high_watermark_held
        or (acks == _ACKS_ALL and placement.has_too_few_in_sync(partition.config.min_insync_replicas))
    ):
        return None
    verification = None
    if transactional_id is not None:
        from ottla.broker.producing.plain_admission import admit_plain

        admitted = admit_plain(node, transactional_id, partition, header, version, wall_ms)
        if admitted is None:
            return None
        verification, refused = admitted
        if refused is not None:
            return _encode(version, key, index, refused)
    batch = memoryview(frame)[start:end]
    result = partition.append_prepared(batch, header, header.max_timestamp, wall_ms, verification)
    if not result.error:
        before, behind = _around_offsets(version, key, index)
        return before + _pack_offsets(result.base_offset, result.log_append_time_ms, result.log_start_offset) + behind
    if result.error is ErrorCode.KAFKA_STORAGE_ERROR:  # it has been tried
        return _encode(version, key, index, result)
    return None


def _find(frame: bytes, position: int, _version: int) -> _Found | None:
    """Where it is not flexible."""
    transactional_id = None
    transactional_id_length, acks, _, topics, length = _read_beginning(frame, position)
    if transactional_id_length < -1:
        return None
    if transactional_id_length >= 0:
        begin = position + 2
        position += transactional_id_length
        transactional_id = frame[begin : begin + transactional_id_length].decode("utf-8", "replace")
        _, acks, _, topics, length = _read_beginning(frame, position)
    if topics != 1 or length < 0 or acks not in (_ACKS_ALL, _ACKS_LEADER):
        return None
    position += 14
    name_end = position + length
    partitions, index, size_bytes = _read_partition(frame, name_end)
    start = name_end + 12
    if partitions != 1 or start + size_bytes != len(frame):
        return None
    key = frame[position:name_end].decode("utf-8", "replace")
    return transactional_id, acks, key, index, start, len(frame)


def _find_flexible(frame: bytes, position: int, version: int) -> _Found | None:
    """Where it is. Lengths and counts are one more than what they say."""
    transactional_id = None
    transactional_id_length, acks, _, topics = _read_flexible_beginning(frame, position)
    if transactional_id_length:
        length, begin = read_string_length(frame, position)
        position = begin + length - 2
        transactional_id = frame[begin : position + 1].decode("utf-8", "replace")
        _, acks, _, topics = _read_flexible_beginning(frame, position)
    if topics != 2 or acks not in (_ACKS_ALL, _ACKS_LEADER):
        return None
    position += _FLEXIBLE_BEGINNING_BYTES
    key: str | bytes
    if version >= _TOPIC_ID_SINCE:
        key_end = position + _TOPIC_ID_BYTES
        key = frame[position:key_end]
    else:
        length, position = read_string_length(frame, position)
        if length <= 0:
            return None
        key_end = position + length - 1
        key = frame[position:key_end].decode("utf-8", "replace")
    partitions, index = _read_flexible_partition(frame, key_end)
    size_bytes, start = read_length(frame, key_end + _FLEXIBLE_PARTITION_BYTES)
    end = len(frame) - len(_NO_TAGS)
    if partitions != 2 or start + size_bytes - 1 != end or frame[end:] != _NO_TAGS:
        return None
    return transactional_id, acks, key, index, start, end


@lru_cache(maxsize=1024)
def _around_offsets(version: int, key: str | bytes, index: int) -> tuple[bytes, bytes]:
    """What stands in an answer before and behind its offsets: the same each time for a partition."""
    marks = _pack_offsets(_MARKED.base_offset, _MARKED.log_append_time_ms, _MARKED.log_start_offset)
    before, _, behind = _encode(version, key, index, _MARKED).rpartition(marks)
    return before, behind


def _encode(version: int, key: str | bytes, index: int, result: AppendResult) -> bytes:
    """The answer's body."""
    partition = ProduceResponse.PartitionProduceResponse(
        index,
        result.error,
        result.base_offset,
        result.log_append_time_ms,
        result.log_start_offset,
        error_message=result.error_message,
        current_leader=ProduceResponse.LeaderIdAndEpoch(),
    )
    name, topic_id = (key, ZERO_UUID) if isinstance(key, str) else ("", key)
    topic = ProduceResponse.TopicProduceResponse(name, topic_id, [partition])
    return ProduceResponse([topic]).encode(version)
