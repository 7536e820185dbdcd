"""A topic and its mirror: which records correspond, whether they are equal, and which offsets correspond for groups.

Offsets can't be kept. A log has gaps, from compaction, transactions and retention, and a producer can't make gaps. So
each mirrored record has a header with its source: `ottla.source: TOPIC_ID:OFFSET`. Topic ids are never given twice, by
no cluster, so a header names one record for good. From it follows:

    where to go on          after the last record's source offset
    is it the same?         records of one source offset have one digest
    a group's position      the first mirrored record at or beyond the offset it has committed

A record that was mirrored before gets a new header in place of the old one.

    marks     topic, partition, offset, source_offset, digest, is_late: records of a mirror. source_offset is null where
              another client wrote them; is_late: a record of the same or a later source offset stands before it
    digests   topic, partition, source_offset, digest: the records they come from
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from ottla.pipeline.source_header import SOURCE_HEADER
from ottla.pipeline.transforms.records import HEADERS_TYPE

_PARTITION: Final = ("topic", "partition")
_RECORD: Final = (*_PARTITION, "source_offset")
_EVERYTHING: Final = (Window.unboundedPreceding, Window.unboundedFollowing)


def marked(records: DataFrame, topic_id: str) -> DataFrame:
    """Records of a topic, each with the header that says where it comes from."""
    mark = F.concat(F.lit(f"{topic_id}:"), F.col("offset").cast("string")).cast("binary")
    header = F.struct(F.lit(SOURCE_HEADER).alias("key"), mark.alias("value"))
    return records.withColumn("headers", F.array_append(_own_headers(), header).cast(HEADERS_TYPE))


def marks(mirrored: DataFrame, topic_ids: Mapping[str, str]) -> DataFrame:
    """What the records of mirrors say of where they come from; `topic_ids` are those of the sources."""
    found = F.filter(F.coalesce("headers", _no_headers()), lambda header: header["key"] == SOURCE_HEADER)
    text = F.get(found, F.size(found) - 1)["value"].cast("string")
    known = F.create_map(*(F.lit(word) for entry in topic_ids.items() for word in entry))
    is_ours = F.substring_index(text, ":", 1) == known[F.col("topic")]
    source_offset = F.when(is_ours, F.substring_index(text, ":", -1).try_cast("bigint"))
    highest_before = F.max("source_offset").over(
        Window.partitionBy(*_PARTITION).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    )
    return mirrored.select(
        *_PARTITION, "offset", source_offset.alias("source_offset"), _digest().alias("digest")
    ).withColumn("is_late", F.coalesce(F.col("source_offset") <= highest_before, F.lit(False)))


def digests(records: DataFrame) -> DataFrame:
    """The records of sources, in short."""
    return records.select(*_PARTITION, F.col("offset").alias("source_offset"), _digest().alias("digest"))


def compared(digests: DataFrame, marks: DataFrame) -> DataFrame:
    """Source and mirror, a line for each partition with records: topic, partition, and how many records are

    equal, different    at both, by their digests
    missing             only at the source
    gone                only in the mirror: the source has compacted or deleted them since
    late                in the mirror behind one that should come after them, or twice
    foreign             in the mirror, but not from the source
    """
    source = digests.withColumnRenamed("digest", "source_digest")
    is_here, is_there = F.col("source_digest").isNotNull(), F.col("digest").isNotNull()
    counts = {
        "equal": F.col("source_digest") == F.col("digest"),
        "different": F.col("source_digest") != F.col("digest"),
        "missing": is_here & ~is_there,
        "gone": ~is_here & is_there & F.col("source_offset").isNotNull(),
        "late": F.col("is_late"),
        "foreign": is_there & F.col("source_offset").isNull(),
    }
    joined = source.join(marks, [*_RECORD], "full_outer")
    return joined.groupBy(*_PARTITION).agg(*(F.count_if(is_one).alias(name) for name, is_one in counts.items()))


def translated(commits: DataFrame, marks: DataFrame, starts: DataFrame) -> DataFrame:
    """Commits (group, topic, partition, committed_offset, metadata) as they are to be in the mirrors.

    group, topic, partition, offset, metadata. `starts` (topic, partition, start), which are few, are where the mirrors'
    logs begin: a group that is beyond all mirrored records gets the offset behind the last one, or else this. Commits
    of partitions that aren't among them are left out.
    """
    positions = commits.join(F.broadcast(starts), [*_PARTITION]).select(
        "group", *_PARTITION, F.col("committed_offset").alias("source_offset"), "metadata", "start"
    )
    records = marks.where(F.col("source_offset").isNotNull()).select(*_RECORD, "offset")
    #: From the last source offset down: what has been met is at or beyond.
    descending = Window.partitionBy(*_PARTITION).orderBy(F.desc("source_offset"))
    first = F.min("offset").over(descending)
    behind_last = F.max("offset").over(descending.rowsBetween(*_EVERYTHING)) + 1
    return (
        positions.unionByName(records, allowMissingColumns=True)
        .withColumn("offset", F.coalesce(first, behind_last, "start"))
        .where(F.col("group").isNotNull())
        .select("group", *_PARTITION, "offset", "metadata")
    )


def _no_headers() -> Column:
    return F.array().cast(HEADERS_TYPE)


def _own_headers() -> Column:
    """A record's headers but ours, which differs."""
    return F.filter(F.coalesce("headers", _no_headers()), lambda header: header["key"] != SOURCE_HEADER)


def _digest() -> Column:
    """64 bits of all a record has. Spark's hash passes over nulls, so it is told where they are."""
    headers = F.transform(_own_headers(), lambda header: F.struct(header["key"], *_with_null(header["value"])))
    return F.xxhash64(*_with_null(F.col("key")), *_with_null(F.col("value")), headers, F.unix_millis("timestamp"))


def _with_null(data: Column) -> tuple[Column, Column]:
    return data.isNull(), data
