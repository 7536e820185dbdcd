"""What a test does without being a client: make a topic, put records into it, take records out, commit an offset.

It goes the way a client's request goes from its handler on, and is refused for the same reasons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ottla.broker.internal.coordinators import group_coordinator
from ottla.cluster.placement import place
from ottla.cluster.refused import Refused
from ottla.cluster.topic_creation import (
    BROKER_DEFAULT,
    PARTITIONS_AT_ONCE_MAX,
    NewTopic,
    check_new_name,
    create_on_demand,
    place_new_topic,
)
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.control.state.topics import Record, TopicView, find_log, find_topic, look_at_topic
from ottla.coordinator.offsets.events import OffsetCommitRequested
from ottla.log.partition_answers import AppendResult
from ottla.protocol.batch_error import BatchError
from ottla.protocol.errors import ErrorCode, error_name
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record as RecordToBuild
from ottla.protocol.record_validation import only_batch

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.control.state.groups import Place

#: The version of Produce whose rules hold for records that are put in.
_PRODUCE_VERSION = 9
#: The version of OffsetCommit that offsets are committed with.
_COMMIT_VERSION = 9
_OFFSET_MAX = (1 << 63) - 1


class ChangeRefused(ValueError):
    """The change is not possible; the text says why."""


def create_topic(
    cluster: Cluster, name: str, partitions: int | None = None, configs: Mapping[str, str] | None = None
) -> TopicView:
    """Make a topic, with so many partitions; None: num.partitions. Raises `ChangeRefused`."""
    _check_count(name, partitions or 0)
    topic = NewTopic(name, BROKER_DEFAULT if partitions is None else partitions, configs=dict(configs or {}))
    try:
        check_new_name(cluster, name)
        assignment, checked = place_new_topic(cluster, topic)
        cluster.create_topic(name, assignment, checked)
    except Refused as refused:
        raise ChangeRefused(f"topic {name} is refused: {refused.error_code.name}: {refused.message}") from None
    return look_at_topic(cluster, name)


def grow_topic(cluster: Cluster, name: str, partitions: int) -> TopicView:
    """Have a topic get more partitions, until there are so many. Raises `NoSuchTopic`, `ChangeRefused`."""
    topic = find_topic(cluster, name)
    have, replicas = len(topic.partitions), len(topic.placements[0].assigned)
    _check_count(name, partitions - have)
    if partitions <= have:
        raise ChangeRefused(f"topic {name} has {have} partitions, and can only get more, not {partitions}")
    try:
        added = place(cluster.node_ids, cluster.partitions_placed, partitions - have, replicas, cluster.node_ids_down)
        cluster.add_partitions(topic, added)
    except Refused as refused:
        raise ChangeRefused(f"topic {name} stays as it is: {refused.error_code.name}: {refused.message}") from None
    return look_at_topic(cluster, name)


def _check_count(name: str, partitions: int) -> None:
    if partitions > PARTITIONS_AT_ONCE_MAX:
        raise ChangeRefused(
            f"topic {name}: {partitions} partitions are too many; at once {PARTITIONS_AT_ONCE_MAX} can be made"
        )


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
    dated_ms = cluster.wall_ms() if timestamp_ms is None else timestamp_ms
    kept_headers = tuple(headers)
    return append_batch(
        cluster,
        name,
        partition,
        [RecordToBuild(number, dated_ms, key, value, kept_headers) for number, value in enumerate(values)],
    )


def append_batch(cluster: Cluster, name: str, partition: int, records: Sequence[RecordToBuild]) -> list[Record]:
    """Append these records, whose offsets count from 0, as one batch; for the rest see `append_records`."""
    if name not in cluster.topics and create_on_demand(cluster, name) is None:
        raise ChangeRefused(f"topic {name} is not there and can't be made")
    log = find_log(cluster, name, partition)
    if not records:
        return []
    try:
        header, batch = only_batch(build_batch_of(records, base_offset=0), _PRODUCE_VERSION)
    except BatchError as fault:
        raise ChangeRefused(f"{name}-{partition} refuses the records: {fault.error.name}: {fault}") from None
    wall_ms = cluster.wall_ms()
    prepared = log.prepare(batch, header, wall_ms)
    if isinstance(prepared, AppendResult):
        result = prepared
    else:
        result = log.append_prepared(prepared.data, header, prepared.max_timestamp, wall_ms)
    if result.error:
        said = f": {result.error_message}" if result.error_message else ""
        raise ChangeRefused(f"{name}-{partition} refuses the records: {result.error.name}{said}")
    append_ms = result.log_append_time_ms
    return [
        Record(
            name,
            partition,
            result.base_offset + record.offset,
            record.timestamp if append_ms < 0 else append_ms,
            record.key,
            record.value,
            record.headers,
        )
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


async def commit_offsets(services: Services, cluster: Cluster, group_id: str, offsets: Mapping[Place, int]) -> None:
    """Commit as a client that is no member: for groups that have none. Raises `NoSuchTopic`, `ChangeRefused`."""
    topics = []
    for (name, partition), offset in offsets.items():
        find_log(cluster, name, partition)
        if not -_OFFSET_MAX <= offset <= _OFFSET_MAX:
            raise ChangeRefused(f"group {group_id} refuses the offset of {name}-{partition}: {offset} has over 64 bits")
        listed = OffsetCommitRequest.OffsetCommitRequestPartition(partition, offset, committed_metadata="")
        topic_id = cluster.topics[name].topic_id
        topics.append(OffsetCommitRequest.OffsetCommitRequestTopic(name, topic_id, [listed]))
    if GROUP_TOPIC not in cluster.topics:
        create_on_demand(cluster, GROUP_TOPIC)
    node = group_coordinator(cluster, group_id)
    if node is None:
        raise ChangeRefused(f"group {group_id} has no coordinator at the moment")
    heard = _Heard(asyncio.get_running_loop().create_future())
    coordinator = services.group_coordination.of_node[node.node_id]
    request = OffsetCommitRequest(group_id, topics=topics)
    coordinator.submit(group_id, OffsetCommitRequested(heard, request, _COMMIT_VERSION))
    answer = await heard.future
    for topic in answer.topics:
        for refused in topic.partitions:
            if refused.error_code:
                error = error_name(refused.error_code)
                raise ChangeRefused(
                    f"group {group_id} refuses the offset of {topic.name}-{refused.partition_index}: {error}"
                )


class _Heard:
    """Takes the group's answer."""

    def __init__(self, future: asyncio.Future[OffsetCommitResponse]) -> None:
        self.future = future

    def answer(self, response: OffsetCommitResponse) -> None:
        if not self.future.done():
            self.future.set_result(response)
