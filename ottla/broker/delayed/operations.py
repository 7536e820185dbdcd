"""Requests that wait for a partition to move: produces for their acknowledgements, fetches for bytes.

    append ─▶ Partition tells its listeners ─▶ the partition is noted ┄┄ end of the turn ┄┄▶ each purgatory looks at it

An append never completes an operation itself. The handler that appends is in the middle of its request, and a fetch
that is answered may well be followed by the next one on the same connection. So a partition that moved is only noted,
and looked at when the loop has run everything else of this turn, once, however many batches were appended meanwhile; if
many moved, in slices. What moves because of that is looked at a turn later, so other work is never starved.

Where it is one partition and one operation, as a consumer that waits for a producer's next record, it need not wait for
the turn's end. The connection that has appended calls `look_at_one` when it has taken up all that came, and before its
own answer leaves. So the record leaves some 35 us earlier, and the producer's answer later by the time that this takes;
with more operations it would be late. Kafka has a queue of actions for all of them. The request's thread runs them once
the request is done, while another thread sends the answer.

All nodes of the process share these purgatories, since they share the logs; the partition is the key. An operation type
gets its purgatory from `add`, and from then on a partition that moves wakes its operations too.
Kafka: ReplicaManager.addCompletePurgatoryAction, completeDelayedOperationsWhenNotPartitionLeader, DelayedActionQueue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla.broker.delayed.registered import RegisteredPurgatory
from ottla.events.kind import Kind
from ottla.log.partition_answers import PartitionEvent
from ottla.pacing import paced
from ottla.purgatory import Purgatory

if TYPE_CHECKING:
    from ottla.broker.delayed.fetch import DelayedFetch
    from ottla.broker.delayed.produce import DelayedProduce
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Topic
    from ottla.events.stream import Event
    from ottla.log.partition import Partition
    from ottla.pacing import Pace
    from ottla.purgatory import Timer

#: Runs a function when everything else of this turn is done, as `loop.call_soon` does.
CallSoon: TypeAlias = Callable[[Callable[[], None]], object]


class DelayedOperations:
    """The purgatories of requests that wait for a partition, such as Produce and Fetch."""

    def __init__(
        self,
        cluster: Cluster,
        timer: Timer,
        pace: Pace,
        call_soon: CallSoon,
        moved: dict[Partition, None],
        purgatories: list[RegisteredPurgatory],
    ) -> None:
        """`moved`: the partitions that have moved in this turn. `purgatories`: the list of all purgatories."""
        self._timer = timer
        self._all = purgatories
        #: Those that a partition that moves is looked up in, in this order.
        self._woken: tuple[Purgatory[Any], ...] = ()
        self.produce: Purgatory[DelayedProduce] = self.add("Produce")
        self.fetch: Purgatory[DelayedFetch] = self.add("Fetch")
        self._call_soon = call_soon
        self._pace = pace
        self._moved = moved
        #: Whether they are looked at in any case when the turn ends.
        self._is_due = False
        self._cluster = cluster
        for topic in cluster.topics.values():
            self._listen(topic)
        cluster.events.read(self._partitions_added, [Kind.TOPIC_CREATED, Kind.TOPIC_GROWN])

    def add(self, name: str) -> Purgatory[Any]:
        """A new purgatory for requests that wait for partitions: each partition that moves completes what it can."""
        purgatory: Purgatory[Any] = Purgatory(name, self._timer)
        self._woken += (purgatory,)
        self._all.append(RegisteredPurgatory(purgatory, node_id=None, holds_requests=True))
        return purgatory

    @property
    def is_settled(self) -> bool:
        """Whether each partition that has moved was looked at."""
        return not self._moved

    def close(self) -> None:
        """Answer all requests that wait with what there is now."""
        for operation in [operation for purgatory in self._woken for operation in purgatory.drain()]:
            operation.force_complete()

    def _partitions_added(self, event: Event) -> None:
        self._listen(self._cluster.topics[event.details["topic"]], event.details.get("first_partition", 0))

    def _listen(self, topic: Topic, first_index: int = 0) -> None:
        for partition in topic.partitions[first_index:]:
            partition.listeners.append(self._note)

    def _note(self, partition: Partition, event: PartitionEvent) -> None:
        if event is PartitionEvent.LOG_START_MOVED:
            return
        for purgatory in self._woken:
            if purgatory.watched:
                break
        else:
            return
        if not self._is_due:
            self._is_due = True
            self._call_soon(self._begin_to_look)
        self._moved[partition] = None

    def look_at_one(self) -> None:
        """Look now at what has moved, if that is one partition for which one operation waits."""
        if len(self._moved) == 1:
            (partition,) = self._moved
            watching = 0
            for purgatory in self._woken:
                watching += purgatory.watching(partition)
            if watching == 1:
                self._moved.clear()
                self._look([partition])

    def _begin_to_look(self) -> None:
        self._is_due = False
        if self._moved:
            moved = list(self._moved)
            self._moved.clear()
            self._pace.run(partial(self._look, moved))

    def _look(self, moved: Collection[Partition]) -> None:
        for partition in paced(moved):
            for purgatory in self._woken:
                purgatory.check_and_complete(partition)
