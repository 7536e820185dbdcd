"""CreateTopics (api key 19), v2–v7: make topics, each on its own: a bad one does not keep a good one from being made.

A client says how many partitions and replicas it wants (-1 leaves it to the broker), or assigns the replicas of each
partition itself; configs may come along. With validate_only everything is checked and answered, and nothing is made.
Names are held against the topics that were there before the request, so two new ones may collide with each other.

v4 is said to be the first in which -1 works, though the broker never minded; v5 is flexible and answers the configs
and numbers of the new topic (KIP-525), v6 only allows a new error, v7 answers the topic's id.

Errors, by topic, in this order: INVALID_REQUEST for a name listed twice (one answer) and for __cluster_metadata;
TOPIC_ALREADY_EXISTS; INVALID_TOPIC_EXCEPTION; INVALID_CONFIG; INVALID_REQUEST for replicas assigned and numbers given;
INVALID_REPLICA_ASSIGNMENT; INVALID_REPLICATION_FACTOR; INVALID_PARTITIONS. On all topics: REQUEST_TIMED_OUT if
timeout_ms is not positive, POLICY_VIOLATION for more than 10,000 partitions at once.
Kafka: ControllerApis.createTopics, ReplicationControlManager.createTopics.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from ottla.broker.configs.entries import ConfigEntry
from ottla.broker.configs.topic_configs import configs_at_creation
from ottla.broker.network.call import Call
from ottla.cluster.refused import Refused
from ottla.cluster.topic_creation import (
    BROKER_DEFAULT,
    PARTITIONS_AT_ONCE_MAX,
    NewTopic,
    check_new_name,
    place_new_topic,
)
from ottla.cluster.topic_names import METADATA_TOPIC
from ottla.pacing import paced, paced_each
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

_Result = CreateTopicsResponse.CreatableTopicResult
_Shown = CreateTopicsResponse.CreatableTopicConfigs
#: Configs as they are told, by name, value and source: most topics have the same ones, so they share them.
_ShownConfigs: TypeAlias = dict[tuple[str, str | None, int], _Shown]


def handle(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    times_listed = Counter(topic.name for topic in request.topics)
    wanted = [topic for topic in request.topics if times_listed[topic.name] == 1 and topic.name != METADATA_TOPIC]
    if wanted and request.timeout_ms <= 0:
        return refuse(request, ErrorCode.REQUEST_TIMED_OUT)
    if sum(_partitions(topic, call) for topic in wanted) > PARTITIONS_AT_ONCE_MAX:
        return refuse(request, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    name_refusals = {topic.name: _name_refusal(topic.name, call) for topic in paced(wanted)}
    results = []
    shown: _ShownConfigs = {}
    for topic in paced_each(wanted):
        try:
            refusal = name_refusals[topic.name]
            if refusal is not None:
                raise refusal
            if call.node.cluster.is_taken(topic.name):  # somebody else was quicker
                raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
            results.append(_create(_new_topic(topic), call, shown, validate_only=request.validate_only))
        except Refused as refused:
            results.append(_Result(topic.name, error_code=refused.error_code, error_message=refused.message))
    for name, times in times_listed.items():
        if times > 1:
            text = "Duplicate topic name."
        elif name == METADATA_TOPIC:
            text = f"Creation of internal topic {name} is prohibited."
        else:
            continue
        results.append(_Result(name, error_code=ErrorCode.INVALID_REQUEST, error_message=text))
    return CreateTopicsResponse(topics=results)


def refuse(request: CreateTopicsRequest, error_code: ErrorCode, message: str | None = None) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[_Result(topic.name, error_code=error_code, error_message=message) for topic in request.topics]
    )


def _partitions(topic: CreateTopicsRequest.CreatableTopic, call: Call) -> int:
    """How many partitions the topic asks for; 0 if that is no number of partitions."""
    if topic.assignments:
        return len(topic.assignments)
    default: int = call.node.settings["num.partitions"]
    return default if topic.num_partitions == BROKER_DEFAULT else max(0, topic.num_partitions)


def _name_refusal(name: str, call: Call) -> Refused | None:
    try:
        check_new_name(call.node.cluster, name)
    except Refused as refused:
        return refused
    return None


def _new_topic(topic: CreateTopicsRequest.CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
        {config.name: config.value for config in topic.configs},
    )


def _create(topic: NewTopic, call: Call, shown: _ShownConfigs, *, validate_only: bool) -> _Result:
    cluster = call.node.cluster
    assignment, configs = place_new_topic(cluster, topic)
    topic_id = cluster.new_uuid()
    if not validate_only:
        cluster.create_topic(topic.name, assignment, configs, topic_id, call.client_id)
    return _Result(
        topic.name,
        topic_id,
        error_message=None,
        num_partitions=len(assignment),
        replication_factor=len(assignment[0]),
        configs=[_show(entry, shown) for entry in configs_at_creation(configs, call.node.setting_layers)],
    )


def _show(entry: ConfigEntry, shown: _ShownConfigs) -> _Shown:
    key = entry.name, entry.value, entry.source
    if key not in shown:
        shown[key] = _Shown(entry.name, entry.value, config_source=entry.source)
    return shown[key]
