"""Actors: clients as a group sees them. They remember what a client remembers, so that tests speak of people, not ids.

    ana, bo = Actor("ana"), Actor("bo", group_instance_id="bo's")

    >> ana.joins() << ana.is_given_id()        what it does; what it expects, and learns from the answer
    >> ana.joins(member_id="made up")          any field of the request can be another

What an actor does is put together when its line is played, from what it knows by then. Its member id is its name and a
number: instead of drawing UUIDs they count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ottla.coordinator.classic.events import Event, HeartbeatRequested, JoinRequested, LeaveRequested, SyncRequested
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.step import step
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.offsets.events import OffsetCommitRequested, OffsetFetchRequested, TxnOffsetCommitRequested
from ottla.coordinator.runtime.effects import Append, Effect, Reply
from ottla.coordinator.runtime.events import AppendCompleted, TimerExpired
from ottla.events.kinds.groups import NOTED
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import ZERO_UUID

LATEST_JOIN = 9
LATEST_LEAVE = 5
LATEST_COMMIT = 10
LATEST_FETCH = 10
LATEST_TXN_COMMIT = 6

#: A subscription to the topic "orders", as every consumer's metadata begins: version, topics, user data.
ORDERS = b"\x00\x00" + b"\x00\x00\x00\x01" + b"\x00\x06orders" + b"\xff\xff\xff\xff"


class _Uuids:
    """What is drawn instead of UUIDs: 1, 2, 3; and from 1 again in each new group."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._numbers = count(1)

    def draw(self) -> str:
        return str(next(self._numbers))


_UUIDS = _Uuids()

Topics = Mapping[tuple[str, int], int]


def protocols(*names: str, metadata: bytes = ORDERS) -> list[JoinGroupRequest.JoinGroupRequestProtocol]:
    return [JoinGroupRequest.JoinGroupRequestProtocol(name, metadata) for name in names]


class Name(str):
    """A token that is only compared: whose request, and which."""

    __slots__ = ()

    def answer(self, response: Any, /) -> None:
        raise AssertionError("the core answers nobody")


@dataclass
class Line:
    """What an actor does, by its words; made into an event when it is played."""

    words: str
    make: Callable[[], Event]

    def __call__(self) -> Event:
        return self.make()

    def __repr__(self) -> str:
        return self.words


@dataclass
class Answer:
    """An answer that is expected: to whom, and what it says; `learn` is called with it."""

    token: Name
    says: Mapping[str, Any]
    learn: Callable[[Any], None] | None = None

    def matches(self, effect: Effect) -> bool:
        if not isinstance(effect, Reply) or effect.token != self.token:
            return False
        response: Any = effect.response
        if any(getattr(response, field) != value for field, value in self.says.items()):
            return False
        if self.learn is not None:
            self.learn(response)
        return True


