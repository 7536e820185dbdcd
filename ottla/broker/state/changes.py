"""What a test does to a topic without being a client: make it, delete it, put records into it, take records out.

It goes the way a client's request goes from its handler on, and is refused for the same reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ottla.broker.state.topics import Record, TopicView, find_log, find_topic, look_at_topic
from ottla.cluster.refused import Refused
from ottla.cluster.topic_creation import BROKER_DEFAULT, NewTopic, check_new_name, create_on_demand, place_new_topic
from ottla.protocol.batch_error import BatchError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record as RecordToBuild
from ottla.protocol.record_validation import only_batch

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster

#: The version of Produce whose rules hold for records that are put in.
_PRODUCE_VERSION = 9


class ChangeRefused(ValueError):
    """What was wanted can't be done; the text says why."""


def create_topic(
    cluster: Cluster, name: str, partitions: int | None = None, configs: Mapping[str, str] | None = None
) -> TopicView:
    """Make a topic, with so many partitions; None: num.partitions. Raises `ChangeRefused`."""
    topic = NewTopic(name, BROKER_DEFAULT if partitions is None else partitions, configs=dict(configs or {}))
    try:
        check_new_name(cluster, name)
        assignment, checked = place_new_topic(cluster, topic)
        cluster.create_topic(name, assignment, checked)
    except Refused as refused:
        raise ChangeRefused(f"topic {name} is refused: {refused.error_code.name}: {refused.message}") from None
    return look_at_topic(cluster, name)


def delete_topic(cluster: Cluster, name: str) -> None:
    """Delete a topic. Raises `NoSuchTopic`, `ChangeRefused`."""
    try:
        cluster.delete_topic(find_topic(cluster, name))
    except Refused as refused:
        raise ChangeRefused(f"topic {name} stays: {refused.error_code.name}: {refused.message}") from None


def append_records(
    cluster: Cluster,
    name: str,
    values: Iterable[bytes | None],
    *,
    key: bytes | None = None,
    partition: int = 0,
    headers: Iterable[tuple[str, bytes | None]] = (),
    timestamp_ms: int | None = None,
) -> list[Record]:
    """Append records in one batch; returns them as they stand in the log. A topic that is not there is made.

    `timestamp_ms`: None for the broker's date. Raises `NoSuchTopic` for such a partition, `ChangeRefused`.
    """
    if name not in cluster.topics and create_on_demand(cluster, name) is None:
        raise ChangeRefused(f"topic {name} is not there and can't be made")
    log = find_log(cluster, name, partition)
    wall_ms = cluster.wall_ms()
    dated_ms = wall_ms if timestamp_ms is None else timestamp_ms
    kept_headers = tuple(headers)
    records = [RecordToBuild(number, dated_ms, key, value, kept_headers) for number, value in enumerate(values)]
    if not records:
        return []
    try:
        header, batch = only_batch(build_batch_of(records, base_offset=0), _PRODUCE_VERSION)
    except BatchError as fault:
        raise ChangeRefused(f"{name}-{partition} refuses the records: {fault.error.name}: {fault}") from None
    result = log.append_as_leader(batch, header, wall_ms)
    if result.error:
        said = f": {result.error_message}" if result.error_message else ""
        raise ChangeRefused(f"{name}-{partition} refuses the records: {result.error.name}{said}")
    if result.log_append_time_ms >= 0:
        dated_ms = result.log_append_time_ms
    return [
        Record(name, partition, result.base_offset + record.offset, dated_ms, key, record.value, kept_headers)
        for record in records
    ]


def delete_records(cluster: Cluster, name: str, partition: int | None = None, before: int | None = None) -> None:
    """Have the logs start at `before`; None: at their ends. `partition` None: all of them.

    Raises `NoSuchTopic`, `ChangeRefused`.
    """
    logs = find_topic(cluster, name).partitions if partition is None else [find_log(cluster, name, partition)]
    for log in logs:
        error, _log_start_offset = log.delete_records(-1 if before is None else before)
        if error is not ErrorCode.NONE:
            raise ChangeRefused(f"{name}-{log.index} keeps its records: {error.name}")
