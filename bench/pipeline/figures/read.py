"""How fast Spark reads a topic and sums it up, beside the same from a real Kafka in the same run, in turns."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from bench.figures.figure import Row, Values
from bench.pipeline.stage import PipelineFigure, Stage
from bench.pipeline.topic import PARTITIONS, RECORDS, fill
from ottla.pipeline.address import ClusterAddress
from ottla.pipeline.cluster import KafkaCluster, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC: Final = "bench-read"
_ROUNDS: Final = 5
_TIMEOUT_SECONDS: Final = 30.0
_OURS: Final = "read and aggregate, records a second"
_KAFKAS: Final = "the same over Apache Kafka"
_RATIO: Final = "… Ottla's part of it"


def measure(stage: Stage) -> Values:
    brokers = {_OURS: stage.bootstrap} | ({_KAFKAS: stage.kafka} if stage.kafka else {})
    records = stage.many(RECORDS)
    for bootstrap in brokers.values():
        fill(bootstrap, TOPIC, records)
        read_and_aggregate(stage.spark, bootstrap, records)  # warms Spark and the broker up
    seconds = dict.fromkeys(brokers, math.inf)
    for _ in range(_ROUNDS):
        for name, bootstrap in brokers.items():
            seconds[name] = min(seconds[name], read_and_aggregate(stage.spark, bootstrap, records))
    values: dict[str, float | None] = {name: records / taken for name, taken in seconds.items()}
    if _KAFKAS in seconds:
        values[_RATIO] = seconds[_KAFKAS] / seconds[_OURS]
    return values


def read_and_aggregate(spark: SparkSession, bootstrap: str, records: int) -> float:
    """Count and size by partition; returns its seconds."""
    from pyspark.sql import functions as F  # noqa: N812

    started = time.perf_counter()
    cluster = KafkaCluster(ClusterAddress(bootstrap), _TIMEOUT_SECONDS)
    spans = cluster.spans(cluster.partitions([TOPIC]))
    size = F.sum(F.length("key") + F.length("value"))
    found = read(spark, cluster.address, spans).groupBy("partition").agg(F.count("*").alias("rows"), size).collect()
    seconds = time.perf_counter() - started
    assert (len(found), sum(row["rows"] for row in found)) == (PARTITIONS, records)
    return seconds


FIGURE: Final = PipelineFigure(
    "read", [Row(_OURS), Row(_KAFKAS), Row(_RATIO, digits=2, goal="≥ 0.9")], measure, wants_kafka=True
)
