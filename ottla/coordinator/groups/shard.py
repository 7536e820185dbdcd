"""A partition of __consumer_offsets: the groups in it, as they come out of its records, and what spans them.

    type 0, 1    an offset that a group of any kind has committed
    others       each of one kind of group, which takes it in

A committed offset makes a *simple* group if there is no group: one that never had members. A producer's transaction
may commit the offsets of several groups. Which groups, is known here, and each of them is told when the marker of the
transaction comes. The offsets themselves are the groups' own.

Kafka: GroupCoordinatorShard.replay, replayEndTransactionMarker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.coordinator.groups.kinds import KINDS, SIMPLE
from ottla.coordinator.kinds.kind import Group
from ottla.coordinator.offsets.records import OFFSET_TYPES, read_offset, read_place
from ottla.coordinator.runtime.shard import Shard
from ottla.events.kinds.event_kind import EventKind
from ottla.protocol.records import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.kinds.kind import Kinds
    from ottla.coordinator.kinds.kind import Replay as KindReplay
    from ottla.coordinator.runtime.kind import Kind
    from ottla.coordinator.runtime.shard import Replay


class GroupShard(Shard[Group]):
    """The groups of one partition, by their ids."""

    def __init__(
        self,
        partition: int,
        config: GroupConfig,
        now_ms: int,
        *,
        notes_wanted: Container[EventKind] = frozenset(),
        only_group_id: str | None = None,
        kinds: Kinds = KINDS,
    ) -> None:
        """`now_ms`: the date of the load; `notes_wanted`: those that have a reader.

        `only_group_id`: the group that is read anew, alone; None: all are read. `kinds`: those that groups can be of.
        """
        super().__init__(partition, only_group_id)
        self.config = config
        self.notes_wanted = notes_wanted
        self._now_ms = now_ms
        self._kinds = kinds
        self._replays: dict[int, Replay] = dict.fromkeys(OFFSET_TYPES, self._replay_offset)
        for kind in kinds.values():
            self._replays |= {record_type: self._replay_of(take_in) for record_type, take_in in kind.records.items()}
        #: The groups that an open transaction has committed offsets of, by producer id.
        self._of_transaction: dict[int, set[str]] = {}

    @property
    def replays(self) -> Mapping[int, Replay]:
        return self._replays

    def kind_of(self, machine: Group) -> Kind[Any]:
        return self._kinds[type(machine)].runtime

    def note_transaction(self, producer_id: int, group_id: str) -> None:
        """A producer's transaction is about to commit offsets of this group."""
        self._of_transaction.setdefault(producer_id, set()).add(group_id)

    def groups_of_transaction(self, producer_id: int) -> set[str]:
        """The groups that the producer's transaction, which is over, has committed offsets of, or was about to."""
        return self._of_transaction.pop(producer_id, set())

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        for group_id in self.groups_of_transaction(producer_id):
            if (group := self.machines.get(group_id)) is not None:
                group.offsets.end_transaction(producer_id, is_commit=is_commit)

    def _replay_offset(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        group_id, topic, partition = read_place(key)
        if not self.is_about(group_id):
            return
        group = self.machines.get(group_id)
        if value is None:
            if group is not None:
                group.offsets.drop(topic, partition)
            return
        committed = read_offset(value)
        if group is None:
            group = SIMPLE.create(
                group_id, self.config, self._now_ms, is_unwritten=False, notes_wanted=self.notes_wanted
            )
            self.machines[group_id] = group
        if producer_id == NO_PRODUCER_ID:
            group.offsets.keep(topic, partition, committed)
        else:
            group.offsets.pending.add(producer_id, (topic, partition), committed)
            self.note_transaction(producer_id, group_id)

    def _replay_of(self, take_in: KindReplay) -> Replay:
        return lambda key, value, _producer_id: take_in(self, key, value)
