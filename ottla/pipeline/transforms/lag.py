"""How far groups are behind: what they have committed, beside where the logs end."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812


def lag(commits: DataFrame, ends: DataFrame) -> DataFrame:
    """`newest_commits` beside logs (topic, partition, log_start_offset, log_end_offset), which are few.

    group, topic, partition, committed_offset, log_end_offset, lag, committed_at, metadata. A topic has rows for all its
    partitions: where nothing is committed, committed_offset is null and the lag counts from the log start. Where a
    topic or partition is gone, log_end_offset and lag are null. A lag below 0 is one: the log has become shorter.
    """
    logs = commits.select("group", "topic").distinct().join(F.broadcast(ends), "topic")
    return (
        commits.join(logs, ["group", "topic", "partition"], "full")
        .withColumns(
            {
                "lag": F.col("log_end_offset") - F.coalesce("committed_offset", "log_start_offset"),
                "committed_at": F.timestamp_millis("committed_ms"),
            }
        )
        .select("group", "topic", "partition", "committed_offset", "log_end_offset", "lag", "committed_at", "metadata")
    )
