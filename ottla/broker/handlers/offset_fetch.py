"""OffsetFetch (api key 9), v1–v10: how far groups have read.

Up to v7 it is about one group, from v8 on about any number, each with an answer of its own (KIP-709). No topics means
all of them, from v2 on. v3 adds throttle_time_ms, v5 the leader epoch, v6 is flexible, v7 adds require_stable
(KIP-447), v9 member id and epoch for groups of KIP-848 (classic groups pass over them), v10 names topics by id.

That nothing is committed is no error: the offset is -1.

Errors, for each group (v1: for each partition): NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
COORDINATOR_NOT_AVAILABLE; for partitions UNKNOWN_TOPIC_ID, UNSTABLE_OFFSET_COMMIT.
Kafka: KafkaApis.handleOffsetFetchRequest, OffsetMetadataManager.fetchOffsets.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.groups.gather import Gather
from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.cluster.cluster import Cluster
from ottla.coordinator.offsets.answers import fetch_refused, no_offset
from ottla.coordinator.offsets.events import OffsetFetchRequested
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from ottla.protocol.primitives import ZERO_UUID
from ottla.security.authorizer import AclOperation, AclResourceType

_GROUPS_FROM: Final = 8
_TOPIC_IDS_FROM: Final = 10

_Group = OffsetFetchRequest.OffsetFetchRequestGroup
_Topics = OffsetFetchRequest.OffsetFetchRequestTopics
_AnsweredGroup = OffsetFetchResponse.OffsetFetchResponseGroup
_AnsweredTopics = OffsetFetchResponse.OffsetFetchResponseTopics


def handle(request: OffsetFetchRequest, call: Call) -> None:
    api_version = call.api_version
    listed = request.groups if api_version >= _GROUPS_FROM else [_only_group(request)]
    keys = [_key(group, place) for place, group in enumerate(listed)]
    groups = dict(zip(keys, listed, strict=True))

    def all_together(answered: list[_AnsweredGroup]) -> OffsetFetchResponse:
        for group, topics in zip(answered, hidden, strict=True):
            _hide(group, topics, call)
        if api_version >= _TOPIC_IDS_FROM:
            for group, unknown in zip(answered, refused, strict=True):
                _fill_in_ids(group, unknown, call.node.cluster)
        if api_version < _GROUPS_FROM:
            return _as_only_group(answered[0])
        by_key = dict(zip(groups, answered, strict=True))
        return OffsetFetchResponse(groups=[by_key[key] for key in keys])

    refused = [_refuse_unknown(group, call) for group in paced(groups.values())]
    hidden = [_take_out_denied(group, call) for group in paced(groups.values())]
    gather = Gather(len(groups), call, all_together)
    for index, group in enumerate(paced(groups.values())):
        event = OffsetFetchRequested(gather.token(index), group, api_version, request.require_stable)
        if not allows(call, AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id):
            event.token.answer(fetch_refused(event, ErrorCode.GROUP_AUTHORIZATION_FAILED))
            continue
        call.node.coordinator.submit(group.group_id, event, is_long=not call.is_brief)


def _key(group: _Group, place: int) -> object:
    """What tells an answer from others. All of a group's offsets may be many, and are looked up once in a request."""
    return place if group.topics is not None else (group.group_id, group.member_id, group.member_epoch)


def _only_group(request: OffsetFetchRequest) -> _Group:
    """A request of before v8 in the shape of the later ones."""
    topics = request.topics
    return _Group(
        request.group_id,
        topics=None
        if topics is None
        else [_Topics(topic.name, partition_indexes=topic.partition_indexes) for topic in paced(topics)],
    )


def _as_only_group(group: _AnsweredGroup) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code
                    )
                    for p in paced(topic.partitions)
                ],
            )
            for topic in paced(group.topics)
        ],
    )


def _refuse_unknown(group: _Group, call: Call) -> list[_AnsweredTopics]:
    """Fill in the names of topics asked for by id, take out those no topic has, and return the answer to them."""
    if call.api_version < _TOPIC_IDS_FROM or group.topics is None:
        return []
    by_id = call.node.cluster.topics_by_id
    for topic in paced(group.topics):
        known = by_id.get(topic.topic_id)
        topic.name = known.name if known else ""
    unknown = [topic for topic in group.topics if not topic.name]
    group.topics = [topic for topic in group.topics if topic.name]
    return [
        _AnsweredTopics("", topic.topic_id, [no_offset(p, ErrorCode.UNKNOWN_TOPIC_ID) for p in topic.partition_indexes])
        for topic in paced(unknown)
    ]


def _take_out_denied(group: _Group, call: Call) -> list[_AnsweredTopics] | None:
    """Take out topics that the client may not describe, and return the answer to them; None: all are asked for."""
    if group.topics is None:
        return None
    denied = [
        topic
        for topic in paced(group.topics)
        if not allows(call, AclOperation.DESCRIBE, AclResourceType.TOPIC, topic.name)
    ]
    if denied:
        group.topics = [topic for topic in group.topics if topic not in denied]
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return [
        _AnsweredTopics(topic.name, topic.topic_id, [no_offset(p, error) for p in topic.partition_indexes])
        for topic in denied
    ]


def _hide(group: _AnsweredGroup, denied: list[_AnsweredTopics] | None, call: Call) -> None:
    """Add what was taken out, behind the rest; where all were asked for, leave out what the client may not describe."""
    if denied is None:
        group.topics = [
            topic
            for topic in paced(group.topics)
            if allows(call, AclOperation.DESCRIBE, AclResourceType.TOPIC, topic.name)
        ]
    elif not group.error_code:
        group.topics = [*group.topics, *denied]


def _fill_in_ids(group: _AnsweredGroup, refused: list[_AnsweredTopics], cluster: Cluster) -> None:
    """Say by id what the group says by name; topics that are no more have none and are left out."""
    if group.error_code:
        return
    for topic in paced(group.topics):
        if topic.topic_id == ZERO_UUID and (known := cluster.topics.get(topic.name)) is not None:
            topic.topic_id = known.topic_id
    group.topics = [topic for topic in group.topics if topic.topic_id != ZERO_UUID] + refused


def refuse(request: OffsetFetchRequest, error_code: int) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=error_code,
        groups=[_AnsweredGroup(group.group_id, [], error_code) for group in request.groups],
    )
