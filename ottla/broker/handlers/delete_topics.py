"""DeleteTopics (api key 20), v1–v6: forget topics and all that is in them, by name or, from v6 on, by id.

Everything that hangs on a topic goes with it: who waits for its records is answered, groups lose the offsets they
committed for it. Internal topics may be deleted like any other. Kafka shuffles its answers so that nobody can tell a
topic that is not there from one that is not theirs to see; here they come in no particular order either.

v4 is flexible, v5 adds error_message, v6 ids (KIP-516).

Errors, by topic: INVALID_REQUEST for what is listed twice, by name, by id, or once by each, and for a topic with both
or neither; UNKNOWN_TOPIC_OR_PARTITION for an unknown name, UNKNOWN_TOPIC_ID for an unknown id. On all of them:
TOPIC_DELETION_DISABLED (before v3 INVALID_REQUEST) while delete.topic.enable is false, REQUEST_TIMED_OUT if timeout_ms
is not positive. Kafka: ControllerApis.deleteTopics.
"""

from __future__ import annotations

from collections import Counter

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows, allows_on_cluster, asks
from ottla.cluster.refused import Refused
from ottla.cluster.topic import Topic
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from ottla.protocol.primitives import ZERO_UUID
from ottla.security.authorizer import AclOperation, AclResourceType

_Result = DeleteTopicsResponse.DeletableTopicResult


def handle(request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    cluster = call.node.cluster
    if not cluster.settings["delete.topic.enable"]:
        return refuse(
            request, ErrorCode.TOPIC_DELETION_DISABLED if call.api_version >= 3 else ErrorCode.INVALID_REQUEST
        )
    results: list[DeleteTopicsResponse.DeletableTopicResult] = []
    names, topic_ids = _wanted(request, results)
    if (names or 1 in topic_ids.values()) and request.timeout_ms <= 0:
        return refuse(request, ErrorCode.REQUEST_TIMED_OUT)
    deletes_all = not asks(call) or allows_on_cluster(call, AclOperation.DELETE)

    def may(operation: AclOperation, name: str) -> bool:
        return deletes_all or allows(call, operation, AclResourceType.TOPIC, name)

    doomed: dict[bytes, Topic] = {}
    for topic_id, times in paced(topic_ids.items()):
        topic = cluster.topics_by_id.get(topic_id)
        if times > 1:
            results.append(_refusal(None, topic_id, ErrorCode.INVALID_REQUEST, "Duplicate topic id."))
        elif topic is None:
            results.append(_refusal(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            doomed[topic_id] = topic
    for name in paced(names):
        topic = cluster.topics.get(name)
        if not may(AclOperation.DESCRIBE, name):
            results.append(_refusal(name, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        elif topic is None:
            results.append(_refusal(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        elif topic.topic_id in topic_ids:
            doomed.pop(topic.topic_id, None)
            text = "The provided topic name maps to an ID that was already supplied."
            results.append(_refusal(name, topic.topic_id, ErrorCode.INVALID_REQUEST, text))
        else:
            doomed[topic.topic_id] = topic
    for topic in paced(doomed.values()):
        if cluster.topics_by_id.get(topic.topic_id) is not topic:  # somebody else was quicker
            results.append(_refusal(topic.name, topic.topic_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            continue
        if not may(AclOperation.DELETE, topic.name):
            shown = topic.name if may(AclOperation.DESCRIBE, topic.name) else None
            results.append(_refusal(shown, topic.topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        try:
            cluster.delete_topic(topic, call.client_id)
        except Refused as refused:
            results.append(_refusal(topic.name, topic.topic_id, refused.error_code, refused.message))
            continue
        results.append(_Result(topic.name, topic.topic_id))
    return DeleteTopicsResponse(responses=results)


def refuse(request: DeleteTopicsRequest, error_code: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[_Result(topic.name, topic.topic_id, error_code) for topic in request.topics]
        + [_Result(name, error_code=error_code) for name in request.topic_names]
    )


def _wanted(
    request: DeleteTopicsRequest, results: list[DeleteTopicsResponse.DeletableTopicResult]
) -> tuple[list[str], Counter[bytes]]:
    """The names, and the ids with how often each is listed; what can't be taken by either is refused in `results`."""
    names = Counter(request.topic_names)
    topic_ids: Counter[bytes] = Counter()
    for topic in paced(request.topics):
        if topic.name is None and topic.topic_id == ZERO_UUID:
            text = "Neither topic name nor id were specified."
            results.append(_refusal(None, ZERO_UUID, ErrorCode.INVALID_REQUEST, text))
        elif topic.name is None:
            topic_ids[topic.topic_id] += 1
        elif topic.topic_id == ZERO_UUID:
            names[topic.name] += 1
        else:
            text = "You may not specify both topic name and topic id."
            results.append(_refusal(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, text))
    for name, times in names.items():
        if times > 1:
            results.append(_refusal(name, ZERO_UUID, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
    return [name for name, times in names.items() if times == 1], topic_ids


def _refusal(
    name: str | None, topic_id: bytes, error_code: ErrorCode, message: str | None = None
) -> DeleteTopicsResponse.DeletableTopicResult:
    return _Result(name, topic_id, error_code, message or error_code.meaning)
