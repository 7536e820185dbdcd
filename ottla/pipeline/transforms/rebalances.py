"""What a journal says of rebalances: each of them, by cause, by group, and which members they were about.

A rebalance goes from `group.rebalance.started` to what ended it. If that is another start, it was interrupted: a
member came or went in the middle, and the group has not been Stable in between. Lengths are milliseconds.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from ottla.pipeline.report.events import (
    ALL_OUTCOMES,
    BIRTHS,
    CHURN,
    JOINED,
    OUTCOMES,
    REMOVALS,
    REMOVED,
    STARTED,
    UNFINISHED,
)
from ottla.pipeline.transforms.journal import in_order

REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance")


def rebalances(happened: DataFrame) -> DataFrame:
    """Every rebalance: group, started_at, ended_at, duration_ms, unread_ms, cause, member_id because of whom, outcome.

    unread_ms counts from the last sign of life of a member that was given up within it or for which it began, if there
    was one. ended_at, duration_ms and unread_ms are null if it is unfinished.
    """
    is_mark = F.col("event").isin(STARTED, *OUTCOMES, *BIRTHS)
    told = happened.where(is_mark | F.col("silent_ms").isNotNull())
    told = told.withColumn("is_mark", is_mark | F.lag("t").over(in_order()).isNull())
    told = told.withColumn("mark", F.count_if("is_mark").over(in_order()))
    silent_since = F.min(F.col("t") - F.col("silent_ms")).over(Window.partitionBy("group", "mark"))
    marks = (
        told.withColumn("silent_since", silent_since)
        .where("is_mark")
        .withColumns(
            {
                "next_t": F.lead("t").over(in_order()),
                "next_event": F.lead("event").over(in_order()),
                "silent_before": F.lag("silent_since").over(in_order()),
            }
        )
    )
    outcome = F.coalesce(
        *(F.when(F.col("next_event") == event, outcome) for event, outcome in OUTCOMES.items()), F.lit(UNFINISHED)
    )
    end = F.when(F.col("next_event").isin(*OUTCOMES), F.col("next_t"))
    return marks.where(F.col("event") == STARTED).select(
        "group",
        F.timestamp_millis("t").alias("started_at"),
        F.timestamp_millis(end).alias("ended_at"),
        (end - F.col("t")).alias("duration_ms"),
        (end - F.least("t", "silent_since", "silent_before")).alias("unread_ms"),
        "cause",
        "member_id",
        outcome.alias("outcome"),
    )


def by_cause(found: DataFrame, *keys: str) -> DataFrame:
    """`rebalances` by cause, and by `keys` before it: how many, how they ended, how long they took."""
    return found.groupBy(*keys, "cause").agg(
        F.count("*").alias("rebalances"),
        *_outcome_counts(),
        F.coalesce(F.sum("duration_ms"), F.lit(0)).alias("total_ms"),
        F.percentile_approx("duration_ms", 0.5).alias("median_ms"),
        F.percentile_approx("duration_ms", 0.95).alias("p95_ms"),
        F.max("duration_ms").alias("longest_ms"),
        F.coalesce(F.sum("unread_ms"), F.lit(0)).alias("unread_ms"),
    )


def by_group(happened: DataFrame, spans: DataFrame, found: DataFrame) -> DataFrame:
    """A row for each group, from `events`, `states` and `rebalances`.

    lines, lost_lines; members that joined and were removed; rebalances, how they ended, the longest; stable_ms,
    empty_ms, not_stable_ms (in a rebalance), unread_ms (of any rebalance);
    unfinished_state and unfinished_since: the last one, which is in no sum.
    """
    lines = happened.groupBy("group").agg(
        F.count("*").alias("lines"),
        F.sum("lost").alias("lost_lines"),
        _count(F.col("event") == JOINED).alias("joined"),
        _count(F.col("event") == REMOVED).alias("removed"),
    )
    is_open = F.col("until").isNull()
    times = spans.groupBy("group").agg(
        _sum_ms(F.col("state").isin(*REBALANCING)).alias("not_stable_ms"),
        _sum_ms(F.col("state") == "Stable").alias("stable_ms"),
        _sum_ms(F.col("state") == "Empty").alias("empty_ms"),
        F.max_by(F.when(is_open, F.col("state")), "since").alias("unfinished_state"),
        F.max_by(F.when(is_open, F.col("since")), "since").alias("unfinished_since"),
    )
    ended = found.groupBy("group").agg(
        F.count("*").alias("rebalances"), *_outcome_counts(), F.max("duration_ms").alias("longest_ms")
    )
    sums = ("not_stable_ms", "stable_ms", "empty_ms", "unread_ms")
    counts = ("rebalances", *ALL_OUTCOMES, *sums)
    found = lines.join(times, "group", "left").join(ended, "group", "left").join(_unread(found), "group", "left")
    return found.fillna(0, list(counts))


def _unread(found: DataFrame) -> DataFrame:
    """How long partitions may have had no reader, by group: a time that is in several rebalances counts once."""
    until = F.unix_millis("ended_at")
    since = until - F.col("unread_ms")
    spans = found.where(until.isNotNull()).select("group", since.alias("from"), until.alias("to"))
    earlier = Window.partitionBy("group").orderBy("from", "to").rowsBetween(Window.unboundedPreceding, -1)
    new = F.greatest(F.col("to") - F.greatest("from", F.max("to").over(earlier)), F.lit(0))
    return spans.withColumn("new", new).groupBy("group").agg(F.sum("new").alias("unread_ms"))


def members(happened: DataFrame) -> DataFrame:
    """A row for each member of each group: how often it joined, rejoined, was replaced or removed, and how many
    rebalances were because of it.
    """
    is_removed = F.col("event") == REMOVED
    counts = [_count(F.col("event") == event).alias(name) for event, name in CHURN.items()]
    counts += [_count(is_removed & (F.col("cause") == cause)).alias(name) for cause, name in REMOVALS.items()]
    return (
        happened.where(F.col("member_id").isNotNull() & F.col("event").isin(STARTED, *CHURN))
        .groupBy("group", "member_id")
        .agg(
            F.max("client_id").alias("client_id"),
            F.max("client_host").alias("client_host"),
            *counts,
            _count(F.col("event") == STARTED).alias("rebalances"),
        )
    )


def _outcome_counts() -> list[Column]:
    return [_count(F.col("outcome") == outcome).alias(outcome) for outcome in ALL_OUTCOMES]


def _count(condition: Column) -> Column:
    return F.count_if(condition)


def _sum_ms(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col("duration_ms"))), F.lit(0))
