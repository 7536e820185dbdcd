"""Topics to write to: there, and, where a job has two clusters, as wide as at the source.

A topic that is created as at a source gets the source's settings of retention and compaction, and no others. In
particular it does not get `message.timestamp.type`, with which every record would have the time of the copy.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.pipeline.cluster import KafkaCluster
from ottla.pipeline.refusals import CannotUse, CannotWork

if TYPE_CHECKING:
    from concurrent.futures import Future

_COPIED: Final = {
    "cleanup.policy",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
}
_TIMESTAMP_TYPE: Final = "message.timestamp.type"
_AS_THERE: Final = " as it is at the source"
_LOOK_SECONDS: Final = 0.05


def refuse_same(source: KafkaCluster, target: KafkaCluster) -> None:
    """Raise if both are one cluster, by whatever addresses."""
    if source.cluster_id == target.cluster_id:
        raise CannotUse(
            f"{source.bootstrap} and {target.bootstrap} are one cluster, {source.cluster_id}; "
            "let --source and --target name two"
        )


def refuse_wider(source: KafkaCluster, target: KafkaCluster, topics: Sequence[str]) -> None:
    """Raise if one of these topics has more partitions at the target."""
    for topic in topics:
        here, there = len(source.topics[topic]), len(target.topics.get(topic, []))
        if there > here:
            raise CannotWork(
                f"{topic} has {there} partitions at {target.bootstrap}, and only {here} at the source; "
                "partitions can't be taken away, so delete the topic there, or add partitions here"
            )


def refuse_narrower(source: KafkaCluster, target: KafkaCluster, topic: str, name: str) -> None:
    """Raise if a topic has fewer partitions at the target, where it has this name."""
    here, there = len(source.topics[topic]), len(target.topics[name])
    if there < here:
        raise CannotWork(
            f"{name} has fewer partitions at {target.bootstrap} than {topic} at the source, {there} and not {here}; "
            "add partitions there"
        )


def refuse_times_not_kept(target: KafkaCluster, topics: Sequence[str]) -> None:
    """Raise if one of these topics gives records the time of the write."""
    there = [topic for topic in topics if topic in target.topics]
    for topic, settings in _settings(target, there).items():
        if settings.get(_TIMESTAMP_TYPE, ("", False))[0] == "LogAppendTime":
            raise CannotWork(
                f"{topic} at {target.bootstrap} has {_TIMESTAMP_TYPE}=LogAppendTime, so records can't keep their "
                "times; set it to CreateTime there"
            )


def compacted(target: KafkaCluster, topics: Sequence[str]) -> set[str]:
    """Those of these topics that the target compacts."""
    return {
        topic
        for topic, settings in _settings(target, topics).items()
        if "compact" in settings.get("cleanup.policy", ("", False))[0]
    }


def make(target: KafkaCluster, topic: str, partitions: int, settings: dict[str, str]) -> None:
    """Make a topic, and return when the cluster knows it. Raises `CannotWork`."""
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    _wait(target, target.admin.create_topics([NewTopic(topic, partitions, config=settings)]))
    _until_led(target, {topic: partitions})


def make_as_wide(source: KafkaCluster, target: KafkaCluster, names: dict[str, str]) -> None:
    """Make topics and add partitions at the target, until there are as many. Raises `CannotWork`.

    `names` are what the topics are called there, by what they are called here.
    """
    from confluent_kafka.admin import NewPartitions, NewTopic  # type: ignore[attr-defined]

    missing = [topic for topic, name in names.items() if name not in target.topics]
    settings = _settings(source, missing)
    topics = []
    for topic in missing:
        own = {key: value for key, (value, is_own) in settings[topic].items() if is_own and key in _COPIED}
        topics.append(NewTopic(names[topic], len(source.topics[topic]), config=own))
    narrow = [
        NewPartitions(name, len(source.topics[topic]))
        for topic, name in names.items()
        if name in target.topics and len(target.topics[name]) < len(source.topics[topic])
    ]
    if topics:
        _wait(target, target.admin.create_topics(topics), _AS_THERE)
    if narrow:
        _wait(target, target.admin.create_partitions(narrow), _AS_THERE)
    if topics or narrow:
        _until_led(target, {name: len(source.topics[topic]) for topic, name in names.items()})


def _until_led(target: KafkaCluster, widths: dict[str, int]) -> None:
    """Return when these topics have as many partitions, all with a leader; from then on the cluster knows them."""
    deadline_seconds = time.monotonic() + target.timeout_seconds
    while time.monotonic() < deadline_seconds:
        described = target.admin.list_topics(timeout=target.timeout_seconds).topics
        found = {name: described[name].partitions.values() for name in widths if name in described}
        if all(
            len(found.get(name, ())) >= width and all(partition.leader >= 0 for partition in found[name])
            for name, width in widths.items()
        ):
            target.topics |= {name: sorted(described[name].partitions) for name in widths}
            return
        time.sleep(_LOOK_SECONDS)
    raise CannotWork(
        f"{target.bootstrap} has made topics, but not all their partitions have a leader after "
        f"{target.timeout_seconds:g} s; see what is wrong there, and begin again"
    )


def _settings(cluster: KafkaCluster, topics: Sequence[str]) -> dict[str, dict[str, tuple[str, bool]]]:
    """Settings of topics: the value, and whether it is the topic's own."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ConfigSource  # type: ignore[attr-defined]

    if not topics:
        return {}
    answers = cluster.admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics])
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    try:
        return {
            resource.name: {key: (entry.value, entry.source == own) for key, entry in answer.result().items()}
            for resource, answer in answers.items()
        }
    except KafkaException as error:
        raise CannotWork(
            f"{cluster.bootstrap} doesn't say how its topics are set: {error.args[0].str()}; see what is wrong there"
        ) from None


def _wait(target: KafkaCluster, answers: dict[str, Future[None]], how: str = "") -> None:
    from confluent_kafka import KafkaException

    for topic, answer in answers.items():
        try:
            answer.result()
        except KafkaException as error:
            raise CannotWork(
                f"{target.bootstrap} does not make the topic {topic}{how}: {error.args[0].str()}; "
                "make it there yourself"
            ) from None
