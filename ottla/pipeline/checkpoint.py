"""Which cluster's topics a checkpoint belongs to, and which folder they were exported to.

Spark's checkpoint has offsets, but not the cluster or topic they belong to. With another cluster, or a topic that was
deleted and created again, an export would continue at an offset that means nothing there. So a file of ours stands
beside Spark's, with the cluster's id and the topics' ids, which are never given twice. It is written before the first
batch.

Spark's sink counts its batches in the target too. A target without its checkpoint, or with another one, would skip as
many batches as it has counted. So one without the other is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from ottla.pipeline.places import local_path, read_text, write_text
from ottla.pipeline.refusals import CannotUse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.pipeline.cluster import KafkaCluster

_NAME: Final = "ottla.json"


@dataclass(frozen=True, slots=True)
class CheckpointOwner:
    """What a checkpoint is of."""

    cluster_id: str
    topic_ids: dict[str, str]
    output: str


def owner_now(cluster: KafkaCluster, topics: Sequence[str], output: str) -> CheckpointOwner:
    """What a checkpoint of these topics, as they are now, is of. Raises `CannotWork`."""
    return CheckpointOwner(str(cluster.cluster_id), cluster.topic_ids(topics), output)


def read_owner(checkpoint: str, spark: SparkSession | None = None) -> CheckpointOwner | None:
    """What a checkpoint is of; None if there is none, or if only Spark could look and there is no session yet."""
    if spark is None and local_path(checkpoint) is None:
        return None
    text = read_text(f"{checkpoint}/{_NAME}", spark)
    return None if text is None else CheckpointOwner(**json.loads(text))


def write_owner(spark: SparkSession, checkpoint: str, owner: CheckpointOwner) -> None:
    write_text(spark, f"{checkpoint}/{_NAME}", json.dumps(asdict(owner), indent=2))


def refuse_another(checkpoint: str, found: CheckpointOwner, now: CheckpointOwner) -> None:
    """Raise unless a checkpoint is of what is read now, and of where it goes."""
    instead = "name another --output, and --checkpoint if you give one"
    if found.cluster_id != now.cluster_id:
        raise CannotUse(
            f"the checkpoint {checkpoint} is of cluster {found.cluster_id}, and this is {now.cluster_id}; {instead}"
        )
    if found.topic_ids.keys() != now.topic_ids.keys():
        raise CannotUse(
            f"the checkpoint {checkpoint} is of {', '.join(sorted(found.topic_ids))}, "
            f"not of {', '.join(sorted(now.topic_ids))}; {instead}"
        )
    for topic, topic_id in now.topic_ids.items():
        if found.topic_ids[topic] != topic_id:
            raise CannotUse(
                f"topic {topic} was deleted and made again since the checkpoint {checkpoint} began; {instead}"
            )
    if found.output != now.output:
        raise CannotUse(
            f"the checkpoint {checkpoint} is of --output {found.output}; name that, or another --checkpoint"
        )
