"""How far groups are behind: what they have committed, beside where the logs end."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812


def lag(commits: DataFrame, ends: DataFrame) -> DataFrame:
    """`newest_commits` beside log ends (topic, partition, log_end_offset), which are few.

    group, topic, partition, committed_offset, log_end_offset, lag, committed_at, metadata. Where a topic or partition
    is gone, log_end_offset and lag are null. A lag below 0 is one: the log has become shorter.
    """
    return (
        commits.join(F.broadcast(ends), ["topic", "partition"], "left")
        .withColumns(
            {
                "lag": F.col("log_end_offset") - F.col("committed_offset"),
                "committed_at": F.timestamp_millis("committed_ms"),
            }
        )
        .select("group", "topic", "partition", "committed_offset", "log_end_offset", "lag", "committed_at", "metadata")
    )


def lag_by_group(lags: DataFrame) -> DataFrame:
    """A line for each group: its partitions, how far it is behind in all and at most, and when it last committed."""
    return lags.groupBy("group").agg(
        F.count("*").alias("partitions"),
        F.sum("lag").alias("lag"),
        F.max("lag").alias("lag_max"),
        F.max("committed_at").alias("committed_at"),
    )
