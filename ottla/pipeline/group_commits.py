"""Committing offsets for groups from Spark's tasks, without changing groups that work at the target.

A coordinator takes commits for a group with members from these members only: such a group is left as it is, and named.
No committed offset goes back: a group that has worked on at the target does not read again. Many groups are asked at
once, because each answer takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.pipeline.address import ClusterAddress
from ottla.pipeline.sender import Batches

if TYPE_CHECKING:
    import pyarrow
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient
    from pyspark.sql import DataFrame

_COLUMNS: Final = ("group", "topic", "partition", "offset", "metadata")
#: For each group: partitions committed, partitions that were at the offset or beyond it, and why nothing was done.
_OUTCOME_SCHEMA: Final = "group string, written bigint, kept bigint, refusal string"
_GROUPS_AT_ONCE: Final = 100
_NOT_EMPTY: Final = "it has members there"

_Row: TypeAlias = tuple[str, str, int, int, str | None]
_Outcome: TypeAlias = tuple[str, int, int, str | None]


def committed(positions: DataFrame, address: ClusterAddress) -> DataFrame:
    """Commit when the result is asked for: group, written, kept, refusal; a line for each group.

    `positions` are group, topic, partition, offset, metadata. To do it again changes nothing.
    """
    ordered = positions.select(*_COLUMNS).repartition("group").sortWithinPartitions("group")
    return ordered.mapInArrow(_commit_all(address), _OUTCOME_SCHEMA)


def _commit_all(address: ClusterAddress) -> Callable[[Batches], Batches]:
    def commit_all(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({**address.for_librdkafka(), "client.id": "ottla-pipeline"})
        groups = ((group, list(rows)) for group, rows in groupby(_rows(batches), key=lambda row: row[0]))
        while some := dict(islice(groups, _GROUPS_AT_ONCE)):
            columns = zip(*_commit(admin, some), strict=True)
            names = ["group", "written", "kept", "refusal"]
            types = (pyarrow.string(), pyarrow.int64(), pyarrow.int64(), pyarrow.string())
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=names
            )

    return commit_all


def _rows(batches: Batches) -> Iterable[_Row]:
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True)


def _commit(admin: AdminClient, groups: dict[str, list[_Row]]) -> list[_Outcome]:
    """Commit, and return the outcome of each group."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

    outcomes: dict[str, _Outcome] = {}
    asked = {
        group: admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, [TopicPartition(row[1], row[2]) for row in rows])]
        )[group]
        for group, rows in groups.items()
    }
    committing = {}
    for group, rows in groups.items():
        try:
            there = {(at.topic, at.partition): at.offset for at in asked[group].result().topic_partitions}
        except KafkaException as error:
            outcomes[group] = (group, 0, 0, error.args[0].str())
            continue
        #: An offset that isn't there is a number below 0.
        ahead = [_position(row) for row in rows if row[3] > there[row[1], row[2]]]
        outcomes[group] = (group, len(ahead), len(rows) - len(ahead), None)
        if ahead:
            request = ConsumerGroupTopicPartitions(group, ahead)
            committing[group] = admin.alter_consumer_group_offsets([request])[group]
    for group, answer in committing.items():
        refusal = _refusal(answer)
        if refusal is not None:
            outcomes[group] = (group, 0, 0, refusal)
    return list(outcomes.values())


def _position(row: _Row) -> TopicPartition:
    from confluent_kafka import TopicPartition

    _group, topic, partition, offset, text = row
    #: confluent-kafka ends metadata with a NUL that it doesn't take itself.
    metadata = (text or "").replace("\0", "")
    if metadata:
        return TopicPartition(topic, partition, offset, metadata=metadata)
    return TopicPartition(topic, partition, offset)


def _refusal(answer: Any) -> str | None:
    """Why a commit wasn't taken, or None."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        errors = [at.error for at in answer.result().topic_partitions if at.error is not None]
    except KafkaException as error:
        errors = [error.args[0]]
    if not errors:
        return None
    is_not_empty = errors[0].code() in {KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP}
    return _NOT_EMPTY if is_not_empty else str(errors[0].str())
