"""What a test does to a group without being a member: the verbs of `kafka.group("kitchen")`.

Each is done when it returns. Clients hear of it as they would of the real thing: in the answer to their next heartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.control.changes import groups, leaders

if TYPE_CHECKING:
    from ottla.testing.inside import Inside


class GroupVerbs:
    """A group of a running broker, as something to do things to."""

    group_id: str
    _inside: Inside

    def expire(self, member: str) -> list[str]:
        """End the sessions of these members now, as if they had been silent. Other sessions are not affected.

        member: a member id or group instance id; a `*` matches any text. Returns the member ids. Raises
        `ChangeRefused` if there is no such member, or if it waits for the answer to a JoinGroup or SyncGroup.
        """
        return self._inside.look(lambda broker: groups.expire(broker.server.services, self.group_id, member))

    def evict(self, member: str, *, reason: str | None = None) -> list[str]:
        """Remove these members, as an admin does with removeMembersFromConsumerGroup; returns their ids.

        member: as for `expire`. reason: what the admin says besides. Raises `ChangeRefused`.
        """
        return self._inside.look(lambda broker: groups.evict(broker.server.services, self.group_id, member, reason))

    def force_rebalance(self, *, reason: str | None = None) -> None:
        """Start a rebalance: all members must join again. Raises `ChangeRefused` if there are none."""
        self._inside.look(lambda broker: groups.force_rebalance(broker.server.services, self.group_id, reason))

    def move_coordinator(self, *, to: int) -> None:
        """Make another node the coordinator of this group, and of all groups in its partition of __consumer_offsets.

        Raises `ChangeRefused` if the node is not up, or if no group was ever asked for.
        """
        self._inside.look(
            lambda broker: leaders.move_coordinator(broker.server.services, broker.server.cluster, self.group_id, to)
        )
