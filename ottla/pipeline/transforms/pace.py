"""When records of a topic are due, if they are to come as they once came."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812


def due(records: DataFrame) -> DataFrame:
    """Records with offset and timestamp, and `due_ms`: when each is due, by the clock of then.

    A producer may give a record any time. Within a partition order wins: a record that is older than one before it is
    due with that one.
    """
    so_far = (
        Window.partitionBy("topic", "partition")
        .orderBy("offset")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return records.withColumn("due_ms", F.max(F.unix_millis("timestamp")).over(so_far))


def in_due_order(records: DataFrame) -> DataFrame:
    """All of them in one task, as there is one clock, and in the order in which they are due."""
    return records.repartition(1).sortWithinPartitions("due_ms", "partition", "position")
