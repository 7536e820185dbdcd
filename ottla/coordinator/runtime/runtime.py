"""All machines of one internal topic that live on one node: which partitions are coordinated here, and the owners.

A partition is loaded, then its machines live here until it is unloaded. Loading takes as long as its log is long, so it
is done in steps, between which others have their turn: the reader of the log hands its records to `Loading.shard`, then
the machines come to life one by one, and requests find all of them at once.

Kafka: CoordinatorRuntime.
"""

from __future__ import annotations

from asyncio import TaskGroup
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeAlias

from ottla.coordinator.runtime.events import Loaded, TopicChange, Unloaded
from ottla.coordinator.runtime.kind import Kind, M
from ottla.coordinator.runtime.log import Log
from ottla.coordinator.runtime.owner import KeepBack, NoticeSink, Owner, OwnerContext
from ottla.coordinator.runtime.shard import Shard
from ottla.coordinator.runtime.sweep import Sweep
from ottla.coordinator.runtime.topics import TopicWatch
from ottla.pacing import Pace
from ottla.purgatory import Purgatory, Timer

#: Where the owners of machines live.
Tasks: TypeAlias = TaskGroup


def exhaust(steps: Iterator[None]) -> None:
    """Do all of it now."""
    for _ in steps:
        pass


class PartitionState(Enum):
    """What a partition of the internal topic is to this node. Of others it isn't the coordinator."""

    LOADING = "being read"
    ACTIVE = "read; its machines live here"
    FAILED = "could not be read"


@dataclass(slots=True, eq=False)
class Loading(Generic[M]):
    """A partition on its way in."""

    shard: Shard[M]
    """Takes its records, oldest first."""
    owners: dict[str, Owner[M]] = field(default_factory=dict)
    """Machines that live already; no request finds them before all do."""


