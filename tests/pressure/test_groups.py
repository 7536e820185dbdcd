"""Groups under pressure: too many members, members that nobody knows, much metadata, and an end while many wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from ottla.coordinator.classic.states import GroupState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.primitives import Message
from ottla.purgatory import VirtualClock
from tests.cli.terminal import Serving, serving, until
from tests.coordinator.actors import classic
from tests.pressure.stage import (
    SESSION_MS,
    counters,
    create_topic,
    hear_the_end,
    is_served,
    join,
    join_request,
    leftovers,
    memory_mib,
    memory_mib_max,
)
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS
from tests.support.running_broker import RunningBroker
from tests.support.wire import ConnectionClosedError

MANY: Final = 10_000
#: Requests of a member to its group, each with the version to send it in.
_TOPIC: Final = OffsetCommitRequest.OffsetCommitRequestTopic(
    "orders", partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)]
)
MEMBERS_REQUESTS: Final[dict[str, tuple[Callable[[str, str], Message], int]]] = {
    "Heartbeat": (lambda group_id, member_id: HeartbeatRequest(group_id, 1, member_id), 3),
    "LeaveGroup": (LeaveGroupRequest, 2),
    "SyncGroup": (lambda group_id, member_id: SyncGroupRequest(group_id, 1, member_id), 3),
    "OffsetCommit": (lambda group_id, member_id: OffsetCommitRequest(group_id, 1, member_id, topics=[_TOPIC]), 7),
    "JoinGroup": (join_request, 9),
}


def ask_all(client: Client, requests: list[Message], version: int) -> list[int]:
    """The error codes that each is answered with; not so many at a time that both sides wait for the other to read."""
    codes: list[int] = []
    for first in range(0, len(requests), 200):
        batch = requests[first : first + 200]
        for request in batch:
            client.send(request, version)
        for _ in batch:
            answer = client.receive().message
            codes.append(answer.topics[0].partitions[0].error_code if hasattr(answer, "topics") else answer.error_code)
    return codes


@pytest.mark.parametrize("name", MEMBERS_REQUESTS)
def test_made_up_members_leave_nothing_behind(name: str) -> None:
    """Ten thousand ids in a group that has one member: each is told that nobody knows it, and nothing is kept."""
    make, version = MEMBERS_REQUESTS[name]
    with RunningBroker(clock=VirtualClock()) as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        create_topic(ana, "orders")
        join(ana, "g")
        before = leftovers(broker)
        codes = ask_all(bo, [make("g", f"made-up-{index}") for index in range(MANY)], version)
        assert len(codes) == MANY
        assert set(codes) <= {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
        broker.advance(0)
        assert leftovers(broker) == before
        assert [len(classic(group).members) for group in broker.look(lambda: broker.coordinator.groups)] == [1]


@pytest.mark.parametrize("name", MEMBERS_REQUESTS)
def test_made_up_groups_leave_nothing_behind(name: str) -> None:
    """Two thousand groups that nobody has ever joined."""
    make, version = MEMBERS_REQUESTS[name]
    with RunningBroker(clock=VirtualClock()) as broker, Client(broker.bootstrap) as ana:
        create_topic(ana, "orders")
        ana.ask(FindCoordinatorRequest("g", 0), 2)
        before = leftovers(broker)
        codes = ask_all(ana, [make(f"made-up-{index}", "m") for index in range(2_000)], version)
        assert set(codes) <= {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
        broker.advance(0)
        assert leftovers(broker) == before


def test_ids_handed_out_and_never_used_are_forgotten() -> None:
    """Ten thousand first steps of a join without the second: each is one timer, until a session has passed. KIP-394."""
    with RunningBroker(clock=VirtualClock()) as broker, Client(broker.bootstrap) as ana:
        ana.ask(FindCoordinatorRequest("g", 0), 2)
        before = leftovers(broker)
        codes = ask_all(ana, [join_request("g")] * MANY, 5)
        assert set(codes) == {ErrorCode.MEMBER_ID_REQUIRED}
        assert leftovers(broker)["delayed"] == MANY
        broker.advance(SESSION_MS)
        assert leftovers(broker)["delayed"] == 0
        broker.advance(1_200_000)  # the group has had its sweep
        assert leftovers(broker) == before


def test_full_group_turns_away_and_goes_on() -> None:
    """group.max.size members are in; a hundred more are refused, and nobody inside notices. One goes, one comes."""
    with RunningBroker(settings={"group.max.size": 2}) as broker, Client(broker.bootstrap) as ana:
        first = join(ana, "g")
        with Client(broker.bootstrap) as bo, Client(broker.bootstrap) as cy:
            bo.send(join_request("g"), 3)
            broker.wait_until("Bo waits", lambda: classic(broker.coordinator.groups[0]).parked_joins)
            assert ana.ask(join_request("g", first), 3).error_code == ErrorCode.NONE
            second = bo.receive().message.member_id
            codes = ask_all(cy, [join_request("g")] * 100, 3)
            assert set(codes) == {ErrorCode.GROUP_MAX_SIZE_REACHED}
            assignments = [SyncGroupRequest.SyncGroupRequestAssignment(name, b"") for name in (first, second)]
            assert ana.ask(SyncGroupRequest("g", 2, first, assignments=assignments), 3).error_code == ErrorCode.NONE
            assert broker.look(lambda: broker.coordinator.groups[0].state) is GroupState.STABLE
            bo.ask(LeaveGroupRequest("g", second), 2)
            cy.send(join_request("g"), 3)
            assert ana.ask(join_request("g", first), 3).error_code == ErrorCode.NONE
            assert cy.receive().message.error_code == ErrorCode.NONE


def test_metadata_of_a_hundred_megabytes() -> None:
    """Kafka takes the member, and can't write its group: the record is too large. When it leaves, memory returns."""
    with serving("--set", "group.initial.rebalance.delay.ms=0") as broker, Client(broker.bootstrap) as bo:
        join(bo, "other")
        before_mib = memory_mib(broker.process.pid)
        with Client(broker.bootstrap) as ana:
            joined = ana.ask(join_request("g", metadata=bytes(100_000_000)), 3)
            assert joined.error_code == ErrorCode.NONE
            member_id = joined.member_id
            del joined
            assignments = [SyncGroupRequest.SyncGroupRequestAssignment(member_id, b"")]
            synced = ana.ask(SyncGroupRequest("g", 1, member_id, assignments=assignments), 3)
            assert synced.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert is_served(bo)
            assert ana.ask(LeaveGroupRequest("g", member_id), 2).error_code == ErrorCode.NONE
        assert is_served(bo)
        assert "group.write.failed" in broker.stderr()
        assert memory_mib_max(broker.process.pid) - before_mib < 1_000
        assert memory_mib(broker.process.pid) - before_mib < 30


