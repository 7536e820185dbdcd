"""Machines are told that topics of the cluster were created, got more partitions, or were deleted.

    topics change ──▶ one event with all that changed until the walk began ──▶ machines of kinds that want it

One walk over the machines, in steps, serves all topics that change before its first step: with thousands of both, a
walk for each would take seconds. Machines of kinds that don't want the event are not woken.

Kafka: CoordinatorRuntime.onNewMetadataImage, GroupCoordinatorService.onPartitionsDeleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ottla.coordinator.runtime.events import TopicChange, TopicsChanged
from ottla.coordinator.runtime.owner import Owner
from ottla.coordinator.runtime.sweep import send


class TopicWatch:
    """Tells the machines of a node what happens to topics."""

    def __init__(self, owners: Mapping[str, Owner[Any]], start: Callable[[Iterator[None]], None]) -> None:
        """`start`: takes up what is long and can be done in steps."""
        self._owners = owners
        self._start = start
        #: What has changed since the last walk began.
        self._changed = TopicsChanged()

    def changed(self, change: TopicChange, name: str, topic_id: bytes) -> None:
        """This happened to a topic: machines are told soon."""
        if name in self._changed[change]:
            for _ in self._tell():  # the name was taken again meanwhile, so there would be two ids of it
                pass
        is_under_way = bool(self._changed)
        self._changed[change][name] = topic_id
        if not is_under_way:
            self._start(self._tell())

    def _tell(self) -> Iterator[None]:
        changed, self._changed = self._changed, TopicsChanged()
        if not changed:
            return
        for owner in list(self._owners.values()):
            if any(changed[change] for change in owner.kind.topic_changes):
                send(changed, owner)
            yield
