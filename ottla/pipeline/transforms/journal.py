"""A broker's journal as a DataFrame: its lines in order, and what states groups were in.

docs/journal.md tells what a line means. A group's `seq` begins anew when the group is created or loaded, and then it is
another life of it: what was open in the one before, because the broker was killed, stays open. The state in a line is
the one after it; it lasts until a line with another, or until the group is deleted or unloaded, when it has none.

All windows are over the same order, so Spark sorts once, and what it holds of a group at a time is a line.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import WindowSpec

from ottla.pipeline.report.events import BIRTHS, DEATHS, TIME_MS_MAX, VERSION

#: Where Spark puts a line that is no JSON.
UNREADABLE: Final = "unreadable"
#: Of lines, as far as they are analysed; the others' details are passed over.
SCHEMA: Final = (
    "v int, line bigint, t bigint, group string, seq bigint, event string, state string, cause string, "
    f"member_id string, client_id string, client_host string, silent_ms bigint, {UNREADABLE} string"
)


def is_usable() -> Column:
    """Whether a line is one that this module knows how to read."""
    is_time = F.col("t").between(-TIME_MS_MAX, TIME_MS_MAX)
    has_all = is_time & F.col("group").isNotNull() & F.col("seq").isNotNull() & F.col("event").isNotNull()
    return F.coalesce((F.col("v") == VERSION) & has_all & F.col(UNREADABLE).isNull(), F.lit(False))


def in_order() -> WindowSpec:
    """The lines of a group as they came. Journals of old have no `line`; `seq` is nearly as good."""
    return Window.partitionBy("group").orderBy("t", "line", "seq")


def events(lines: DataFrame) -> DataFrame:
    """The usable lines, each with `state_before`, and `lost`: how many lines are missing before it."""
    seq_before = F.lag("seq").over(in_order())
    is_birth = F.col("event").isin(*BIRTHS)
    missing = F.when(~is_birth, F.greatest(F.col("seq") - seq_before - 1, F.lit(0)))
    return (
        lines.where(is_usable())
        .withColumns({"state_before": F.lag("state").over(in_order()), "lost": F.coalesce(missing, F.lit(0))})
        .drop("v", UNREADABLE)
    )


def states(happened: DataFrame) -> DataFrame:
    """How long groups were in which state: group, state, since, until, duration_ms.

    until and duration_ms are null for a state that has not ended: the last in the journal, or one that the group was in
    when its broker was killed.
    """
    is_birth, is_death = F.col("event").isin(*BIRTHS), F.col("event").isin(*DEATHS)
    is_change = is_birth | is_death | ~F.col("state").eqNullSafe(F.col("state_before"))
    changes = happened.where(is_change).withColumns(
        {"next_t": F.lead("t").over(in_order()), "next_event": F.lead("event").over(in_order())}
    )
    end = F.when(F.col("next_event").isin(*BIRTHS), None).otherwise(F.col("next_t"))
    return changes.where(~is_death).select(
        "group",
        "state",
        F.timestamp_millis("t").alias("since"),
        F.timestamp_millis(end).alias("until"),
        (end - F.col("t")).alias("duration_ms"),
    )
