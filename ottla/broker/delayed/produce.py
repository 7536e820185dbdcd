"""A produce that waits until all its batches are on every in-sync replica: the purgatory "Produce".

With acks=-1 a batch counts as written when the partition's high watermark has passed it. Each partition is settled on
its own, by that or by an error, and stays settled; the answer leaves when the last one is. Those that time leaves
behind are answered REQUEST_TIMED_OUT, though their batches stay in the log.

Here all replicas share one log and the high watermark follows each append at once, so there is hardly ever anything to
wait for: only the ISR to become smaller, while a node of it is down that is not missed yet. See `handlers/produce.py`,
which comes here only then. Kafka: DelayedProduce, Partition.checkEnoughReplicasReachOffset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.broker.delayed.request import DelayedRequest, WaitingCall
from ottla.cluster.partition_access import access_error
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.cluster.partition_access import AskedNode
    from ottla.cluster.topic import Placement
    from ottla.log.partition import Partition
    from ottla.log.partition_answers import AppendResult
    from ottla.protocol.messages.produce import ProduceResponse


@dataclass(slots=True)
class PendingAcks:
    """A batch that was appended, and is waited for: `result` is what the partition will be answered."""

    partition: Partition
    placement: Placement
    result: AppendResult

    def settle(self, node: AskedNode) -> bool:
        """Look whether there is an end to the waiting, by success or error."""
        partition, placement = self.partition, self.placement
        error = (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition.is_closed else access_error(node, partition, placement)
        )
        if not error:
            if partition.high_watermark <= self.result.last_offset:
                return False
            if placement.has_too_few_in_sync(partition.config.min_insync_replicas):
                error = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        self.result.error = error
        return True


class DelayedProduce(DelayedRequest):
    """A produce that is answered once no partition is pending, or when the request's timeout_ms is over."""

    __slots__ = ("_answer", "_node", "_pending")

    deadline_kind = "produce"

    def __init__(
        self,
        call: WaitingCall,
        deadline_ms: int,
        node: AskedNode,
        pending: Sequence[PendingAcks],
        answer: Callable[[], ProduceResponse],
    ) -> None:
        """`answer`: makes the answer from the results of `pending` and of what needs no waiting."""
        super().__init__(call, deadline_ms)
        self._node = node
        self._pending = pending
        self._answer = answer
        for acks in pending:
            acks.result.error = ErrorCode.REQUEST_TIMED_OUT

    def try_complete(self) -> bool:
        self._pending = [acks for acks in self._pending if not acks.settle(self._node)]
        return not self._pending and self.force_complete()

    def response(self) -> ProduceResponse:
        return self._answer()
