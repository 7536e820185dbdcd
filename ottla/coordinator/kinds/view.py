"""A group's members and what it waits for, as values: taken at one moment, and good in any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    subscription: tuple[str, ...]
    """The topics it wants to read."""
    assignment: Mapping[str, tuple[int, ...]]
    """What it was given: partitions by topic. Empty until the group is Stable."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    last_heartbeat_ms: int | None
    """When its session last began anew, as a date; None: it has joined just now, or waits for an answer."""

    @property
    def names(self) -> tuple[str, ...]:
        """By which a test may call it."""
        return self.member_id, self.group_instance_id or "", self.client_id


@dataclass(frozen=True, slots=True)
class WaitsFor:
    """What a group waits for before it goes on."""

    what: str
    """Such as "JoinGroup"."""
    member_ids: tuple[str, ...] = ()
    """From which members."""
    until_ms: int | None = None
    """When it goes on without it, as a date; None: it does not."""

    def __str__(self) -> str:
        return f"{self.what} of {', '.join(self.member_ids)}" if self.member_ids else self.what
