"""Writing the markers that end transactions, to each partition that is part of one.

    coordinator ──asks──▶ MarkerWriter ──▶ each partition, at its leader ──▶ coordinator is told which have it

What is asked for is written at once, so a transaction is over before anything is read that its client asks next: a
producer never has to wait for markers that can be written.

A partition that can't take its marker now (no node leads it, too few replicas are in sync, its groups are being read)
is tried again: when a leader changes or more replicas are in sync, when groups were read, and every now and then, ever
more seldom. One that is gone needs none. One that has seen a later epoch of the producer or of the coordinator refuses
for good, and then this is left alone: the later epoch's producer or coordinator ends it. Of a transactional id only
what was asked last is written: the coordinator that asked before is no more.

In Kafka brokers send each other WriteTxnMarkers for it; here all logs are at hand.
Kafka: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler, handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.cluster.partition_access import find_partition
from ottla.cluster.topic import NO_LEADER
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.transactions.events import MarkersWritten
from ottla.events.kind import Kind
from ottla.log.transaction_marker import EndedTransaction, TransactionMarker
from ottla.protocol.errors import ErrorCode
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.groups.coordination import GroupCoordination
    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Placement
    from ottla.coordinator.transactions.coordinator import TransactionCoordinator
    from ottla.coordinator.transactions.machine import WriteMarkers
    from ottla.coordinator.transactions.transaction import TopicPartition
    from ottla.log.partition import Partition
    from ottla.purgatory import Timer

#: Gives the coordination of groups. Asked with the first marker for one of them: where no producer is in a group,
#: nothing of groups is loaded, as much code again as transactions have.
Groups: TypeAlias = "Callable[[], GroupCoordination]"

#: When what could not be written perhaps can be.
MAY_BE_WRITABLE: Final = (Kind.LEADERS_MOVED, Kind.PARTITIONS_IN_SYNC, Kind.SETTINGS_CHANGED)
#: From one try to the next it is twice as long: much time may be made to pass at once.
_RETRY_MS_MIN: Final = 100
_RETRY_MS_MAX: Final = 1_600
#: More than these are written as a job in the background.
_AT_ONCE: Final = 64

_AGAIN: Final = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
_DONE: Final = frozenset((ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


def write_marker(
    cluster: Cluster, groups: Groups, node_id: int, place: TopicPartition, ended: EndedTransaction
) -> ErrorCode:
    """Write a marker to a partition at this node, and say why not."""
    topic = cluster.topics.get(place[0])
    log = find_partition(topic, place[1])
    if topic is None or log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    placement = topic.placements[log.index]
    if placement.leader_id != node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return _append(cluster, groups, log, placement, ended)


def _append(
    cluster: Cluster, groups: Groups, log: Partition, placement: Placement, ended: EndedTransaction
) -> ErrorCode:
    if placement.has_too_few_in_sync(log.config.min_insync_replicas):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if log.topic == GROUP_TOPIC:
        return groups().end_transaction(log, placement.leader_id, ended)
    return log.append_ended(ended, cluster.wall_ms()).error


def _in_order(places: Iterable[TopicPartition]) -> Iterator[TopicPartition | None]:
    """The places, by topic and number; None, now and then, while they are put in order."""
    of_topic: dict[str, list[TopicPartition]] = {}
    for number, place in enumerate(list(places)):
        of_topic.setdefault(place[0], []).append(place)
        if number % _AT_ONCE == 0:
            yield None
    for topic in sorted(of_topic):
        yield from sorted(of_topic[topic], key=itemgetter(1))


@dataclass(slots=True, eq=False)
class _Asked:
    """Markers that a coordinator has asked for, and those that are missing."""

    node_id: int
    key: str
    markers: WriteMarkers
    ended: EndedTransaction
    missing: set[TopicPartition]
    is_under_way: bool = False
    """Whether a job in the background writes them."""


class MarkerWriter:
    """Writes what the coordinators of all nodes ask for."""

    def __init__(
        self,
        cluster: Cluster,
        timer: Timer,
        background: Background,
        groups: Groups,
        coordinators: Mapping[int, TransactionCoordinator],
    ) -> None:
        self._cluster = cluster
        self._timer = timer
        self._background = background
        self._ask_groups = groups
        self._coordinators = coordinators
        #: Those that are not through, by transactional id.
        self._unfinished: dict[str, _Asked] = {}
        self._retry = Alarm(self._write_waiting, "transaction markers")
        self._retry_ms = _RETRY_MS_MIN
        #: How often something has changed for which markers may wait.
        self._changes = 0
        #: Whether those that wait are to be tried again, and whether a job in the background does.
        self._is_round_due = self._is_round_under_way = False
        cluster.events.read(lambda _event: self._something_changed(), [*MAY_BE_WRITABLE, Kind.TOPIC_DELETED])

    @cached_property
    def _groups(self) -> GroupCoordination:
        """The coordination of groups; from then on a marker that waits for a group is tried again when it was read."""
        groups = self._ask_groups()
        groups.on_partition_read(self._something_changed)
        return groups

    def close(self) -> None:
        """Write nothing any more."""
        self._unfinished.clear()
        self._timer.cancel(self._retry)

    def write(self, node_id: int, key: str, markers: WriteMarkers) -> None:
        """Write these, and tell the machine of this key on that node."""
        marker = TransactionMarker(markers.is_commit, markers.coordinator_epoch)
        ended = EndedTransaction(markers.producer_id, markers.producer_epoch, marker, markers.transaction_version)
        asked = _Asked(node_id, key, markers, ended, set(markers.partitions))
        self._unfinished[markers.transactional_id] = asked
        self._go_on(asked)
        if asked.missing and self._retry_ms > 2 * _RETRY_MS_MIN:
            self._timer.cancel(self._retry)  # which is for those that wait for long
            self._retry_ms = _RETRY_MS_MIN
            self._write_later()

    def _go_on(self, asked: _Asked) -> None:
        if len(asked.missing) <= _AT_ONCE:
            self._tell(asked, self._write_some(asked, sorted(asked.missing)))
        else:
            asked.is_under_way = True
            self._background.start(self._write_all(asked), "transaction markers")

    def _write_all(self, asked: _Asked) -> Iterator[None]:
        """A partition with each step; the coordinator is told at the end."""
        written: set[TopicPartition] = set()
        changes = self._changes
        for place in _in_order(asked.missing):
            if place is not None:
                written |= self._write_some(asked, [place])
            yield
            if not self._is_asked(asked):
                break
        asked.is_under_way = False
        if not self._is_asked(asked):
            self._drop(asked)
            return
        self._tell(asked, written)
        if changes != self._changes:
            self._write_soon()  # what was missing when it was tried may be there

    def _is_asked(self, asked: _Asked) -> bool:
        """Whether this is to be gone on with. The producer may have begun its next transaction in the same epoch."""
        markers = asked.markers
        is_last = self._unfinished.get(markers.transactional_id) is asked
        return is_last and self._coordinators[asked.node_id].is_asking(asked.key, markers)

    def _drop(self, asked: _Asked) -> None:
        transactional_id = asked.markers.transactional_id
        if self._unfinished.get(transactional_id) is asked:
            del self._unfinished[transactional_id]
        if not self._unfinished:
            self._retry_ms = _RETRY_MS_MIN

    def _write_some(self, asked: _Asked, places: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Try these; returns those that need no marker any more. What must not be tried again is not missing."""
        written = set()
        for place in places:
            error = self._write_at_leader(place, asked.ended)
            if error in _DONE:
                written.add(place)
            if error not in _AGAIN:
                asked.missing.discard(place)
        return written

    def _write_at_leader(self, place: TopicPartition, ended: EndedTransaction) -> ErrorCode:
        cluster = self._cluster
        topic = cluster.topics.get(place[0])
        log = find_partition(topic, place[1])
        if topic is None or log is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        placement = topic.placements[log.index]
        if placement.leader_id == NO_LEADER or placement.leader_id in cluster.silent_node_ids:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _append(cluster, lambda: self._groups, log, placement, ended)

    def _tell(self, asked: _Asked, written: Collection[TopicPartition]) -> None:
        markers = asked.markers
        if asked.missing:
            self._write_later()
        else:
            self._drop(asked)
        if written:
            # Where it is all of them it is the very set that was asked for: there may be 90,000, and to compare as many
            # with others takes 30 ms.
            places = markers.partitions if len(written) == len(markers.partitions) else frozenset(written)
            event = MarkersWritten(markers.transactional_id, markers.producer_id, markers.producer_epoch, places)
            self._coordinators[asked.node_id].markers_written(asked.key, event)

    def _something_changed(self) -> None:
        self._changes += 1
        self._write_soon()

    def _write_soon(self) -> None:
        """What has changed may be changing still, so not now."""
        self._retry_ms = _RETRY_MS_MIN
        if self._unfinished:
            self._timer.cancel(self._retry)
            self._timer.add_in(self._retry, 0)

    def _write_later(self) -> None:
        if not self._retry.is_pending:
            self._timer.add_in(self._retry, self._retry_ms)
            self._retry_ms = min(2 * self._retry_ms, _RETRY_MS_MAX)

    def _write_waiting(self) -> None:
        self._is_round_due = True
        if not self._is_round_under_way:
            self._is_round_under_way = True
            self._background.start(self._go_round(), "transaction markers")

    def _go_round(self) -> Iterator[None]:
        """Try those again that wait, one with each step: there may be thousands."""
        try:
            while self._is_round_due:
                self._is_round_due = False
                for asked in list(self._unfinished.values()):
                    if not self._is_asked(asked):
                        self._drop(asked)
                    elif not asked.is_under_way:
                        self._go_on(asked)
                    yield
        finally:
            self._is_round_under_way = False