class Actor:
    """A client that wants to be in the group."""

    def __init__(self, name: str, *names: str, group_instance_id: str | None = None, **fields: Any) -> None:
        """`names`: the protocols it supports; `fields`: what its JoinGroup says besides."""
        self.name = name
        self.member_id = ""
        self.generation_id = -1
        self.group_instance_id = group_instance_id
        self.protocols = protocols(*(names or ("range",)))
        self.session_timeout_ms: int = fields.pop("session_timeout_ms", 10_000)
        self.rebalance_timeout_ms: int = fields.pop("rebalance_timeout_ms", 60_000)
        self.version: int = fields.pop("version", LATEST_JOIN)
        self.fields = fields

    def __repr__(self) -> str:
        return self.name

    # ── What it does ──────────────────────────────────────────────────────────────────────────────────────────────────

    def joins(self, *, token: str | None = None, version: int | None = None, **fields: Any) -> Line:
        def event() -> Event:
            said = {
                "group_id": "group",
                "session_timeout_ms": self.session_timeout_ms,
                "rebalance_timeout_ms": self.rebalance_timeout_ms,
                "member_id": self.member_id,
                "group_instance_id": self.group_instance_id,
                "protocol_type": "consumer",
                "protocols": self.protocols,
                **self.fields,
                **fields,
            }
            api_version = self.version if version is None else version
            request = JoinGroupRequest(**said)
            new_uuid = "" if request.member_id else _UUIDS.draw()
            return JoinRequested(
                Name(token or f"{self} join"), request, api_version, self.name, f"/{self.name}", new_uuid
            )

        return Line(f"{self} joins", event)

    def syncs(
        self, assignments: Mapping[Actor, bytes] | None = None, *, token: str | None = None, **fields: Any
    ) -> Line:
        def event() -> Event:
            said = {
                "group_id": "group",
                "generation_id": self.generation_id,
                "member_id": self.member_id,
                "group_instance_id": self.group_instance_id,
                "assignments": [
                    SyncGroupRequest.SyncGroupRequestAssignment(actor.member_id, assignment)
                    for actor, assignment in (assignments or {}).items()
                ],
                **fields,
            }
            return SyncRequested(Name(token or f"{self} sync"), SyncGroupRequest(**said))

        return Line(f"{self} syncs", event)

    def beats(self, *, token: str | None = None, **fields: Any) -> Line:
        def event() -> Event:
            said = {
                "group_id": "group",
                "generation_id": self.generation_id,
                "member_id": self.member_id,
                "group_instance_id": self.group_instance_id,
                **fields,
            }
            return HeartbeatRequested(Name(token or f"{self} beat"), HeartbeatRequest(**said))

        return Line(f"{self} beats", event)

    def leaves(self, *others: Actor, version: int = LATEST_LEAVE, token: str | None = None, **fields: Any) -> Line:
        """It leaves, and takes `others` with it."""

        def event() -> Event:
            if version < 3:
                request = LeaveGroupRequest("group", self.member_id)
            else:
                said = {"member_id": self.member_id, "group_instance_id": self.group_instance_id, **fields}
                members = [LeaveGroupRequest.MemberIdentity(**said)]
                members += [
                    LeaveGroupRequest.MemberIdentity(other.member_id, other.group_instance_id) for other in others
                ]
                request = LeaveGroupRequest("group", members=members)
            return LeaveRequested(Name(token or f"{self} leave"), request, version)

        return Line(f"{self} leaves", event)

    def commits(
        self,
        offsets: Topics,
        *,
        version: int = LATEST_COMMIT,
        metadata: str | None = "",
        leader_epoch: int = -1,
        topic_id: bytes = ZERO_UUID,
        token: str | None = None,
        **fields: Any,
    ) -> Line:
        def event() -> Event:
            said = {
                "group_id": "group",
                "generation_id_or_member_epoch": self.generation_id,
                "member_id": self.member_id,
                "group_instance_id": self.group_instance_id,
                **fields,
            }
            topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
            for (topic, partition), offset in offsets.items():
                topics.setdefault(topic, []).append(
                    OffsetCommitRequest.OffsetCommitRequestPartition(partition, offset, leader_epoch, metadata)
                )
            request = OffsetCommitRequest(
                **said,
                topics=[
                    OffsetCommitRequest.OffsetCommitRequestTopic(topic, topic_id, partitions)
                    for topic, partitions in topics.items()
                ],
            )
            return OffsetCommitRequested(Name(token or f"{self} commit"), request, version)

        return Line(f"{self} commits", event)

    def commits_in_transaction(
        self,
        offsets: Topics,
        *,
        producer_id: int = 1,
        version: int = LATEST_TXN_COMMIT,
        token: str | None = None,
        **fields: Any,
    ) -> Line:
        """As `commits`, but part of this producer's transaction."""

        def event() -> Event:
            plain: Any = self.commits(offsets, **fields)().request  # type: ignore[union-attr]
            request = TxnOffsetCommitRequest(
                "tx",
                "group",
                producer_id,
                0,
                plain.generation_id_or_member_epoch,
                plain.member_id,
                plain.group_instance_id,
                [
                    TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                        topic.name,
                        topic.topic_id,
                        [
                            TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                                p.partition_index, p.committed_offset, p.committed_leader_epoch, p.committed_metadata
                            )
                            for p in topic.partitions
                        ],
                    )
                    for topic in plain.topics
                ],
            )
            return TxnOffsetCommitRequested(Name(token or f"{self} commit in transaction"), request, version, None)

        return Line(f"{self} commits in transaction", event)

    # ── What it expects ───────────────────────────────────────────────────────────────────────────────────────────────

    def is_given_id(self) -> Answer:
        def learn(response: Any) -> None:
            self.member_id = response.member_id

        return Answer(Name(f"{self} join"), {"error_code": ErrorCode.MEMBER_ID_REQUIRED}, learn)

    def joined(self, *, leader: Actor | None = None, token: str | None = None, **says: Any) -> _Joined:
        """`leader`: who leads, if that matters here."""
        return _Joined(self, leader, Name(token or f"{self} join"), says)

    def synced(self, assignment: bytes, *, token: str | None = None, **says: Any) -> Answer:
        return Answer(Name(token or f"{self} sync"), {"error_code": 0, "assignment": assignment, **says})

    def is_refused(self, request: str, error: ErrorCode, **says: Any) -> Answer:
        """`request`: the token after the actor's name, such as "join" or "sync"."""
        return Answer(Name(f"{self} {request}"), {"error_code": error, **says})

    def is_answered(self, error: ErrorCode) -> Answer:
        """Its Heartbeat is."""
        return self.is_refused("beat", error)

    def left(self, *errors: ErrorCode) -> _Left:
        """One error for each it named; none: all is well."""
        return _Left(Name(f"{self} leave"), errors)

    def committed(self, *errors: ErrorCode) -> _Committed:
        """One error for each partition; none: all is well."""
        return _Committed(Name(f"{self} commit"), errors)


