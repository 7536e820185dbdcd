"""A fetch that waits for bytes: the purgatory "Fetch".

It went to wait because there was less than min_bytes, and is over when one of these is true:

    what could be read by now, over all its partitions, each up to its own limit, is min_bytes
    the end of a partition lies in another segment than the fetch offset, or before it
    a partition is gone, is led elsewhere, or has a leader epoch that the client does not know
    max_wait_ms has passed

However it ends, the logs are read anew, and the answer is what is there then, errors included. When the client goes
away first there is no answer and no reading. Kafka: DelayedFetch. Its case of logs that part company while a fetch
waits can't come up: logs here are never cut at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.logs.access import access_error, find_partition
from ottla.broker.logs.fetching import FetchParams, read_partitions
from ottla.purgatory import DelayedOperation

if TYPE_CHECKING:
    from ottla.broker.cluster.node import Node
    from ottla.broker.cluster.topic import Placement
    from ottla.broker.logs.fetch_session import FetchedPartition
    from ottla.broker.logs.partition import Partition
    from ottla.broker.logs.partition_answers import ReadResult


class _Waiting(NamedTuple):
    """A partition that is waited for, and where its fetch offset lay when the waiting began."""

    wanted: FetchedPartition
    partition: Partition
    placement: Placement
    segment_base_offset: int
    position: int


class DelayedFetch(DelayedOperation):
    """Calls `respond` with a function that reads: one `ReadResult` for each partition wanted."""

    __slots__ = ("_node", "_params", "_respond", "_waiting", "_wanted")

    def __init__(
        self,
        deadline_ms: int,
        node: Node,
        params: FetchParams,
        wanted: Sequence[FetchedPartition],
        results: Sequence[ReadResult],
        respond: Callable[[Callable[[], list[ReadResult]]], None],
    ) -> None:
        """`results`: what reading `wanted` gave just now; it was too little, and there was no error in it."""
        super().__init__(deadline_ms)
        self._node = node
        self._params = params
        self._wanted = wanted
        self._respond: Callable[[Callable[[], list[ReadResult]]], None] | None = respond
        self._waiting = [self._begin(partition, result) for partition, result in zip(wanted, results, strict=True)]

    @property
    def partitions(self) -> list[Partition]:
        """The keys to watch it under."""
        return [waiting.partition for waiting in self._waiting]

    def try_complete(self) -> bool:
        bytes_available = 0
        params = self._params
        for wanted, partition, placement, segment_base_offset, position in self._waiting:
            if partition.is_closed or access_error(
                self._node, partition, placement, wanted.current_leader_epoch, leader_only=params.leader_only
            ):
                return self.force_complete()
            available = partition.bytes_after(segment_base_offset, position, wanted.fetch_offset, params.isolation)
            if available is None:
                return self.force_complete()
            bytes_available += min(available, wanted.bytes_max)
        return bytes_available >= params.min_bytes and self.force_complete()

    def on_complete(self) -> None:
        respond, self._respond = self._respond, None  # which leads back here: nothing must wait for the collector
        if respond is not None:
            respond(self._read)

    def abandon(self) -> None:
        """The client is gone: wait no longer and answer nobody."""
        self._respond = None
        self.force_complete()

    def _read(self) -> list[ReadResult]:
        return read_partitions(self._node, self._params, self._wanted)

    def _begin(self, wanted: FetchedPartition, result: ReadResult) -> _Waiting:
        topic = self._node.cluster.topics[wanted.topic or ""]
        partition = find_partition(topic, wanted.index)
        assert partition is not None
        placement = topic.placements[wanted.index]
        return _Waiting(wanted, partition, placement, result.segment_base_offset, result.position)
