"""Making topics: the checks before a topic exists, and topics that are made on demand.

Three things are checked, in this order: its name (`check_new_name`), its configs, and its replicas (both
`place_new_topic`). CreateTopics has all of them in the request. `create_on_demand` makes a topic that a client only
asked for: in a Metadata request it gets the broker's defaults, an internal topic the settings made for it.

Replication factors of internal topics are capped by the number of nodes. Kafka would
refuse to create them: one node can't hold the three replicas of the defaults, and no group would get a coordinator.

Kafka: ReplicationControlManager.createTopics, AutoTopicCreationManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.cluster.placement import check_replicas, place
from ottla.cluster.refused import Refused
from ottla.cluster.topic_configs import check_topic_configs
from ottla.cluster.topic_names import (
    GROUP_TOPIC,
    METADATA_TOPIC,
    SHARE_GROUP_TOPIC,
    TRANSACTION_TOPIC,
    check_name,
)
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode
from ottla.settings.table import find_setting

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Topic

#: Internal topic → where its settings' names begin, and its configs besides those.
_INTERNAL: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    GROUP_TOPIC: ("offsets.topic", {"cleanup.policy": "compact", "compression.type": "producer"}),
    TRANSACTION_TOPIC: (
        "transaction.state.log",
        {"cleanup.policy": "compact", "compression.type": "uncompressed", "unclean.leader.election.enable": "false"},
    ),
    SHARE_GROUP_TOPIC: (
        "share.coordinator.state.topic",
        {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
    ),
}

#: In requests: the broker's default number of partitions or replicas.
BROKER_DEFAULT: Final = -1

#: How many partitions are made at once. Kafka: ReplicationControlManager.MAX_PARTITIONS_PER_BATCH.
PARTITIONS_AT_ONCE_MAX: Final = 10_000


@dataclass(slots=True)
class NewTopic:
    """A topic that is wanted. `assignments`: (partition, node ids), where the client places it itself."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignments: list[tuple[int, list[int]]] = field(default_factory=list)
    configs: Mapping[str, str | None] = field(default_factory=dict)


def check_new_name(cluster: Cluster, name: str) -> None:
    """Raise `Refused` if there can't be a new topic of this name."""
    if cluster.is_taken(name):
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    check_name(name)
    other = cluster.colliding_topic(name)
    if other is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


def place_new_topic(cluster: Cluster, topic: NewTopic) -> tuple[list[list[int]], dict[str, str]]:
    """Check everything but the name; returns the replicas of each partition, and the configs. Raises `Refused`."""
    null = [name for name, value in topic.configs.items() if value is None]
    if null:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(null)}")
    configs = {name: value for name, value in topic.configs.items() if value is not None}
    check_topic_configs(configs)
    return _assigned(cluster, topic) if topic.assignments else _placed(cluster, topic), configs


def _assigned(cluster: Cluster, topic: NewTopic) -> list[list[int]]:
    """The replicas as the client assigned them."""
    for value, what in ((topic.replication_factor, "replication factor"), (topic.partitions, "numPartitions")):
        if value != BROKER_DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"A manual partition assignment was specified, but {what} was not set to -1."
            )
    by_partition: dict[int, list[int]] = {}
    replication_factor = None
    for partition, replicas in topic.assignments:
        if partition in by_partition:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {partition}",
            )
        check_replicas(replicas, cluster.node_ids, replication_factor, cluster.node_ids_down)
        replication_factor = len(replicas)
        by_partition[partition] = replicas
    if sorted(by_partition) != list(range(len(by_partition))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return [by_partition[partition] for partition in range(len(by_partition))]


def _placed(cluster: Cluster, topic: NewTopic) -> list[list[int]]:
    """The replicas as `placement` gives them."""
    if topic.replication_factor < BROKER_DEFAULT or topic.replication_factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.partitions < BROKER_DEFAULT or topic.partitions == 0:
        raise Refused(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    settings = cluster.settings
    partitions, factor = topic.partitions, topic.replication_factor
    return place(
        cluster.node_ids,
        cluster.partitions_placed,
        settings["num.partitions"] if partitions == BROKER_DEFAULT else partitions,
        settings["default.replication.factor"] if factor == BROKER_DEFAULT else factor,
        cluster.node_ids_down,
    )


def create_on_demand(cluster: Cluster, name: str) -> Topic | None:
    """Make a topic that a client asked for. None: it can't be made, which is logged."""
    try:
        if name == METADATA_TOPIC:
            raise Refused(ErrorCode.INVALID_REQUEST, "nobody may have a topic of this name")
        check_new_name(cluster, name)
        assignment, configs = place_new_topic(cluster, _topic_on_demand(cluster, name))
        return cluster.create_topic(name, assignment, configs)
    except Refused as refused:
        cluster.events.tell(
            Kind.TOPIC_AUTOCREATION_REFUSED, topic=name, error=refused.error_code.name, reason=refused.message
        )
        return None


def _topic_on_demand(cluster: Cluster, name: str) -> NewTopic:
    if name not in _INTERNAL:
        return NewTopic(name)
    prefix, configs = _INTERNAL[name]
    settings = cluster.settings
    configs = {**configs, "segment.bytes": str(settings[f"{prefix}.segment.bytes"])}
    if find_setting(f"{prefix}.min.isr") is not None:
        configs["min.insync.replicas"] = str(settings[f"{prefix}.min.isr"])
    replication_factor = min(settings[f"{prefix}.replication.factor"], len(cluster.all_nodes))
    return NewTopic(name, settings[f"{prefix}.num.partitions"], replication_factor, configs=configs)
