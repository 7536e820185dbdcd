"""A small part of many records, the same one whenever it is asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

_PARTS: Final = 1_000_000


def within(records: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Records from a time on, and before another: offsets bound them well only where times grow with them."""
    if since is not None:
        records = records.where(F.col("timestamp") >= F.lit(since))
    if until is not None:
        records = records.where(F.col("timestamp") < F.lit(until))
    return records


def sampled(records: DataFrame, fraction: float, *, by_key: bool) -> DataFrame:
    """So many of all, 0 to 1. By key: all records of a key or none; those without a key by themselves."""
    place = F.xxhash64("topic", "partition", "offset")
    chosen_by = F.when(F.col("key").isNotNull(), F.xxhash64("key")).otherwise(place) if by_key else place
    return records.where(F.pmod(chosen_by, F.lit(_PARTS)) < round(fraction * _PARTS))


def first_of_each_partition(records: DataFrame, count: int) -> DataFrame:
    """The first so many of each partition."""
    place = F.row_number().over(Window.partitionBy("topic", "partition").orderBy("offset"))
    return records.withColumn("_place", place).where(F.col("_place") <= count).drop("_place")
