"""All groups of one node: requests get to their groups here, or are refused.

A request is refused if the group's partition is not here, or is being loaded, or if there is no group of its kind
(`refusals`); else it goes into the inbox of the group's owner. Groups are made by a first JoinGroup or a commit without
generation, and leave nothing behind when they go. Once every offsets.retention.check.interval.ms all groups look for
what has expired.

Kafka: GroupCoordinatorService.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

from ottla.coordinator.groups.kinds import KINDS, SIMPLE
from ottla.coordinator.groups.listing import listed
from ottla.coordinator.groups.refusals import OF_EVERY_KIND, all_requests
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.kinds.outside import Outside
from ottla.coordinator.offsets.events import SweepDue, TransactionEnded, TxnOffsetCommitRequested
from ottla.coordinator.runtime.records import is_writable
from ottla.coordinator.runtime.runtime import PartitionState, Runtime, Tasks, exhaust
from ottla.events.kinds.event_kind import EventKind
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.kinds.kind import Group, GroupKind, Kinds
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
        kinds: Kinds = KINDS,
    ) -> None:
        """`tasks`: where the owners of groups live; `notes`: what is given what happens in groups, if anything is.

        `failed`, `start` and `pace`: as for a `Runtime`. `kinds`: those that groups can be of.
        """
        self.config = config
        self.kinds = kinds
        self._requests = all_requests(kinds)
        self._creators = {event: kind for kind in kinds.values() for event in kind.requests}
        #: By class of requests, the class of the groups that take them without a further look at them.
        self._takers: dict[type, type] = {
            **{event: kind.machine for event, kind in self._creators.items()},
            **dict.fromkeys(OF_EVERY_KIND, object),
            **{event: NoneType for event, row in self._requests.items() if row.allows_session is not None},
            TxnOffsetCommitRequested: NoneType,
        }
        self.is_started = True
        self.runtime: Runtime[Group] = Runtime(
            self._new_shard,
            log,
            timer,
            tasks,
            resubmit=self._resubmit,
            refuse=self._refuse_failed,
            purgatories=dict.fromkeys(name for kind in kinds.values() for name in kind.purgatories),
            notices=notes,
            failed=failed,
            start=start,
            sweep=(SweepDue(), config.offsets_retention_check_interval_ms, self._is_sweep_due),
            pace=pace,
            kinds=[kind.runtime for kind in kinds.values()],
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

    def kind_of(self, group: Group) -> GroupKind[Any]:
        """What there is to know of the group's kind."""
        return self.kinds[type(group)]

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way in any inbox."""
        return self.runtime.is_settled

    def close(self) -> None:
        """Coordinate nothing any more."""
        self.is_started = False
        self.runtime.close()

    def submit(self, group_id: str, event: Any, *, is_long: bool = False) -> None:
        """Give a request to its group. Its token is answered: at once, or in time.

        `is_long`: it may be much work, which is done in slices then.
        """
        owner = self._owners.get(group_id)
        if owner is not None and group_id and isinstance(owner.machine, self._takers[type(event)]):
            if is_long:
                owner.post_long(event)
            else:
                owner.post(event)  # the way nearly all go
            return
        if type(event) is TxnOffsetCommitRequested:
            self._note_transaction(group_id, event)
        if (outside := self._outside(group_id, owner, event)) is not None:
            event.token.answer(self._requests[event.__class__].refusal(group_id, event, outside))
        else:
            owner = owner or self._create(group_id, self._creators.get(event.__class__, SIMPLE))
            (owner.post_long if is_long else owner.post)(event)

    def intervene(self, group_id: str, event: object) -> None:
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
        return ListGroupsResponse(groups=listed(self.groups, request, self.kinds))

    def _outside(self, group_id: str, owner: Owner[Group] | None, event: Any) -> Outside | None:
        """The first reason there is to refuse this request."""
        row = self._requests[event.__class__]
        has_bad_session = row.allows_session is not None and not row.allows_session(event, self.config)
        if owner is not None and group_id:
            other_kind = None if self._takes(owner.machine, event.__class__) else Outside.OTHER_KIND
            return Outside.BAD_SESSION_TIMEOUT if has_bad_session else other_kind
        partition = self.runtime.state_of(self.partition_of(group_id))
        is_absent = partition is PartitionState.ACTIVE and owner is None
        is_loading = partition is PartitionState.LOADING or self.runtime.is_given_up(group_id)
        reasons = {
            Outside.NOT_STARTED: not self.is_started,
            Outside.EMPTY_GROUP_ID: not group_id,
            Outside.BAD_SESSION_TIMEOUT: has_bad_session,
            Outside.NOT_COORDINATOR: partition in (None, PartitionState.FAILED),
            Outside.LOADING: is_loading,
            Outside.ABSENT: is_absent and not (row.creates_group(event) and is_writable(group_id)),
        }
        return next((reason for reason, applies in reasons.items() if applies and row.errors[reason] is not None), None)

    def _takes(self, group: Group, event: type) -> bool:
        return event in OF_EVERY_KIND or event in self.kind_of(group).requests

    def _is_sweep_due(self, group: Group, now_ms: int) -> bool:
        return self.kind_of(group).is_sweep_due(group, now_ms)

    def _create(self, group_id: str, kind: GroupKind[Any]) -> Owner[Group]:
        now_ms = self._clock.wall_ms()
        group = kind.create(group_id, self.config, now_ms, is_unwritten=True, notes_wanted=self._notes_wanted)
        return self.runtime.bring_in(group_id, group, self.partition_of(group_id))

    def _resubmit(self, group_id: str, event: Any) -> None:
        """A group has ended before this was taken up: a request finds no group, anything else is void."""
        if event.__class__ in self._requests:
            self.submit(group_id, event)

    def _refuse_failed(self, group_id: str, event: Any) -> None:
        """Answer the request at which a group has met a bug. No client waits for an answer to anything else."""
        if (row := self._requests.get(event.__class__)) is not None:
            event.token.answer(row.refusal(group_id, event, Outside.FAILED))

    def _new_shard(self, partition: int, only_group_id: str | None) -> GroupShard:
        return GroupShard(
            partition,
            self.config,
            self._clock.wall_ms(),
            notes_wanted=self._notes_wanted,
            only_group_id=only_group_id,
            kinds=self.kinds,
        )
