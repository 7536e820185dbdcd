"""All groups of one node: which partitions of the group log are coordinated here, and who owns which group.

A partition is loaded, then its groups live here until it is unloaded. Loading takes as long as its log is long, so it
is done in steps, between which others have their turn: whoever reads the log hands its records to `Loading.replay`,
then the groups come to life one by one, and requests find all of them at once.

A request is refused if the group's partition is not here, or is being loaded, or if the group does not exist
(`refusals`); else it goes into the inbox of the group's owner. Groups come into being by a first JoinGroup or a commit
without generation, and leave nothing behind when they go. Once every offsets.retention.check.interval.ms all groups
look for what has expired; while there are none nothing wakes up.

Kafka: GroupCoordinatorService, CoordinatorRuntime.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from ottla.coordinator.classic.describe import listed
from ottla.coordinator.classic.events import Event, JoinRequested, Loaded, Request, SweepDue, TopicsDeleted, Unloaded
from ottla.coordinator.classic.group import Group
from ottla.coordinator.groups.refusals import REFUSALS, Outside, creates_group, refusal
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.offsets.records import Replay, is_writable
from ottla.coordinator.runtime.owner import GroupLog, NoteSink, Owner, Surroundings
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from ottla.purgatory import Alarm, Timer

if TYPE_CHECKING:
    from asyncio import TaskGroup
    from collections.abc import Callable, Iterator, Mapping

    from ottla.coordinator.config import GroupConfig


def exhaust(steps: Iterator[None]) -> None:
    """Do all of it now."""
    for _ in steps:
        pass


class PartitionState(Enum):
    """What a partition of the group log is to this node. Of others it isn't the coordinator."""

    LOADING = "being read"
    ACTIVE = "read; its groups live here"
    FAILED = "could not be read"


@dataclass(slots=True, eq=False)
class Loading:
    """A partition on its way in."""

    replay: Replay
    """Takes its records, oldest first."""
    owners: dict[str, Owner] = field(default_factory=dict)
    """Groups that live already; no request finds them before all do."""


