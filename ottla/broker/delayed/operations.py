"""Who waits for a partition to move: produces for their acknowledgements, fetches for bytes.

    append ─▶ Partition tells its listeners ─▶ the partition is noted ┄┄ end of the turn ┄┄▶ both purgatories look at it

An append never completes an operation itself. The handler that appends is in the middle of its request, and a fetch
that is answered may well be followed by the next one on the same connection. So a partition that moved is only noted,
and looked at when the loop has run everything else of this turn, once, however many batches were appended meanwhile; if
many moved, in slices. What moves because of that is looked at a turn later, so that nobody is starved.

Where it is one partition and one operation, as a consumer that waits for a producer's next record, it need not wait for
the turn's end: the connection that has appended calls `look_at_one` when it has taken up all that came, and before it
is answered itself. So the record is where it is to go some 35 us earlier, and the producer hears of it later by what
that takes; with more who wait it would be late. Kafka has a queue of actions for all of them, run by the thread of the
request once that is done, while another one sends its answer.

One pair of purgatories serves all nodes of the process, since they share the logs; the partition is the key.
Kafka: ReplicaManager.addCompletePurgatoryAction, completeDelayedOperationsWhenNotPartitionLeader, DelayedActionQueue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

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
    """The purgatories of Produce and Fetch."""

    def __init__(
        self, cluster: Cluster, timer: Timer, pace: Pace, call_soon: CallSoon, moved: dict[Partition, None]
    ) -> None:
        """`moved`: where partitions are noted that have moved in this turn, for others to see that some have."""
        self.produce: Purgatory[DelayedProduce] = Purgatory("Produce", timer)
        self.fetch: Purgatory[DelayedFetch] = Purgatory("Fetch", timer)
        self._call_soon = call_soon
        self._pace = pace
        self._moved = moved
        #: Whether they are looked at in any case when the turn ends.
        self._is_due = False
        self._cluster = cluster
        for topic in cluster.topics.values():
            self._listen(topic)
        cluster.events.read(self._partitions_added, [Kind.TOPIC_CREATED, Kind.TOPIC_GROWN])

    @property
    def is_settled(self) -> bool:
        """Whether nothing has moved that nobody has looked at yet."""
        return not self._moved

    def close(self) -> None:
        """Answer everybody with what there is now."""
        for operation in (*self.produce.drain(), *self.fetch.drain()):
            operation.force_complete()

    def _partitions_added(self, event: Event) -> None:
        self._listen(self._cluster.topics[event.details["topic"]], event.details.get("first_partition", 0))

    def _listen(self, topic: Topic, first_index: int = 0) -> None:
        for partition in topic.partitions[first_index:]:
            partition.listeners.append(self._note)

    def _note(self, partition: Partition, event: PartitionEvent) -> None:
        if event is PartitionEvent.LOG_START_MOVED or not (self.fetch.watched or self.produce.watched):
            return
        if not self._is_due:
            self._is_due = True
            self._call_soon(self._begin_to_look)
        self._moved[partition] = None

    def look_at_one(self) -> None:
        """Look now at what has moved, if that is one partition for which one waits."""
        if len(self._moved) == 1:
            (partition,) = self._moved
            if self.fetch.watching(partition) + self.produce.watching(partition) == 1:
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
            self.produce.check_and_complete(partition)
            self.fetch.check_and_complete(partition)
