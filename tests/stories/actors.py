"""Members of a group for stories over TCP, each on a connection of its own, doing what no healthy client would.

    ana.joins()                                   # sent; nobody waits
    ana.joined(generation_id=1, leader=ana)       # the answer to it, and what it must say
    assert bo.is_parked                           # bo's request is with the broker, and has no answer yet

The words are those of the same stories told to the core, in `tests/coordinator/actors.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.primitives import Message
from tests.support.backstage import Backstage
from tests.support.client import Client

#: Versions with everything in them: the two-step join, protocol names.
JOIN, SYNC, BEAT, COMMIT = 9, 5, 4, 9


class Actor:
    """A client that wants to be in the group."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        name: str,
        *protocols: str,
    ) -> None:
        """`protocols`: the names of those it supports, the favourite first; its metadata is its own name.

        The name is short, so that it can't be read as a version and a count of topics: a count that is larger than
        what follows keeps Kafka from answering (docs/differences.md).
        """
        assert len(name) < 6
        self.name = name
        self.group = group
        self.member_id = ""
        self.generation_id = -1
        self.protocols = protocols or ("range",)
        #: The protocol of the generation it is in.
        self.protocol: str | None = None
        self._client = Client(bootstrap, client_id=name)

    # ── what it does ──────────────────────────────────────────────────────────────────────────────────────────────────

    def joins(self, **changes: Any) -> Self:
        said: dict[str, Any] = {
            "group_id": self.group,
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 60_000,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "protocols": [
                JoinGroupRequest.JoinGroupRequestProtocol(protocol, self.name.encode()) for protocol in self.protocols
            ],
        }
        return self.says(JoinGroupRequest(**said | changes), JOIN)

    def enters(self) -> Self:
        """Joins for the first time, and is given its id on the way."""
        self.joins().is_given_id()
        return self.joins()

    def syncs(self, assignments: Mapping[Actor, bytes] | None = None) -> Self:
        """`assignments`: what the leader has decided."""
        listed = [
            SyncGroupRequest.SyncGroupRequestAssignment(actor.member_id, assignment)
            for actor, assignment in (assignments or {}).items()
        ]
        request = SyncGroupRequest(
            **self._identity(), protocol_type="consumer", protocol_name=self.protocol, assignments=listed
        )
        return self.says(request, SYNC)

    def beats(self) -> Self:
        return self.says(HeartbeatRequest(**self._identity()), BEAT)

    def commits(self, topic: str, offset: int) -> Self:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
        said = self._identity()
        said["generation_id_or_member_epoch"] = said.pop("generation_id")
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=[partition])]
        return self.says(OffsetCommitRequest(**said, topics=topics), COMMIT)

    def says(self, request: Message, version: int) -> Self:
        """Sends a request; what it hears next is the answer."""
        self._client.send(request, version)
        return self

    # ── what it hears ─────────────────────────────────────────────────────────────────────────────────────────────────

    def hears(self) -> Any:
        """The answer to the oldest request that has none yet."""
        return self._client.receive().message

    @property
    def is_parked(self) -> bool:
        """Whether it has asked and nothing has come. To be asked when the broker has shown that it has the request."""
        return self._client.is_due and not self._client.connection.has_received

    def is_given_id(self) -> None:
        answer = self.hears()
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        self.member_id = answer.member_id

    def joined(self, *, generation_id: int, leader: Actor, protocol: str = "range") -> Any:
        """It is in a generation, and leads it or not."""
        answer = self.hears()
        assert answer.error_code == 0, ErrorCode(answer.error_code)
        assert answer.generation_id == generation_id
        self.member_id, self.generation_id = answer.member_id, answer.generation_id
        self.protocol = answer.protocol_name
        assert answer.leader == leader.member_id
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", protocol)
        return answer

    def synced(self, assignment: bytes) -> None:
        """It is told its assignment."""
        answer = self.hears()
        assert (answer.error_code, answer.assignment) == (0, assignment)

    def is_answered(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """It hears this error, or none, and that is all there is to it."""
        assert _error_of(self.hears()) == error

    def close(self) -> None:
        self._client.close()

    def _identity(self) -> dict[str, Any]:
        return {
            "group_id": self.group,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
        }


def _error_of(answer: Any) -> ErrorCode:
    """The error of an answer, wherever its kind has it."""
    for topic in getattr(answer, "topics", ()):
        return _error_of(topic.partitions[0])
    return ErrorCode(answer.error_code)


class Stage:
    """A group that nobody is in yet, and its actors."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self.bootstrap = bootstrap
        self.group = group
        self.backstage = Backstage(bootstrap)
        self.backstage.wait_for_coordinator(group)
        self._actors: list[Actor] = []

    def actor(self, name: str, *protocols: str, **options: Any) -> Actor:
        actor = Actor(self.bootstrap, self.group, name, *protocols, **options)
        self._actors.append(actor)
        return actor

    def shows(self, state: str, members: int | None = None) -> Any:
        """Wait until the group is in this state with so many members; who parks is known to be there then."""
        return self.backstage.wait_for_group(self.group, state, members)

    def stable(self, *actors: Actor) -> None:
        """All of them are in a group that is Stable, each with its name as its assignment. The first one leads."""
        first, *others = actors
        first.enters().joined(generation_id=1, leader=first, protocol=first.protocols[0])
        for number, other in enumerate(others, start=2):
            other.enters()
            self.shows("PreparingRebalance", members=number)
        if others:
            first.joins()
            for actor in actors:
                actor.joined(generation_id=2, leader=first, protocol=first.protocols[0])
        for other in others:
            other.syncs()
        first.syncs({actor: actor.name.encode() for actor in actors})
        for actor in actors:
            actor.synced(actor.name.encode())

    def close(self) -> None:
        self.backstage.close()
        for actor in self._actors:
            actor.close()
