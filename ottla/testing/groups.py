"""`kafka.group("kitchen")`: a consumer group as it is at the moment, and waiting until it is as it should be.

    kitchen = kafka.group("kitchen")
    kitchen.wait_for(state="Stable", members=2)
    assert kitchen.committed["orders", 0] == 7
    kitchen.expire("ana-*")                                # that one member's session is over; more in `group_verbs`

Everything is looked at anew each time it is asked for; `look()` gives all of it as it is at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ottla.control.changes.topics import commit_offsets
from ottla.control.state import conditions
from ottla.control.state.groups import GroupView, Place, look_at_group
from ottla.testing.asserting import assert_rebalances
from ottla.testing.group_verbs import GroupVerbs
from ottla.testing.inside import TIMEOUT_S

if TYPE_CHECKING:
    from ottla.coordinator.kinds.view import MemberView
    from ottla.testing.inside import Inside


class GroupLooks(GroupVerbs):
    """What is seen of a group of a running broker, be it there or not."""

    def __init__(self, inside: Inside, group_id: str) -> None:
        self._inside = inside
        self.group_id = group_id

    def __repr__(self) -> str:
        return str(self.look())

    def look(self) -> GroupView:
        """Its complete state at this moment."""
        return self._inside.look(
            lambda broker: look_at_group(broker.server.services, broker.server.cluster, self.group_id)
        )

    @property
    def state(self) -> str:
        """Empty, PreparingRebalance, CompletingRebalance, Stable, or Dead if the group does not exist."""
        return self.look().state

    @property
    def generation(self) -> int:
        """The generation id; it grows with each rebalance."""
        return self.look().generation_id

    @property
    def members(self) -> tuple[MemberView, ...]:
        """The members, in the order in which they joined."""
        return self.look().members

    @property
    def leader(self) -> str | None:
        """The member id of the leader."""
        return self.look().leader

    @property
    def committed(self) -> Mapping[Place, int]:
        """The committed offsets by (topic, partition)."""
        return self.look().committed

    @property
    def lag(self) -> Mapping[Place, int]:
        """The lag by (topic, partition), in all topics that the group has committed or subscribes to.

        A partition without a committed offset counts from its log start.
        """
        return self.look().lag

    def commit(self, topic: str, partition: int, offset: int) -> None:
        """Commit an offset for the group, as an admin does. The group must have no members.

        Raises `NoSuchTopic`, `ChangeRefused`.
        """
        place = topic, partition
        self._inside.run(
            lambda broker: commit_offsets(broker.server.services, broker.server.cluster, self.group_id, {place: offset})
        )

    def assert_rebalances(
        self,
        *,
        exactly: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        because: str | None = None,
        member: str | None = None,
        since: int = 0,
    ) -> None:
        """Assert the number of rebalances that have started; by default at least one.

        because: for this reason only, such as member_left; docs/journal.md has them all. member: because of this one
        only; a `*` matches any text. since: after this `kafka.mark()`. Raises `AssertionError` with the timeline.
        """
        assert_rebalances(
            self._inside.timeline_since(since),
            self.group_id,
            exactly=exactly,
            at_least=at_least,
            at_most=at_most,
            because=because,
            member=member,
        )


class Group(GroupLooks):
    """A group of a running broker: its state, changes to it, and waits. It need not exist yet."""

    def wait_for(
        self,
        predicate: Callable[[GroupView], bool] | None = None,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        lag: int | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> GroupView:
        """Wait until all given conditions are true, `predicate` included, and return the group's state.

        members: how many there are. lag: how much is left to read, over all partitions. Raises `NotInTime`.
        """
        wanted = conditions.group_is(
            self.group_id, predicate, state=state, members=members, generation=generation, lag=lag
        )
        return self._inside.wait(wanted, timeout_s)

    def wait_for_assignment(self, *, timeout_s: float = TIMEOUT_S) -> GroupView:
        """Wait until the group is Stable and all partitions of the subscribed topics are assigned."""
        return self._inside.wait(conditions.group_has_all(self.group_id), timeout_s)

    def wait_for_commit(self, topic: str, partition: int, *, at_least: int, timeout_s: float = TIMEOUT_S) -> GroupView:
        """Wait until this offset of the partition, or a later one, is committed."""
        return self._inside.wait(conditions.commit_is(self.group_id, topic, partition, at_least=at_least), timeout_s)


class AsyncGroup(GroupLooks):
    """The same, and its waits are awaited."""

    async def wait_for(
        self,
        predicate: Callable[[GroupView], bool] | None = None,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        lag: int | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> GroupView:
        """As `Group.wait_for`."""
        wanted = conditions.group_is(
            self.group_id, predicate, state=state, members=members, generation=generation, lag=lag
        )
        return await self._inside.wait_in_loop(wanted, timeout_s)

    async def wait_for_assignment(self, *, timeout_s: float = TIMEOUT_S) -> GroupView:
        """As `Group.wait_for_assignment`."""
        return await self._inside.wait_in_loop(conditions.group_has_all(self.group_id), timeout_s)

    async def wait_for_commit(
        self, topic: str, partition: int, *, at_least: int, timeout_s: float = TIMEOUT_S
    ) -> GroupView:
        """As `Group.wait_for_commit`."""
        wanted = conditions.commit_is(self.group_id, topic, partition, at_least=at_least)
        return await self._inside.wait_in_loop(wanted, timeout_s)
