"""All groups of one node: requests get to their groups here, or are refused.

A request is refused if the group's partition is not here, or is being loaded, or if the group does not exist
(`refusals`); else it goes into the inbox of the group's owner. Groups come into being by a first JoinGroup or a commit
without generation, and leave nothing behind when they go. Once every offsets.retention.check.interval.ms all groups
look for what has expired.

Kafka: GroupCoordinatorService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.coordinator.classic.describe import listed
from ottla.coordinator.classic.events import Intervention, JoinRequested, LeaveRequested, Request
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.offsets import is_sweep_due
from ottla.coordinator.classic.timers import REBALANCES, SESSIONS
from ottla.coordinator.groups.refusals import REFUSALS, Outside, creates_group, refusal
from ottla.coordinator.groups.shard import KINDS, GroupShard
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.offsets.events import SweepDue, TransactionEnded, TxnOffsetCommitRequested
from ottla.coordinator.runtime.records import is_writable
from ottla.coordinator.runtime.runtime import PartitionState, Runtime, Tasks, exhaust
from ottla.events.kinds.event_kind import EventKind
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.notes import NoteReader
    from ottla.coordinator.runtime.log import Log
    from ottla.coordinator.runtime.owner import Owner
    from ottla.pacing import Pace
    from ottla.purgatory import Timer


class Coordinator:
    """The group coordinator of one node."""

    def __init__(
        self,
        config: GroupConfig,
        log: Log,
        timer: Timer,
        tasks: Tasks,
        notes: NoteReader | None = None,
        failed: Callable[[str, Exception], None] | None = None,
        start: Callable[[Iterator[None]], None] = exhaust,
        pace: Pace | None = None,
    ) -> None:
        """`tasks`: where the owners of groups live; `notes`: what is given what happens in groups, if anything is.

        `failed`, `start` and `pace`: as for a `Runtime`.
        """
        self.config = config
        self.is_started = True
        self.runtime: Runtime[Group] = Runtime(
            self._new_shard,
            log,
            timer,
            tasks,
            resubmit=self._resubmit,
            refuse=_refuse_failed,
            purgatories=(SESSIONS, REBALANCES),
            notices=notes,
            failed=failed,
            start=start,
            sweep=(SweepDue(), config.offsets_retention_check_interval_ms, is_sweep_due),
            pace=pace,
            kinds=KINDS,
        )
        self._clock = timer.clock
        self._notes_wanted: Container[EventKind] = frozenset() if notes is None else notes.wanted
        self._owners = self.runtime.owners

    def partition_of(self, group_id: str) -> int:
        """The partition of __consumer_offsets that keeps this group."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    @property
    def groups(self) -> list[Group]:
        """The groups as they are now: to look at, not to change."""
        return [owner.machine for owner in self._owners.values()]

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way in any inbox."""
        return self.runtime.is_settled

    def close(self) -> None:
        """Coordinate nothing any more."""
        self.is_started = False
        self.runtime.close()

    def submit(self, group_id: str, event: Request, *, is_long: bool = False) -> None:
        """Give a request to its group. Its token is answered: at once, or in time.

        `is_long`: it may be much work, which is done in slices then.
        """
        if type(event) is TxnOffsetCommitRequested:
            self._note_transaction(group_id, event)
        owner = self._owners.get(group_id)
        if owner is not None and group_id and (type(event) is not JoinRequested or self._allows_session(event)):
            if is_long:
                owner.post_long(event)
            else:
                owner.post(event)  # the way nearly all go
        elif (outside := self._outside(group_id, event)) is not None:
            event.token.answer(refusal(group_id, event, outside))
        else:
            owner = owner or self._create(group_id)
            (owner.post_long if is_long else owner.post)(event)

    def intervene(self, group_id: str, event: Intervention | LeaveRequested) -> None:
        """Do this to a group that is here, before anything else happens; it is done when this returns."""
        owner = self._owners[group_id]
        owner.post(event)
        owner.drain()

    def end_transaction(self, partition: int, producer_id: int, *, is_commit: bool) -> None:
        """A producer's transaction is over, says its marker in a partition that is active here."""
        shard = self.runtime.shard(partition)
        assert isinstance(shard, GroupShard)
        ended = TransactionEnded(producer_id, is_commit)
        for group_id in shard.groups_of_transaction(producer_id):
            if (owner := self._owners.get(group_id)) is not None:
                owner.post(ended)

    def _note_transaction(self, group_id: str, event: TxnOffsetCommitRequested) -> None:
        partition = self.partition_of(group_id)
        if self.runtime.state_of(partition) is PartitionState.ACTIVE:
            shard = self.runtime.shard(partition)
            assert isinstance(shard, GroupShard)
            shard.note_transaction(event.request.producer_id, group_id)

    def list_groups(self, request: ListGroupsRequest) -> ListGroupsResponse:
        """ListGroups (api key 16). As long as one partition is being loaded, the answer is only that."""
        if not self.is_started:
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if self.runtime.is_any_loading:
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return ListGroupsResponse(groups=listed(self.groups, request))

    def _outside(self, group_id: str, event: Request) -> Outside | None:
        """The first reason there is to refuse this request."""
        refused = REFUSALS[event.__class__]
        partition = self.runtime.state_of(self.partition_of(group_id))
        is_absent = partition is PartitionState.ACTIVE and group_id not in self._owners
        is_loading = partition is PartitionState.LOADING or self.runtime.is_given_up(group_id)
        reasons = {
            Outside.NOT_STARTED: not self.is_started,
            Outside.EMPTY_GROUP_ID: not group_id,
            Outside.BAD_SESSION_TIMEOUT: isinstance(event, JoinRequested) and not self._allows_session(event),
            Outside.NOT_COORDINATOR: partition in (None, PartitionState.FAILED),
            Outside.LOADING: is_loading,
            Outside.ABSENT: is_absent and not (creates_group(event) and is_writable(group_id)),
        }
        return next((reason for reason, applies in reasons.items() if applies and refused[reason] is not None), None)

    def _allows_session(self, event: JoinRequested) -> bool:
        config = self.config
        timeout_ms = event.request.session_timeout_ms
        return config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms

    def _create(self, group_id: str) -> Owner[Group]:
        group = Group(group_id, self.config, self._clock.wall_ms(), is_unwritten=True, notes_wanted=self._notes_wanted)
        return self.runtime.bring_in(group_id, group, self.partition_of(group_id))

    def _resubmit(self, group_id: str, event: Any) -> None:
        """A group has ended before this was taken up: a request finds no group, anything else is void."""
        if event.__class__ in REFUSALS:
            self.submit(group_id, event)

    def _new_shard(self, partition: int, only_group_id: str | None) -> GroupShard:
        return GroupShard(
            partition,
            self.config,
            self._clock.wall_ms(),
            notes_wanted=self._notes_wanted,
            only_group_id=only_group_id,
        )


def _refuse_failed(group_id: str, event: Any) -> None:
    """Answer the request at which a group has met a bug; anything else has no answer."""
    if event.__class__ in REFUSALS:
        event.token.answer(refusal(group_id, event, Outside.FAILED))