class Coordinator:
    """The group coordinator of one node."""

    def __init__(
        self,
        config: GroupConfig,
        log: GroupLog,
        timer: Timer,
        tasks: TaskGroup,
        notes: NoteSink | None = None,
        failed: Callable[[str], None] | None = None,
        start: Callable[[Iterator[None]], None] = exhaust,
    ) -> None:
        """`tasks`: where the owners of groups live; `notes`: who keeps a journal, if anybody.

        `failed`: called with the id of a group that has met a bug, while the error is being handled; the group is given
        up and the others go on. None: the error ends the owner's task.

        `start`: takes up what is long and can be done in steps; by default all of it is done at once.
        """
        self.config = config
        self.surroundings = Surroundings(log, timer, notes, self._forget, self._give_up if failed else None)
        self.is_started = True
        self._timer = timer
        self._tasks = tasks
        self._start = start
        self._partitions: dict[int, PartitionState] = {}
        self._loadings: dict[int, Loading] = {}
        self._owners: dict[str, Owner] = {}
        self._failed = failed
        #: Groups that were given up. Their log may be right, but nobody here reads it again before it is loaded anew.
        self._given_up: set[str] = set()
        self._sweep = Alarm(self._sweep_all)
        self._first_sweep_ms = timer.now_ms()

    # ── Partitions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def partition_of(self, group_id: str) -> int:
        """The partition of __consumer_offsets that keeps this group."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def start_loading(self, partition: int) -> Loading:
        """This node is to coordinate the partition; until it is loaded clients are told to wait.

        Apply its records to the result's `replay`, then go through `finish_loading`; or `fail_loading`.
        """
        self.unload(partition)
        self._given_up = {group_id for group_id in self._given_up if self.partition_of(group_id) != partition}
        self._partitions[partition] = PartitionState.LOADING
        loading = self._loadings[partition] = Loading(Replay(self.config, self._timer.clock.wall_ms()))
        return loading

    def is_loading(self, partition: int, loading: Loading) -> bool:
        """Whether this is still to be loaded: the partition may be another node's by now."""
        return self._loadings.get(partition) is loading

    def finish_loading(self, partition: int, loading: Loading) -> Iterator[None]:
        """Bring the partition's groups to life, one with each step; after the last one requests find them.

        Must not be gone on with when the partition is no longer to be loaded.
        """
        assert self.is_loading(partition, loading), f"partition {partition} is not being loaded"
        for group in loading.replay.groups.values():
            owner = loading.owners[group.group_id] = self._new_owner(group, partition)
            owner.post(Loaded())
            owner.drain()
            yield
        del self._loadings[partition]
        self._partitions[partition] = PartitionState.ACTIVE
        self._owners.update((group_id, owner) for group_id, owner in loading.owners.items() if not owner.is_ended)
        self._keep_sweeping()

    def fail_loading(self, partition: int, loading: Loading) -> None:
        """The log can't be read: the partition is refused until it is loaded again."""
        if self.is_loading(partition, loading):
            self.unload(partition)
            self._partitions[partition] = PartitionState.FAILED

    def unload(self, partition: int) -> None:
        """Another node coordinates the partition now. Whoever waits in its groups is told; they are gone from here."""
        self._partitions.pop(partition, None)
        if (loading := self._loadings.pop(partition, None)) is not None:
            self._owners.update(loading.owners)
        for owner in [owner for owner in self._owners.values() if owner.partition == partition]:
            self._unload(owner)

    def close(self) -> None:
        """Coordinate nothing any more. The owners' tasks end by themselves in the next turn of the loop."""
        self.is_started = False
        for partition in list(self._loadings):
            self.unload(partition)
        self._partitions.clear()
        for owner in list(self._owners.values()):
            self._unload(owner)
        self._timer.cancel(self._sweep)

    def _unload(self, owner: Owner) -> None:
        """Take the group through all that was asked of it before, so that the log is complete when this returns."""
        del self._owners[owner.group.group_id]
        owner.post(Unloaded())
        owner.drain()

    # ── Groups ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def groups(self) -> list[Group]:
        """The groups as they are now: to look at, not to change."""
        return [owner.group for owner in self._owners.values()]

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way in any inbox."""
        return not any(owner.inbox for owner in self._owners.values())

    def submit(self, group_id: str, event: Request) -> None:
        """Give a request to its group. Its token is answered: at once, or in time."""
        owner = self._owners.get(group_id)
        if owner is not None and group_id and (type(event) is not JoinRequested or self._allows_session(event)):
            owner.post(event)  # the way nearly all go
        elif (outside := self._outside(group_id, event)) is not None:
            event.token.answer(refusal(group_id, event, outside))
        else:
            (owner or self._create(group_id)).post(event)

    def list_groups(self, request: ListGroupsRequest) -> ListGroupsResponse:
        """ListGroups (api key 16). As long as one partition is being loaded, the answer is only that."""
        if not self.is_started:
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if PartitionState.LOADING in self._partitions.values():
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return ListGroupsResponse(groups=listed(self.groups, request))

    def topics_deleted(self, topic_ids: Mapping[str, bytes]) -> None:
        """Topics were deleted, ids by name: what was committed for them goes."""
        event = TopicsDeleted(topic_ids)
        for owner in self._owners.values():
            owner.post(event)

    def _outside(self, group_id: str, event: Request) -> Outside | None:
        """The first reason there is to refuse this request."""
        refused = REFUSALS[event.__class__]
        partition = self._partitions.get(self.partition_of(group_id))
        is_absent = partition is PartitionState.ACTIVE and group_id not in self._owners
        is_lost = partition in (None, PartitionState.FAILED) or group_id in self._given_up
        reasons = {
            Outside.NOT_STARTED: not self.is_started,
            Outside.EMPTY_GROUP_ID: not group_id,
            Outside.BAD_SESSION_TIMEOUT: isinstance(event, JoinRequested) and not self._allows_session(event),
            Outside.NOT_COORDINATOR: is_lost,
            Outside.LOADING: partition is PartitionState.LOADING,
            Outside.ABSENT: is_absent and not (creates_group(event) and is_writable(group_id)),
        }
        return next((reason for reason, applies in reasons.items() if applies and refused[reason] is not None), None)

    def _allows_session(self, event: JoinRequested) -> bool:
        config = self.config
        timeout_ms = event.request.session_timeout_ms
        return config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms

    def _create(self, group_id: str) -> Owner:
        now_ms = self._timer.clock.wall_ms()
        group = Group(group_id, self.config, now_ms, is_unwritten=True)
        owner = self._owners[group_id] = self._new_owner(group, self.partition_of(group_id))
        self._keep_sweeping()
        return owner

    def _new_owner(self, group: Group, partition: int) -> Owner:
        group.is_journaled = self.surroundings.notes is not None
        owner = Owner(group, partition, self.surroundings)
        self._tasks.create_task(owner.run(), name=f"group {group.group_id}")
        return owner

    def _give_up(self, owner: Owner) -> None:
        """A group has met a bug. It is not made anew, as if it had never been: it has committed offsets."""
        self._given_up.add(owner.group.group_id)
        if self._failed is not None:
            self._failed(owner.group.group_id)

    def _forget(self, owner: Owner, leftover: list[Event]) -> None:
        """A group has ended; requests that came too late for it find none."""
        group_id = owner.group.group_id
        if self._owners.get(group_id) is owner:
            del self._owners[group_id]
        for event in leftover:
            if event.__class__ in REFUSALS:
                self.submit(group_id, event)  # type: ignore[arg-type]  # REFUSALS knows requests only

    # ── Sweeping ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _keep_sweeping(self) -> None:
        """While there are groups: at the next multiple of the interval since the start."""
        if self._owners and not self._sweep.is_pending:
            interval_ms = self.config.offsets_retention_check_interval_ms
            intervals = (self._timer.now_ms() - self._first_sweep_ms) // interval_ms + 1
            self._timer.add(self._sweep, self._first_sweep_ms + intervals * interval_ms)

    def _sweep_all(self) -> None:
        self._start(self._sweep_steps())
        self._keep_sweeping()

    def _sweep_steps(self) -> Iterator[None]:
        """A group with each step."""
        for owner in list(self._owners.values()):
            if not owner.is_ended:
                owner.post(SweepDue())
                owner.drain()
            yield
