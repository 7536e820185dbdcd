"""A member of a classic group: its ids, what it supports, what it waits for, when its session ends.

A *dynamic* member is known by the member id it was given. A *static* one has a group instance id as well, by which it
is recognised after a restart (KIP-345). A *new* member has not seen an answer to its JoinGroup, cannot beat, and so
lives by a fixed timeout; every other lives by the session timeout, and parked requests keep their members alive.

Kafka: ClassicGroupMember.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ottla.coordinator.classic.events import JoinRequested, SyncRequested
from ottla.coordinator.classic.timers import session_timer
from ottla.protocol.messages.join_group import JoinGroupRequest

#: What a member supports, most liked first: name and metadata. A name may come twice, as in Kafka.
Protocols: TypeAlias = list[JoinGroupRequest.JoinGroupRequestProtocol]


@dataclass(slots=True, eq=False)
class Member:
    """A member of a group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    parked_join: JoinRequested | None = None
    """Its JoinGroup, which the end of the join phase answers."""
    parked_sync: SyncRequested | None = None
    """Its SyncGroup, which the leader's assignment answers."""
    deadline_ms: int | None = None
    """When its session ends; None: the timer ran out while it was parked, and the next sign of life arms it."""
    timer_key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.timer_key = session_timer(self.member_id)

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_kept_alive(self) -> bool:
        """Whether its session cannot end now. Kafka: ClassicGroupMember.hasSatisfiedHeartbeat."""
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)

    def metadata(self, protocol_name: str) -> bytes | None:
        """What it says under this protocol; None: it does not support it. Of a name given twice the first counts."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return None
