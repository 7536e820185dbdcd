"""Single group members and topics over raw frames, for figures that need a place to beat or to write at."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any, Final

from bench.broker import Broker, UnableError
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from tests.support.client import Client

JOIN, SYNC = 5, 3  # what librdkafka speaks
#: Beyond any run, within every peer's limits (kfake: 5 minutes).
SESSION_TIMEOUT_MS: Final = 240_000
#: The group is not ours to ask yet: loading, no coordinator, not this one.
_NOT_YET: Final = frozenset({14, 15, 16})
_MEMBER_ID_REQUIRED: Final = 79
_READY_SECONDS_MAX: Final = 30.0

_number = itertools.count(int(time.time()) % 100_000 * 1000)


def fresh_name(stem: str) -> str:
    """A name of its own for each run, all of one length."""
    return f"bench-{stem}-{next(_number):09}"


def join_request(group: str, member_id: str) -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=SESSION_TIMEOUT_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )


def stable_members(broker: Broker, groups: list[str]) -> list[tuple[str, int]]:
    """Make each group Stable with one member; returns their (member id, generation).

    Joins run side by side: a peer with an initial delay that can't be switched off takes it once, not per group.
    """
    clients = [Client(broker.bootstrap, timeout_seconds=_READY_SECONDS_MAX) for _ in groups]
    try:
        joined = _join(clients, groups)
        for client, group, answer in zip(clients, groups, joined, strict=True):
            assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=answer.member_id, assignment=b"x")
            request = SyncGroupRequest(
                group_id=group,
                generation_id=answer.generation_id,
                member_id=answer.member_id,
                assignments=[assignment],
            )
            error = client.ask(request, SYNC).error_code
            if error != 0:
                raise UnableError(f"a sync was answered with error {error}")
        return [(answer.member_id, answer.generation_id) for answer in joined]
    finally:
        for client in clients:
            client.close()


def _join(clients: list[Client], groups: list[str]) -> list[Any]:
    """One member into each group, all at the same time; returns the answers that let them in."""
    until_coordinated(clients[0], groups[0])
    joined: dict[int, Any] = {}
    ids = [""] * len(groups)
    deadline = time.monotonic() + _READY_SECONDS_MAX
    while waiting := [number for number in range(len(groups)) if number not in joined]:
        for number in waiting:
            clients[number].send(join_request(groups[number], ids[number]), JOIN)
        for number in waiting:
            answer = clients[number].receive().message
            if answer.error_code == 0:
                joined[number] = answer
            elif answer.error_code == _MEMBER_ID_REQUIRED:
                ids[number] = answer.member_id
            elif answer.error_code not in _NOT_YET or time.monotonic() > deadline:
                raise UnableError(f"a join was answered with error {answer.error_code}")
    return [joined[number] for number in range(len(groups))]


def until_coordinated(client: Client, group: str) -> None:
    """Ask for a coordinator as clients do; the first time a broker may still have to make the topic for it."""
    deadline = time.monotonic() + _READY_SECONDS_MAX
    while error := client.ask(FindCoordinatorRequest(key=group), 2).error_code:
        if time.monotonic() > deadline:
            raise UnableError(f"FindCoordinator was answered with error {error}")
        time.sleep(0.02)


def create_topic(broker: Broker, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """Create a topic, and wait until it is led. A peer that has no CreateTopics makes it when it is asked about it."""
    with Client(broker.bootstrap) as client:
        listed = [CreateTopicsRequest.CreatableTopicConfig(*config) for config in (configs or {}).items()]
        new = CreateTopicsRequest.CreatableTopic(topic, partitions, 1, configs=listed)
        if broker.peer != "mock":
            error = client.ask(CreateTopicsRequest(topics=[new], timeout_ms=10_000), 4).topics[0].error_code
            if error != 0:
                raise UnableError(f"creating a topic was answered with error {error}")
        deadline = time.monotonic() + _READY_SECONDS_MAX
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        while time.monotonic() < deadline:
            found = client.ask(request, 4).topics[0]
            if found.error_code == 0 and all(partition.leader_id >= 0 for partition in found.partitions):
                return
            time.sleep(0.01)
    raise UnableError("a new topic was not led in time")


def delete_topic(broker: Broker, topic: str) -> None:
    """Give the space back, where the peer can."""
    if broker.peer == "mock":
        return
    with Client(broker.bootstrap) as client:
        client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 3)
