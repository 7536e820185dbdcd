"""OffsetDelete (api key 47), v0: forget what a group has committed for some partitions (KIP-496).

Partitions that do not exist are refused here, one by one; the rest goes to the group's task. What members of the group
are subscribed to stays. There is no flexible version, and throttle_time_ms comes after the error.

Errors: of the whole GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (a group of another type than "consumer" with members),
INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE; of a partition
UNKNOWN_TOPIC_OR_PARTITION, GROUP_SUBSCRIBED_TO_TOPIC.
Kafka: KafkaApis.handleOffsetDeleteRequest, OffsetMetadataManager.deleteOffsets.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.coordinator.offsets.answers import offset_delete_refused
from ottla.coordinator.offsets.events import OffsetDeleteRequested
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from ottla.security.authorizer import AclOperation, AclResourceType

_Answered = OffsetDeleteResponse.OffsetDeleteResponseTopic
_AnsweredPartition = OffsetDeleteResponse.OffsetDeleteResponsePartition


class Merged:
    """Answers with what the group says, and with what was refused before it was asked."""

    __slots__ = ("_call", "_refused")

    def __init__(self, call: Call, refused: dict[str, _Answered]) -> None:
        self._call = call
        self._refused = refused

    def answer(self, response: OffsetDeleteResponse) -> None:
        if response.error_code == ErrorCode.NONE:
            for topic in response.topics:
                refused = self._refused.setdefault(topic.name, topic)
                if refused is not topic:
                    refused.partitions += topic.partitions
            response = OffsetDeleteResponse(topics=list(self._refused.values()))
        self._call.answer(response)


def handle(request: OffsetDeleteRequest, call: Call) -> None:
    refused: dict[str, _Answered] = {}
    for topic in paced(request.topics):
        if not allows(call, AclOperation.READ, AclResourceType.TOPIC, topic.name):
            error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            answered = refused.setdefault(topic.name, _Answered(topic.name))
            answered.partitions += [_AnsweredPartition(p.partition_index, error) for p in topic.partitions]
            topic.partitions = []
            continue
        known = call.node.cluster.topics.get(topic.name)
        count = len(known.partitions) if known else 0
        missing = [p.partition_index for p in topic.partitions if not 0 <= p.partition_index < count]
        topic.partitions = [p for p in topic.partitions if 0 <= p.partition_index < count]
        if missing or known is None:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answered = refused.setdefault(topic.name, _Answered(topic.name))
            answered.partitions += [_AnsweredPartition(index, error) for index in missing]
    request.topics = [topic for topic in request.topics if topic.partitions]
    token = Merged(call, refused) if refused else call
    call.node.coordinator.submit(request.group_id, OffsetDeleteRequested(token, request), is_long=not call.is_brief)


def refuse(request: OffsetDeleteRequest, error_code: ErrorCode) -> OffsetDeleteResponse:
    return offset_delete_refused(error_code)
