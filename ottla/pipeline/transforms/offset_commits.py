"""Committed offsets, read from the records of `__consumer_offsets`.

    key      int16 0 or 1, group, topic: int16 length and UTF-8; partition: int32. Other first numbers are other records
    value    int16 version 0-4, offset: int64, then

             v0, v2    metadata: int16 length and UTF-8; commit timestamp: int64
             v1        as v0, then an expiry: int64
             v3        leader epoch: int32, then as v0
             v4        leader epoch: int32; metadata: varint length + 1 and UTF-8; commit timestamp: int64; tagged
                       fields, of which 0 is the topic's id
             null      a tombstone: the group has nothing committed there any more

A later record of a key replaces an earlier one, so only the newest counts, and it may be a tombstone: what is gone is
dropped after the newest was found, not before.

Kafka: OffsetCommitKey and OffsetCommitValue in the group coordinator's schemas.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ottla.pipeline.transforms.binary import int_at, slice_at, text, varint_at, varint_bytes_at

_KEY_VERSIONS: Final = (0, 1)
_VALUE_VERSION_MAX: Final = 4
_LEADER_EPOCH_SINCE: Final = 3
_FLEXIBLE_SINCE: Final = 4
_EXPIRY_ONLY_IN: Final = 1

_VERSION_AT: Final = 1
_OFFSET_AT: Final = 3
_LEADER_EPOCH_AT: Final = 11
#: A tag section of one field: tag 0 of 16 bytes, which is the topic's id. It is the only tag there is.
_TOPIC_ID_TAG: Final = "010010"
_TOPIC_ID_BYTES: Final = 16


def offset_commits(records: DataFrame) -> DataFrame:
    """Every commit and tombstone among the records, which need key, value, partition and offset.

    group, topic, partition: what it is about; all null if the key can't be read
    committed_offset, leader_epoch, metadata, committed_ms, expires_ms, topic_id: null where the record has none
    is_tombstone; is_readable: false if key or value are no records of Kafka's, as far as 4.4 knows them
    log_partition, log_offset: where the record stands
    """
    return _with_value(_with_key(records)).select(
        "group",
        "topic",
        F.col("commit_partition").alias("partition"),
        "committed_offset",
        "leader_epoch",
        "metadata",
        "committed_ms",
        "expires_ms",
        "topic_id",
        F.col("value").isNull().alias("is_tombstone"),
        (F.col("commit_partition").isNotNull() & (F.col("value").isNull() | F.col("committed_ms").isNotNull())).alias(
            "is_readable"
        ),
        F.col("partition").alias("log_partition"),
        F.col("offset").alias("log_offset"),
    )


def newest_commits(commits: DataFrame) -> DataFrame:
    """What of `offset_commits` holds now: for each group, topic and partition the newest one, unless that is gone.

    What can't be read has no place in the order. It is not filtered out: Spark would work the filter out below all that
    it is made from, each step written out within the next, which takes minutes.
    """
    value = ("committed_offset", "leader_epoch", "metadata", "committed_ms", "expires_ms", "topic_id", "is_tombstone")
    place = F.when(F.col("is_readable"), F.struct("log_partition", "log_offset"))
    newest = commits.groupBy("group", "topic", "partition").agg(F.max_by(F.struct(*value), place).alias("newest"))
    holds = F.col("newest").isNotNull() & ~F.col("newest.is_tombstone")
    return newest.where(holds).select("group", "topic", "partition", "newest.*").drop("is_tombstone")


def _with_key(records: DataFrame) -> DataFrame:
    """The records that are commits, with group, topic and commit_partition."""
    key = F.col("key")
    is_commit = int_at(key, _VERSION_AT, 2).isin(*_KEY_VERSIONS)
    return (
        records.select("key", "value", "partition", "offset")
        .where(is_commit)
        .withColumn("group_bytes", int_at(key, 3, 2))
        .withColumn("topic_at", F.col("group_bytes") + 5)
        .withColumn("topic_bytes", int_at(key, F.col("topic_at"), 2))
        .withColumn("partition_at", F.col("topic_at") + 2 + F.col("topic_bytes"))
        .withColumn("commit_partition", int_at(key, F.col("partition_at"), 4).cast("int"))
        .withColumns(
            {
                "group": text(slice_at(key, 5, F.col("group_bytes"))),
                "topic": text(slice_at(key, F.col("topic_at") + 2, F.col("topic_bytes"))),
            }
        )
    )


def _with_value(keyed: DataFrame) -> DataFrame:
    """The same, with the fields of the value."""
    value, version = F.col("value"), F.col("version")
    has_leader_epoch = version >= _LEADER_EPOCH_SINCE
    is_flexible = version >= _FLEXIBLE_SINCE
    is_known = int_at(value, _VERSION_AT, 2).between(0, _VALUE_VERSION_MAX)
    length_at, length_bytes = F.col("length_at"), F.col("length_bytes")
    metadata_at, metadata_bytes = F.col("metadata_at"), F.col("metadata_bytes")
    return (
        keyed.withColumn("version", F.when(is_known, int_at(value, _VERSION_AT, 2)))
        .withColumns(
            {
                "committed_offset": F.when(version.isNotNull(), int_at(value, _OFFSET_AT, 8)),
                "leader_epoch": F.when(has_leader_epoch, int_at(value, _LEADER_EPOCH_AT, 4).cast("int")),
                "length_at": F.lit(_LEADER_EPOCH_AT) + F.when(has_leader_epoch, 4).otherwise(0),
            }
        )
        .withColumn("length_bytes", F.when(is_flexible, varint_bytes_at(value, length_at)).otherwise(2))
        .withColumns(
            {
                "metadata_at": length_at + length_bytes,
                "metadata_bytes": F.when(is_flexible, varint_at(value, length_at, length_bytes) - 1).otherwise(
                    int_at(value, length_at, 2)
                ),
            }
        )
        .withColumn("committed_at", metadata_at + metadata_bytes)
        .withColumns(
            {
                "metadata": text(slice_at(value, metadata_at, metadata_bytes)),
                "committed_ms": F.when(version.isNotNull(), _after(value, metadata_bytes, 0)),
                "expires_ms": F.when(version == _EXPIRY_ONLY_IN, _after(value, metadata_bytes, 8)),
                "topic_id": F.when(is_flexible, _topic_id(value)),
            }
        )
    )


def _after(value: Column, metadata_bytes: Column, distance: int) -> Column:
    """An int64 after the metadata, which has to be there: a string that is null has a length of -1."""
    return F.when(metadata_bytes >= 0, int_at(value, F.col("committed_at") + distance, 8))


def _topic_id(value: Column) -> Column:
    """The topic's id as 32 hexadecimal digits, from the tagged fields."""
    tags_at = F.col("committed_at") + 8
    has_id = F.hex(slice_at(value, tags_at, 3)) == _TOPIC_ID_TAG
    return F.when(has_id, F.lower(F.hex(slice_at(value, tags_at + 3, _TOPIC_ID_BYTES))))