def test_metadata_over_the_limit_of_a_request_is_not_even_read() -> None:
    """One byte more than socket.request.max.bytes: its size alone closes the connection."""
    with serving() as broker, Client(broker.bootstrap) as bo, Client(broker.bootstrap) as ana:
        is_served(bo)
        before_mib = memory_mib(broker.process.pid)
        with pytest.raises(ConnectionClosedError):
            ana.ask(join_request("g", metadata=bytes(104_857_600)), 3)
        assert is_served(bo)
        assert "connection.refused" in broker.stderr()
        assert memory_mib_max(broker.process.pid) - before_mib < 30


def waiting(broker: Serving) -> tuple[int, int]:
    """How many members there are, and how many fetches that wait."""
    members = sum(len(group["members"]) for group in counters(broker, "/groups")["groups"])
    (fetches,) = (row["delayed"] for row in counters(broker)["purgatories"] if row["name"] == "Fetch")
    return members, fetches


def test_orderly_end_with_many_waiting() -> None:
    """Three hundred joins and three hundred fetches are parked when the signal comes: each is answered, then closed."""
    partition = FetchRequest.FetchPartition(0, partition_max_bytes=1_000)
    fetch = FetchRequest(
        max_wait_ms=600_000, min_bytes=1, topics=[FetchRequest.FetchTopic("orders", partitions=[partition])]
    )
    settings = ("--set", "group.initial.rebalance.delay.ms=600000", "--control", "127.0.0.1:0")
    with serving(*settings) as broker:
        clients = [Client(broker.bootstrap) for _ in range(600)]
        create_topic(clients[0], "orders")
        clients[0].ask(FindCoordinatorRequest("g", 0), 2)
        for index, client in enumerate(clients):
            client.send(*(join_request(f"g{index % 7}"), 3) if index % 2 else (fetch, 4))
        until(lambda: waiting(broker) == (300, 300), "all wait")
        broker.process.terminate()
        for index, client in enumerate(clients):
            answer = client.receive().message
            assert answer.error_code == (ErrorCode.NOT_COORDINATOR if index % 2 else ErrorCode.NONE)
            hear_the_end(client.connection)
            client.close()
        assert broker.process.wait(PATIENCE_SECONDS) == 0
