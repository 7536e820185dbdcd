"""The log of coordinators: what their machines keep goes to the partitions of an internal topic.

Kafka: CoordinatorPartitionWriter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.log.producer_state import Verification
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.records import Record


class InternalLog:
    """The partitions of one internal topic, to be appended to."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic

    def append(self, partition: int, records: Sequence[Record], writer: Writer | None = None) -> ErrorCode:
        """Append the records as one batch, and say why not if not. `writer`: the producer of their transaction.

        The task may be suspended while the batch is built; from then on it is not.
        """
        wall_ms = self._cluster.wall_ms()
        verification = None
        if writer is None:
            batch = build_batch(records, timestamp_ms=wall_ms)
        else:
            batch = build_batch(
                records,
                timestamp_ms=wall_ms,
                producer_id=writer.producer_id,
                producer_epoch=writer.producer_epoch,
                is_transactional=True,
            )
            assert writer.verification is None or isinstance(writer.verification, Verification)
            verification = writer.verification
        topic = self._cluster.topics.get(self._topic)
        if topic is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = topic.partitions[partition]
        if topic.placements[partition].has_too_few_in_sync(log.config.min_insync_replicas):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return log.append_internal(batch, wall_ms, verification).error

    def append_in_transaction(self, partition: int, records: Sequence[Record], writer: Writer) -> ErrorCode:
        """The same as part of a producer's transaction."""
        return self.append(partition, records, writer)
