"""Group members for scripts: what a healthy member does between the lines a script is about.

A `Member` remembers the id and the generation it was given, so that its requests can be built without them; every
request can be made wrong by an argument. `stable_group` brings several of them to Stable unrecorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ottla.conformance.scene import Actor, Scene
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest

SESSION_TIMEOUT_MS: Final = 30_000
REBALANCE_TIMEOUT_MS: Final = 20_000

#: Versions for what is not recorded: the last that is not flexible, with instance ids and the two-step join.
_JOIN, _SYNC = 5, 3


def subscription(*topics: str) -> bytes:
    """A consumer's metadata for JoinGroup: version 0, these topics."""
    return b"\0\0" + ConsumerProtocolSubscription(topics=list(topics)).encode(0)


class Member:
    """A group member and its connection. `protocols` are (name, metadata), in the member's order of preference."""

    def __init__(
        self,
        scene: Scene,
        group: str,
        name: str = "ana",
        *,
        protocols: Sequence[tuple[str, bytes]] = (("range", subscription()),),
        protocol_type: str = "consumer",
        instance: str | None = None,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    ) -> None:
        self.actor: Actor = scene.actor(name)
        self.group = group
        self.protocols = list(protocols)
        self.protocol_type = protocol_type
        self.instance = instance
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = ""
        self.generation_id = -1
        self.leader = ""

    def join(self, **changes: Any) -> JoinGroupRequest:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "session_timeout_ms": self.session_timeout_ms,
            "rebalance_timeout_ms": self.rebalance_timeout_ms,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocols": [
                JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in changes.pop("protocols", self.protocols)
            ],
        }
        return JoinGroupRequest(**fields | changes)

    def joined(self, answer: Any) -> Any:
        """Remember what a JoinGroup answer gave; returns it."""
        self.member_id, self.leader = answer.member_id, answer.leader
        self.generation_id = answer.generation_id
        return answer

    def sync(self, assignments: Mapping[str, bytes] | None = None, **changes: Any) -> SyncGroupRequest:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocols[0][0],
            "assignments": [
                SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        }
        return SyncGroupRequest(**fields | changes)

    def heartbeat(self, **changes: Any) -> HeartbeatRequest:
        return HeartbeatRequest(**self._identity() | changes)

    def commit(
        self, topic: str, offset: int, *, partition: int = 0, metadata: str | None = "", **changes: Any
    ) -> OffsetCommitRequest:
        committed = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=metadata
        )
        fields: dict[str, Any] = {
            "group_id": self.group,
            "generation_id_or_member_epoch": self.generation_id,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "topics": [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[committed])],
        }
        return OffsetCommitRequest(**fields | changes)

    def leave(self, **changes: Any) -> LeaveGroupRequest:
        """For any version: v0–2 read the member id at the top, v3 and later the list."""
        member_id, instance = changes.pop("member_id", self.member_id), changes.pop("instance", self.instance)
        return LeaveGroupRequest(
            group_id=self.group,
            member_id=member_id,
            members=[LeaveGroupRequest.MemberIdentity(member_id=member_id, group_instance_id=instance)],
        )

    def be_known(self) -> None:
        """Take the first step of a dynamic member, unrecorded: be given an id."""
        self.member_id = self.actor.quietly(self.join(), _JOIN).member_id

    def join_quietly(self) -> None:
        """Send the join and go on, unrecorded; `hear_quietly` takes the answer."""
        if not self.member_id and self.instance is None:
            self.be_known()
        self.actor.client.send(self.join(), _JOIN)

    def sync_quietly(self, assignments: Mapping[str, bytes] | None = None) -> None:
        self.actor.client.send(self.sync(assignments), _SYNC)

    def hear_quietly(self) -> Any:
        return self.actor.client.receive().message

    def _identity(self) -> dict[str, Any]:
        return {
            "group_id": self.group,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }


def completing_group(scene: Scene, *members: Member) -> None:
    """Unrecorded: all members have their JoinGroup answers, nobody has synced. The first leads."""
    for number, newcomer in enumerate(members, start=1):
        newcomer.join_quietly()
        if number > 1:
            scene.group_shows(newcomer.group, state="PreparingRebalance", members=number)
        for earlier in members[: number - 1]:
            earlier.join_quietly()
        for member in members[:number]:
            member.joined(member.hear_quietly())
    assert members[0].leader == members[0].member_id


def stable_group(scene: Scene, *members: Member) -> None:
    """Unrecorded: the group is Stable, the first member leads, and each has the assignment `for-<its number>`."""
    completing_group(scene, *members)
    assignments = {member.member_id: f"for-{number}".encode() for number, member in enumerate(members, start=1)}
    for member in members[1:]:
        member.sync_quietly()
    members[0].sync_quietly(assignments)
    for member in members:
        assert member.hear_quietly().error_code == 0


def preparing_group(scene: Scene, *members: Member) -> Member:
    """Unrecorded: Stable with these members, then a newcomer's join is parked; returns the newcomer."""
    stable_group(scene, *members)
    newcomer = Member(scene, members[0].group, "newcomer", protocols=members[0].protocols)
    newcomer.join_quietly()
    scene.group_shows(newcomer.group, state="PreparingRebalance", members=len(members) + 1)
    return newcomer
