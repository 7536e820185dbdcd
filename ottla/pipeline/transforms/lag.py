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