class Runtime(Generic[M]):
    """What drives the machines of one internal topic on one node."""

    def __init__(
        self,
        new_shard: Callable[[int, str | None], Shard[M]],
        log: Log,
        timer: Timer,
        tasks: Tasks,
        *,
        resubmit: Callable[[str, Any], None],
        refuse: Callable[[str, Any], None],
        purgatories: Iterable[str],
        notices: NoticeSink | None = None,
        failed: Callable[[str, Exception], None] | None = None,
        start: Callable[[Iterator[None]], None] = exhaust,
        sweep: tuple[object, int, Callable[[M, int], bool]] | None = None,
        pace: Pace | None = None,
        ask: Callable[[str, Any], None] | None = None,
        kinds: Iterable[Kind[Any]] = (),
    ) -> None:
        """`new_shard`: makes the shard of a partition, for all its machines or only that of this key.

        `resubmit`: takes an event that was still to come when its machine ended, with the machine's key.

        `purgatories`: the names of those that timers wait in; `notices`: the reader of what machines tell, if any.

        `refuse`: answers the request at which the machine of this key has met a bug; it may be given other items too.

        `failed`: called with the key of a machine that has met a bug, and with the error while it is being handled. The
        machine is given up and the others go on; what is called sees to it that the machine is read anew, see
        `start_recovery`. None: the error ends the owner's task.

        `start`: takes up what is long and can be done in steps; by default all of it is done at once.

        `sweep`: an event that every machine is sent, the interval in ms, and whether it would cause anything in a
        machine at a date.

        `pace`: requests that may be long are handled in its slices; None: in one go.

        `ask`: does what the machine of this key asks for (`effects.Ask`), if machines of this topic do.

        `kinds`: those machines that may have to be told of topics; see `topic_changed`.
        """
        self.owners: dict[str, Owner[M]] = {}
        """The owners of all machines that requests find, by the machines' keys. To look at, not to change."""
        self._new_shard = new_shard
        give_up = None if failed is None else self._give_up
        self._with = OwnerContext(log, timer, purgatories, notices, self._forget, refuse, give_up, pace, ask)
        self._tasks = tasks
        self._resubmit = resubmit
        self._failed = failed
        self._shards: dict[int, Shard[M]] = {}
        self._loadings: dict[int, Loading[M]] = {}
        self._unreadable: set[int] = set()
        #: The partitions of machines that were given up, by key. Until they are read anew their clients have to wait.
        self._given_up: dict[str, int] = {}
        self._sweep = None if sweep is None else Sweep(*sweep, self.owners, timer, start)
        self.topic_changes = frozenset(change for kind in kinds for change in kind.topic_changes)
        """What happens to topics and is of interest to a kind of machine here."""
        self._topics = TopicWatch(self.owners, start)

    # ── To look at ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def purgatories(self) -> dict[str, Purgatory[Any]]:
        """What timers wait in, by name."""
        return dict(self._with.purgatories)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way in any inbox."""
        return all(owner.is_settled for owner in self.owners.values())

    @property
    def is_any_loading(self) -> bool:
        """Whether a partition is being read."""
        return bool(self._loadings)

    def state_of(self, partition: int) -> PartitionState | None:
        """What this partition is to this node; None: nothing, another node coordinates it, or none."""
        if partition in self._shards:
            return PartitionState.ACTIVE
        if partition in self._loadings:
            return PartitionState.LOADING
        return PartitionState.FAILED if partition in self._unreadable else None

    def shard(self, partition: int) -> Shard[M]:
        """What spans the machines of a partition that is active here."""
        return self._shards[partition]

    def owner_of(self, key: str) -> Owner[M] | None:
        """The owner of the machine of this key, though requests may not find it yet: its partition may be loading."""
        owner = self.owners.get(key)
        if owner is None:
            owner = next((loading.owners[key] for loading in self._loadings.values() if key in loading.owners), None)
        return owner

    # ── Partitions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def put_around_log(self, put: Callable[[Log], Log]) -> None:
        """Have what `put` makes of the log that machines write to stand in its place from now on."""
        self._with.log = put(self._with.log)

    @property
    def keep_back(self) -> KeepBack | None:
        """Asked whether a timer that ran out is kept back; None: none is."""
        return self._with.keep_back

    @keep_back.setter
    def keep_back(self, keep_back: KeepBack | None) -> None:
        self._with.keep_back = keep_back

    def start_loading(self, partition: int) -> Loading[M]:
        """This node is to coordinate the partition; until it is loaded clients are told to wait.

        Replay its records on the result's `shard`, then go through `finish_loading`; or `fail_loading`.
        """
        self.unload(partition)
        loading = self._loadings[partition] = Loading(self._new_shard(partition, None))
        return loading

    def is_loading(self, partition: int, loading: Loading[M]) -> bool:
        """Whether this is still to be loaded: the partition may be another node's by now."""
        return self._loadings.get(partition) is loading

    def finish_loading(self, partition: int, loading: Loading[M]) -> Iterator[None]:
        """Bring the partition's machines to life, one with each step; after the last one requests find them.

        Must not be gone on with when the partition is no longer to be loaded.
        """
        assert self.is_loading(partition, loading), f"partition {partition} is not being loaded"
        for key, machine in list(loading.shard.machines.items()):
            owner = loading.owners[key] = self._new_owner(key, machine, loading.shard)
            owner.post(Loaded())
            owner.drain()
            yield
        del self._loadings[partition]
        self._shards[partition] = loading.shard
        self.owners.update((key, owner) for key, owner in loading.owners.items() if not owner.is_ended)
        self._keep_sweeping()

    def fail_loading(self, partition: int, loading: Loading[M]) -> None:
        """The log can't be read: the partition is refused until it is loaded again."""
        if self.is_loading(partition, loading):
            self.unload(partition)
            self._unreadable.add(partition)

    def unload(self, partition: int) -> None:
        """Another node coordinates the partition now: what waits in its machines is answered, and they are gone."""
        self._unreadable.discard(partition)
        owners: list[Owner[M]] = []
        if (shard := self._shards.pop(partition, None)) is not None:
            owners += [self.owners[key] for key in shard.machines]
        if (loading := self._loadings.pop(partition, None)) is not None:
            owners += loading.owners.values()
        for owner in owners:
            self._unload(owner)
        self._given_up = {key: where for key, where in self._given_up.items() if where != partition}

    def close(self) -> None:
        """Coordinate nothing any more. The owners' tasks end by themselves in the next turn of the loop."""
        for partition in [*self._loadings, *self._shards, *self._unreadable]:
            self.unload(partition)
        if self._sweep is not None:
            self._sweep.stop()

    def _unload(self, owner: Owner[M]) -> None:
        """Take the machine through all that was asked of it before, so that the log is complete when this returns."""
        self.owners.pop(owner.key, None)
        if not owner.is_ended:
            owner.post(Unloaded())
            owner.drain()

    # ── Recovery ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def start_recovery(self, key: str) -> Shard[M]:
        """Read a machine anew that was given up: replay the records of its partition, then `finish_recovery`."""
        return self._new_shard(self._given_up[key], key)

    def is_given_up(self, key: str) -> bool:
        """Whether a machine is still to be read anew: its partition may be another node's by now."""
        return key in self._given_up

    def given_up_in(self, key: str) -> int | None:
        """The partition of a machine that is still to be read anew; None: it is not."""
        return self._given_up.get(key)

    def finish_recovery(self, key: str, shard: Shard[M]) -> bool:
        """Have the machine as the log has it; that may be not at all.

        Says whether it is back: not if it has met the bug again, nor if it was not given up any more.
        """
        if not self.is_given_up(key):
            return False
        machine, partition = shard.machines.get(key), self._given_up[key]
        owner = None if machine is None else self.bring_in(key, machine, partition)
        del self._given_up[key]
        if owner is not None:
            owner.post(Loaded())
            owner.drain()
        return not self.is_given_up(key)

    # ── Machines ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def bring_in(self, key: str, machine: M, partition: int) -> Owner[M]:
        """Let a machine live that was just created, in a partition that is active here."""
        shard = self._shards[partition]
        owner = self._new_owner(key, machine, shard)
        shard.machines[key] = machine
        self.owners[key] = owner
        self._keep_sweeping()
        return owner

    def topic_changed(self, change: TopicChange, name: str, topic_id: bytes) -> None:
        """This happened to a topic of the cluster: machines that want to know are told, soon."""
        if change in self.topic_changes:
            self._topics.changed(change, name, topic_id)

    def _new_owner(self, key: str, machine: M, shard: Shard[M]) -> Owner[M]:
        owner = Owner(key, machine, shard, self._with)
        self._tasks.create_task(owner.run(), name=f"{owner.kind.name} {key}")
        return owner

    def _give_up(self, owner: Owner[M], error: Exception) -> None:
        """A machine has met a bug. It is not made anew, as if it had never been: its records are in the log."""
        self._given_up[owner.key] = owner.shard.partition
        if self._failed is not None:
            self._failed(owner.key, error)

    def _forget(self, owner: Owner[M], leftover: list[Any]) -> None:
        """A machine has ended; requests that came too late for it find none."""
        key = owner.key
        if self.owners.get(key) is owner:
            del self.owners[key]
        if owner.shard.machines.get(key) is owner.machine:
            del owner.shard.machines[key]
        for event in leftover:
            self._resubmit(key, event)

    def _keep_sweeping(self) -> None:
        if self._sweep is not None:
            self._sweep.keep_going()
