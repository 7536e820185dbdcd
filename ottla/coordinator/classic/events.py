"""What can happen to a classic group: its requests, and what groups of every kind are asked and told.

Requests come as the broker's handlers decoded and checked them: authorized, with topics that exist. `token` is the
sender, to be answered. An event is no more than its data; `step` says what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.coordinator.offsets.events import OffsetsRequest, SweepDue, TransactionEnded
from ottla.coordinator.runtime.events import RuntimeEvent
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.runtime.records import is_writable

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Token
    from ottla.protocol.messages.heartbeat import HeartbeatRequest
    from ottla.protocol.messages.join_group import JoinGroupRequest
    from ottla.protocol.messages.leave_group import LeaveGroupRequest
    from ottla.protocol.messages.sync_group import SyncGroupRequest


UUID_CHARS: Final = 36


@frozen
class JoinRequested:
    """Answered with a JoinGroupResponse, now or when the rebalance is through."""

    token: Token
    request: JoinGroupRequest
    api_version: int
    client_id: str
    client_host: str
    """As Kafka prints an address: "/127.0.0.1"."""
    new_uuid: str = ""
    """A random UUID, which no member has had yet; "" if the request has a member id and so needs no new one."""

    @property
    def new_member_id(self) -> str:
        """The id of the member that this request makes. Kafka: ClassicGroup.generateMemberId."""
        assert self.new_uuid, "only a JoinGroup without member id makes one"
        return f"{self._name}-{self.new_uuid}"

    @property
    def rebalance_timeout_ms(self) -> int:
        """v0 has only one timeout. Kafka: JoinGroupRequest.maybeOverrideRebalanceTimeout."""
        return self.request.session_timeout_ms if self.api_version == 0 else self.request.rebalance_timeout_ms

    @property
    def has_writable_names(self) -> bool:
        """Whether its strings fit into a record. Kafka finds that out when it writes, and answers the same then."""
        request = self.request
        return (
            is_writable(self._name + "-" * (UUID_CHARS + 1))
            and is_writable(request.protocol_type)
            and all(is_writable(protocol.name) for protocol in request.protocols)
        )

    @property
    def _name(self) -> str:
        instance_id = self.request.group_instance_id
        return self.client_id if instance_id is None else instance_id


@frozen
class SyncRequested:
    """Answered with a SyncGroupResponse, now or when the leader's assignment is written."""

    token: Token
    request: SyncGroupRequest


@frozen
class HeartbeatRequested:
    """Answered with a HeartbeatResponse, which is shared: don't change it."""

    token: Token
    request: HeartbeatRequest


@frozen
class LeaveRequested:
    """Answered with a LeaveGroupResponse in the shape of its version."""

    token: Token
    request: LeaveGroupRequest
    api_version: int


@frozen
class DescribeRequested:
    """One group of a DescribeGroups. Answered with a DescribedGroup."""

    token: Token
    api_version: int


@frozen
class SessionEnded:
    """This member's session is over, whenever it would have been."""

    member_id: str


@frozen
class RebalanceWanted:
    """The group is to rebalance, as a tool outside of it asks."""

    reason: str | None = None


Intervention: TypeAlias = SessionEnded | RebalanceWanted
Request: TypeAlias = (
    JoinRequested | SyncRequested | HeartbeatRequested | LeaveRequested | DescribeRequested | OffsetsRequest
)
Event: TypeAlias = Request | Intervention | TransactionEnded | SweepDue | RuntimeEvent
