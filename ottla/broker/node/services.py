"""What stands behind the handlers and has work of its own: groups, waiting requests, elections, background jobs.

Each is made when it is first asked for, so that a broker that is just being started loads nothing of it. Whatever is
made is entered in one list, which says when nothing is left to do, and what has to be closed at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.events.kind import Kind
from ottla.events.setbacks import reason_of

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.delayed.operations import DelayedOperations
    from ottla.broker.delayed.registered import RegisteredPurgatory
    from ottla.broker.groups.coordination import GroupCoordination
    from ottla.broker.internal.coordination import Coordination
    from ottla.broker.transactions.coordination import TransactionCoordination
    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.failover import Failover
    from ottla.log.partition import Partition
    from ottla.pacing import Pace
    from ottla.purgatory import Timer


class Service(Protocol):
    """Something with work of its own."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do until a client asks or time passes."""

    def close(self) -> None:
        """The broker is stopping: whatever waits is answered now, and nothing new is begun."""


S = TypeVar("S", bound=Service)
K = TypeVar("K", bound="Coordination[Any]")


class Services:
    """The services of one broker."""

    def __init__(
        self,
        cluster: Cluster,
        timer: Timer,
        tasks: TaskGroup,
        stopwatch: Callable[[], float] = perf_counter,
    ) -> None:
        """For the arguments see `assembly`."""
        self._stopwatch = stopwatch
        self._cluster = cluster
        self._timer = timer
        self._tasks = tasks
        #: Partitions that have moved in this turn of the loop and that operations may wait for, in order.
        self.moved: dict[Partition, None] = {}
        #: The purgatories of all services made so far.
        self.purgatories: list[RegisteredPurgatory] = []
        #: All that were made, in order.
        self._made: list[Service] = []
        self.coordinations: list[Coordination[Any]] = []
        """Those there are now: of groups, of transactions. Looking makes none."""
        self.on_coordination: list[Callable[[Coordination[Any]], object]] = []
        """Called with each coordination that is made from now on."""

    @property
    def is_settled(self) -> bool:
        """Whether none of them has anything left to do until a client asks or time passes."""
        return all(service.is_settled for service in self._made)

    def close(self) -> None:
        """The broker is stopping: whatever waits for something is answered now. What was made last goes first."""
        for service in reversed(self._made):
            try:
                service.close()
            except Exception as error:
                name, reason = type(service).__name__, reason_of(error)
                self._cluster.events.tell(Kind.CLOSE_FAILED, raised=error, service=name, reason=reason)

    def enter(self, service: S) -> S:
        """Have it asked whether it is settled, and closed at the end."""
        self._made.append(service)
        return service

    def begin_coordinating(self) -> None:
        """Make the coordination of each internal topic that there is, which begins to read it.

        So a broker that is started again ends the sessions of members that don't come back, carries out what was
        decided of transactions, and aborts in time those that no producer ends.
        """
        if GROUP_TOPIC in self._cluster.topics:
            _ = self.group_coordination
        if TRANSACTION_TOPIC in self._cluster.topics:
            _ = self.transaction_coordination

    def _enter_coordination(self, coordination: K, of_requests: Sequence[str] = ()) -> K:
        """List a coordination and its purgatories; clients wait for what waits in those named in `of_requests`."""
        from ottla.broker.delayed.registered import RegisteredPurgatory

        self.purgatories += [
            RegisteredPurgatory(purgatory, node_id, holds_requests=name in of_requests)
            for node_id, coordinator in coordination.of_node.items()
            for name, purgatory in coordinator.runtime.purgatories.items()
        ]
        self.coordinations.append(coordination)
        for tell in self.on_coordination:
            tell(coordination)
        return self.enter(coordination)

    @cached_property
    def pace(self) -> Pace:
        """Runs requests that take long."""
        from ottla.pacing import Pace

        return self.enter(Pace(asyncio.get_running_loop().call_soon, self._stopwatch))

    @cached_property
    def background(self) -> Background:
        """Work that takes long."""
        from ottla.broker.upkeep.background import Background

        return self.enter(Background(self._tasks, self._cluster.events, self._stopwatch))

    @cached_property
    def failover(self) -> Failover:
        """What happens when nodes go and come. It has no work of its own but its timers'."""
        from ottla.cluster.failover import Failover

        return Failover(self._cluster, self._timer)

    @cached_property
    def group_coordination(self) -> GroupCoordination:
        """The group coordinators of all nodes."""
        from ottla.broker.groups.coordination import GroupCoordination
        from ottla.coordinator.groups.kinds import parking_purgatories

        coordination = GroupCoordination(self._cluster, self._timer, self._tasks, self.background, self.pace)
        return self._enter_coordination(coordination, of_requests=parking_purgatories())

    @cached_property
    def transaction_coordination(self) -> TransactionCoordination:
        """The transaction coordinators of all nodes."""
        from ottla.broker.transactions.coordination import TransactionCoordination

        coordination = TransactionCoordination(
            self._cluster, self._timer, self._tasks, self.background, self.pace, lambda: self.group_coordination
        )
        return self._enter_coordination(coordination)

    @cached_property
    def delayed_operations(self) -> DelayedOperations:
        """Requests that wait for a partition."""
        from ottla.broker.delayed.operations import DelayedOperations

        call_soon = asyncio.get_running_loop().call_soon
        return self.enter(
            DelayedOperations(self._cluster, self._timer, self.pace, call_soon, self.moved, self.purgatories)
        )
