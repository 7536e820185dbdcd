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

from ottla.broker.state import conditions
from ottla.broker.state.changes import commit_offsets
from ottla.broker.state.groups import GroupView, MemberView, Place, look_at_group
from ottla.testing.asserting import assert_rebalances
from ottla.testing.group_verbs import GroupVerbs
from ottla.testing.inside import TIMEOUT_S

if TYPE_CHECKING:
    from ottla.testing.inside import Inside


class GroupLooks(GroupVerbs):
    """What is seen of a group of a running broker, be it there or not."""

    def __init__(self, inside: Inside, group_id: str) -> None:
        self._inside = inside
        self.group_id = group_id

    def __repr__(self) -> str:
        return str(self.look())

    def look(self) -> GroupView:
        """All that can be said of it at this moment."""
        return self._inside.look(lambda server: look_at_group(server.services, server.cluster, self.group_id))

    @property
    def state(self) -> str:
        """Empty, PreparingRebalance, CompletingRebalance, Stable, or Dead: there is no such group."""
        return self.look().state

    @property
    def generation(self) -> int:
        """The generation id; it grows with each rebalance."""
        return self.look().generation_id

    @property
    def members(self) -> tuple[MemberView, ...]:
        """Its members, in the order in which they came."""
        return self.look().members

    @property
    def leader(self) -> str | None:
        """The member id of its leader."""
        return self.look().leader

    @property
    def committed(self) -> Mapping[Place, int]:
        """Where it goes on to read: offsets by (topic, partition)."""
        return self.look().committed

    @property
    def lag(self) -> Mapping[Place, int]:
        """How much is left to read, by (topic, partition), where something is committed."""
        return self.look().lag

    def commit(self, topic: str, partition: int, offset: int) -> None:
        """Have it go on to read there, as one does who is no member: it must have none.

        Raises `NoSuchTopic`, `ChangeRefused`.
        """
        place = topic, partition
        self._inside.run(lambda server: commit_offsets(server.services, server.cluster, self.group_id, {place: offset}))

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
        """Assert how many rebalances it has begun, at least one unless a number is given.

        because: for this reason only, such as member_left; docs/journal.md has them all. member: because of this one
        only; a `*` stands for anything. since: after this `kafka.mark()`. Raises `AssertionError` with the timeline.
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
    """A group of a running broker, be it there or not, and waiting for it."""

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
        """Return the group as it is when all that is asked for is so, and `predicate` says so too.

        members: how many there are. lag: how much is left to read, over all partitions. Raises `NotInTime`.
        """
        wanted = conditions.group_is(
            self.group_id, predicate, state=state, members=members, generation=generation, lag=lag
        )
        return self._inside.wait(wanted, timeout_s)

    def wait_for_assignment(self, *, timeout_s: float = TIMEOUT_S) -> GroupView:
        """Return when it is Stable and all partitions of what its members subscribe to are assigned."""
        return self._inside.wait(conditions.group_has_all(self.group_id), timeout_s)

    def wait_for_commit(self, topic: str, partition: int, *, at_least: int, timeout_s: float = TIMEOUT_S) -> GroupView:
        """Return when this offset of the partition is committed, or a later one."""
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