@dataclass
class _Joined:
    actor: Actor
    leader: Actor | None
    token: Name
    says: Mapping[str, Any]

    def matches(self, effect: Effect) -> bool:
        def learn(response: Any) -> None:
            self.actor.member_id = response.member_id
            self.actor.generation_id = response.generation_id

        if not Answer(self.token, {"error_code": 0, **self.says}, learn).matches(effect):
            return False
        if self.leader is None:
            return True
        response: Any = effect.response  # type: ignore[union-attr]
        is_leader = self.leader is self.actor
        return bool(response.leader == self.leader.member_id and bool(response.members) == is_leader)


@dataclass
class _Left:
    token: Name
    errors: tuple[ErrorCode, ...]

    def matches(self, effect: Effect) -> bool:
        if not isinstance(effect, Reply) or effect.token != self.token:
            return False
        response: Any = effect.response
        errors = tuple(member.error_code for member in response.members)
        return response.error_code == 0 and errors == (self.errors or (0,) * len(errors))


@dataclass
class _Committed:
    token: Name
    errors: tuple[ErrorCode, ...]

    def matches(self, effect: Effect) -> bool:
        if not isinstance(effect, Reply) or effect.token != self.token:
            return False
        response: Any = effect.response
        errors = tuple(partition.error_code for topic in response.topics for partition in topic.partitions)
        return errors == (self.errors or (0,) * len(errors))


# ── The group ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def classic(group: object) -> Group:
    """A group of any kind, of which the test knows that it is a classic one."""
    assert isinstance(group, Group)
    return group


def new_group(*, is_unwritten: bool = True, is_noted: bool = False, **settings: int) -> Group:
    """A group that was just created, whose member ids are numbered. `is_noted`: whether somebody reads its notes."""
    _UUIDS.restart()
    return Group(
        "group",
        GroupConfig(**settings),
        0,
        is_unwritten=is_unwritten,
        notes_wanted=frozenset(NOTED if is_noted else ()),
    )


def perform(group: Group, now_ms: int, event: Event) -> list[Reply]:
    """Step, let all appends succeed, and return the answers."""
    replies = []
    events = [event]
    while events:
        for effect in step(group, now_ms, events.pop(0)):
            if isinstance(effect, Append):
                events.append(AppendCompleted(effect.completion, ErrorCode.NONE))
            elif isinstance(effect, Reply):
                replies.append(effect)
    group.check()
    return replies


def bring_in(group: Group, *actors: Actor, now_ms: int = 0) -> None:
    """Have these actors join at once, until the group waits for their syncs. The first one leads."""
    for actor in actors:
        replies = perform(group, now_ms, actor.joins()())
        if replies and actor.is_given_id().matches(replies[0]):
            replies = perform(group, now_ms, actor.joins()())
    if group.state is GroupState.PREPARING_REBALANCE:
        group.new_member_added = False  # as if the initial delay had passed once
        replies = perform(group, now_ms, TimerExpired("join"))
    for actor, reply in zip(actors, replies, strict=True):
        assert actor.joined(leader=actors[0]).matches(reply)


def make_stable(group: Group, *actors: Actor, now_ms: int = 0) -> None:
    """Have these actors join and sync; each is assigned its own name."""
    bring_in(group, *actors, now_ms=now_ms)
    for actor in reversed(actors):
        perform(group, now_ms, actor.syncs({member: member.name.encode() for member in actors})())
    assert group.state is GroupState.STABLE


def fetches(
    *partitions: tuple[str, int], require_stable: bool = False, topic_id: bytes = ZERO_UUID, token: str = "fetch"
) -> OffsetFetchRequested:
    """An OffsetFetch for these partitions; none: for all there are."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    asked = [OffsetFetchRequest.OffsetFetchRequestTopics(topic, topic_id, indexes) for topic, indexes in topics.items()]
    request = OffsetFetchRequest.OffsetFetchRequestGroup("group", topics=asked or None)
    return OffsetFetchRequested(Name(token), request, LATEST_FETCH, require_stable)


@dataclass
class Fetched:
    """The offsets that an OffsetFetch should find."""

    offsets: Topics
    token: str = "fetch"

    def matches(self, effect: Effect) -> bool:
        if not isinstance(effect, Reply) or effect.token != Name(self.token):
            return False
        response: Any = effect.response
        found = {(t.name, p.partition_index): p.committed_offset for t in response.topics for p in t.partitions}
        return response.error_code == 0 and found == dict(self.offsets)
