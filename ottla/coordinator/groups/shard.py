"""A partition of __consumer_offsets: the groups in it, as they come out of its records, and what spans them.

    type 0, 1    an offset that a group of any kind has committed
    type 2       a classic group

A committed offset makes a *simple* group if there is no group: a classic one that never had members. A producer's
transaction may commit the offsets of several groups: which, is known here, and when its marker comes each of them is
told. The offsets themselves are the groups' own.

Kafka: GroupCoordinatorShard.replay, replayEndTransactionMarker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.records import GROUP_TYPE, read_group, read_group_id
from ottla.coordinator.classic.step import CLASSIC
from ottla.coordinator.offsets.records import OFFSET_TYPES, read_offset, read_place
from ottla.coordinator.runtime.shard import Shard
from ottla.events.kinds.event_kind import EventKind
from ottla.protocol.records import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.runtime.kind import Kind
    from ottla.coordinator.runtime.shard import Replay


#: The kinds of groups there are.
KINDS: Final[tuple[Kind[Any], ...]] = (CLASSIC,)


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
    ) -> None:
        """`now_ms`: the date of the load; `notes_wanted`: those that have a reader.

        `only_group_id`: the group that is read anew, alone; None: all are read.
        """
        super().__init__(partition, only_group_id)
        self._config = config
        self._now_ms = now_ms
        self._notes_wanted = notes_wanted
        self._replays = {**dict.fromkeys(OFFSET_TYPES, self._replay_offset), GROUP_TYPE: self._replay_group}
        #: The groups that an open transaction has committed offsets of, by producer id.
        self._of_transaction: dict[int, set[str]] = {}

    @property
    def replays(self) -> Mapping[int, Replay]:
        return self._replays

    def kind_of(self, _machine: Group) -> Kind[Group]:
        return CLASSIC

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
            group = Group(group_id, self._config, self._now_ms, notes_wanted=self._notes_wanted)
            self.machines[group_id] = group
        if producer_id == NO_PRODUCER_ID:
            group.offsets.keep(topic, partition, committed)
        else:
            group.offsets.pending.add(producer_id, (topic, partition), committed)
            self.note_transaction(producer_id, group_id)

    def _replay_group(self, key: bytes, value: bytes | None, _producer_id: int) -> None:
        group_id = read_group_id(key)
        if not self.is_about(group_id):
            return
        former = self.machines.pop(group_id, None)
        if value is None:
            return  # its offsets went before it
        group = self.machines[group_id] = read_group(group_id, value, self._config)
        group.notes_wanted = self._notes_wanted
        if former is not None:
            group.offsets = former.offsets
