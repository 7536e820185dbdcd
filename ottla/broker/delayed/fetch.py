"""A fetch that waits for bytes: the purgatory "Fetch".

It went to wait because there was less than min_bytes, and is over when one of these is true:

    what could be read by now, over all its partitions, each up to its own limit, is min_bytes
    the end of a partition lies in another segment than the fetch offset, or before it
    a partition is gone, is led elsewhere, or has a leader epoch that the client does not know
    max_wait_ms has passed

An event looks only at the partition it is about, for there may be thousands. However it ends, the logs are read anew,
and the answer is what is there then, errors included. When the client goes away first there is no answer and no
reading. Kafka: DelayedFetch. Its case of logs that part company while a fetch waits can't come up: logs here are never
cut at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.broker.delayed.request import DelayedRequest, WaitingCall
from ottla.broker.fetching.reading import FetchParams, read_partitions
from ottla.cluster.partition_access import access_error, find_partition
from ottla.log.partition import Partition
from ottla.pacing import paced

if TYPE_CHECKING:
    from ottla.broker.fetching.fetch_session import FetchedPartition
    from ottla.cluster.partition_access import AskedNode
    from ottla.cluster.topic import Placement
    from ottla.log.partition_answers import ReadResult
    from ottla.protocol.messages.fetch import FetchResponse


@dataclass(slots=True, eq=False)
class _WatchedPartition:
    """A partition that is waited for, and where its fetch offset lay when the waiting began."""

    wanted: FetchedPartition
    placement: Placement
    segment_base_offset: int
    position: int
    #: What could be read of it when it was last looked at.
    bytes_available: int = 0


class DelayedFetch(DelayedRequest):
    """A fetch that waits."""

    __slots__ = ("_answer", "_bytes_available", "_has_lost_some", "_node", "_params", "_wanted", "_watched")

    deadline_kind = "fetch"

    def __init__(
        self,
        call: WaitingCall,
        deadline_ms: int,
        node: AskedNode,
        params: FetchParams,
        wanted: Sequence[FetchedPartition],
        results: Sequence[ReadResult],
        answer: Callable[[Sequence[ReadResult]], FetchResponse],
    ) -> None:
        """`results`: what reading `wanted` gave just now; it was too little, and there was no error in it.

        `answer`: makes the answer from one `ReadResult` for each partition wanted.
        """
        super().__init__(call, deadline_ms)
        self._node = node
        self._params = params
        self._wanted = wanted
        self._answer = answer
        self._watched: dict[Partition, _WatchedPartition] = {}
        #: A topic was deleted since it was read.
        self._has_lost_some = False
        for partition, result in zip(wanted, results, strict=True):
            self._begin(partition, result)
        self._bytes_available = 0

    @property
    def partitions(self) -> Collection[Partition]:
        """The keys to watch it under."""
        return self._watched.keys()

    def try_complete(self) -> bool:
        is_over = self._has_lost_some or any(self._is_over(partition) for partition in paced(self._watched))
        return (is_over or self._is_enough) and self.force_complete()

    def try_complete_for(self, key: Hashable) -> bool:
        """What others than this partition have to give is known: each of them is looked at when it moves."""
        assert isinstance(key, Partition)
        return (self._is_over(key) or self._is_enough) and self.force_complete()

    @property
    def _is_enough(self) -> bool:
        return self._bytes_available >= self._params.min_bytes

    def _is_over(self, partition: Partition) -> bool:
        """See what could be read of a partition by now. True: whatever there is, the fetch waits no longer."""
        watched, params = self._watched[partition], self._params
        epoch = watched.wanted.current_leader_epoch
        if partition.is_closed or access_error(
            self._node, partition, watched.placement, epoch, leader_only=params.leader_only
        ):
            return True
        available = partition.bytes_after(
            watched.segment_base_offset, watched.position, watched.wanted.fetch_offset, params.isolation
        )
        if available is None:
            return True
        available = min(available, watched.wanted.bytes_max)
        self._bytes_available += available - watched.bytes_available
        watched.bytes_available = available
        return False

    def response(self) -> FetchResponse:
        return self._answer(read_partitions(self._node, self._params, self._wanted))

    def client_ended(self) -> None:
        """Most clients that have sent their last byte are gone: answer with what there is."""
        self.force_complete()

    def _begin(self, wanted: FetchedPartition, result: ReadResult) -> None:
        topic = self._node.cluster.topics.get(wanted.topic or "")
        partition = find_partition(topic, wanted.index)
        if topic is None or partition is None:
            self._has_lost_some = True
            return
        placement = topic.placements[wanted.index]
        self._watched[partition] = _WatchedPartition(wanted, placement, result.segment_base_offset, result.position)
