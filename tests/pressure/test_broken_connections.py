"""Connections that break in the middle of joining a group: after each byte, and while they wait.

A member is made by the last byte of its JoinGroup, and not by one less. From then on it is the group's, connection or
not, until its session or the rebalance ends: as in Kafka, where the coordinator never hears of connections. Once that
is over nothing is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ottla.conformance.wire import Connection
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import encode_request_header
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.purgatory import VirtualClock
from tests.coordinator.actors import classic
from tests.pressure.stage import SESSION_MS, create_topic, hear_the_end, is_served, join_request, leftovers
from tests.support.client import API, Client
from tests.support.running_broker import Loop, RunningBroker, every_loop

#: What ends a connection: in order, by a crash, or for one direction only.
LEAVE = {"closed": Connection.close, "reset": Connection.reset, "half-closed": Connection.end}
#: When offsets.retention.check.interval.ms has passed twice, groups without members and offsets are gone.
ALL_OVER_MS = 1_200_000 + 2 * SESSION_MS

every_way = pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)


@pytest.fixture(params=["best", "asyncio"])
def broker(request: pytest.FixtureRequest) -> Iterator[RunningBroker]:
    loop: Loop = request.param
    with RunningBroker(loop, clock=VirtualClock()) as running:
        with Client(running.bootstrap) as bo:
            assert bo.ask(FindCoordinatorRequest("g", 0), 2).error_code == ErrorCode.NONE
            create_topic(bo, "orders")
        until_nobody_is_connected(running)
        yield running


def join_frame(group_id: str, member_id: str, version: int) -> bytes:
    body = join_request(group_id, member_id, metadata=b"m" * 20).encode(version)
    header = encode_request_header(11, version, 1, "ana", API["JoinGroup"].is_flexible(version))
    return (len(header) + len(body)).to_bytes(4) + header + body


def cut(broker: RunningBroker, frame: bytes, size: int, leave: Callable[[Connection], None]) -> None:
    """Send the beginning of a frame and go."""
    ana = Connection(broker.bootstrap)
    ana.send(frame[:size])
    leave(ana)
    if leave is Connection.end:
        hear_the_end(ana)
        ana.close()


def check_groups(broker: RunningBroker) -> None:
    """Every group holds its own invariants."""

    def check() -> None:
        for group in broker.coordinator.groups:
            group.check()

    broker.look(check)


def until_nobody_is_connected(broker: RunningBroker) -> None:
    broker.wait_until("nobody is connected", lambda: not broker.connections)


def members(broker: RunningBroker) -> list[int]:
    """How many each group has, those without any left out."""
    counts = broker.look(lambda: [len(classic(group).members) for group in broker.coordinator.groups])
    return [count for count in counts if count]


@every_way
def test_join_cut_at_every_byte(broker: RunningBroker, leave: Callable[[Connection], None]) -> None:
    """Only a whole request makes a member, whose session ends as any other's. Kafka's old join, in one step."""
    before = leftovers(broker)
    frame = join_frame("g", "", 3)
    for size in range(len(frame)):
        cut(broker, frame, size, leave)
    until_nobody_is_connected(broker)
    assert members(broker) == []
    assert leftovers(broker) == before
    cut(broker, frame, len(frame), Connection.end)
    assert members(broker) == [1]
    check_groups(broker)
    until_nobody_is_connected(broker)
    broker.advance(ALL_OVER_MS)
    assert leftovers(broker) == before


@every_way
def test_join_in_two_steps_cut_at_every_byte(broker: RunningBroker, leave: Callable[[Connection], None]) -> None:
    """The id that was handed out is waited for and then forgotten; it was never a member. KIP-394."""
    before = leftovers(broker)
    with Client(broker.bootstrap) as ana:
        answer = ana.ask(join_request("g"), 9)
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    frame = join_frame("g", answer.member_id, 9)
    for size in range(len(frame)):
        cut(broker, frame, size, leave)
    until_nobody_is_connected(broker)
    assert members(broker) == []
    check_groups(broker)
    cut(broker, frame, len(frame), Connection.end)
    assert members(broker) == [1]
    check_groups(broker)
    until_nobody_is_connected(broker)
    broker.advance(ALL_OVER_MS)
    assert leftovers(broker) == before


@every_way
def test_parked_join_whose_connection_breaks(broker: RunningBroker, leave: Callable[[Connection], None]) -> None:
    """Bo waits for Ana and goes. Ana rejoins, the rebalance ends with both; Bo, silent from then on, is put out."""
    before = leftovers(broker)
    with Client(broker.bootstrap) as ana:
        joined = ana.ask(join_request("g"), 3)
        bo = Connection(broker.bootstrap)
        bo.send(join_frame("g", "", 3))
        broker.wait_until("Bo waits", lambda: classic(broker.coordinator.groups[0]).parked_joins)
        leave(bo)
        rejoined = ana.ask(join_request("g", joined.member_id), 3)
        assert (rejoined.generation_id, len(rejoined.members)) == (2, 2)
        check_groups(broker)
        bo.close()
    until_nobody_is_connected(broker)
    broker.advance(ALL_OVER_MS)
    assert leftovers(broker) == before


def test_client_that_has_said_its_last_byte_hears_its_join(broker: RunningBroker) -> None:
    """Half-open: Bo has shut down its sending side while its join is parked, and is answered all the same."""
    with Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        joined = ana.ask(join_request("g"), 3)
        bo.send(join_request("g"), 3)
        broker.wait_until("Bo waits", lambda: classic(broker.coordinator.groups[0]).parked_joins)
        bo.connection.end()
        ana.send(join_request("g", joined.member_id), 3)
        assert bo.receive().message.error_code == ErrorCode.NONE
        hear_the_end(bo.connection)
        assert ana.receive().message.error_code == ErrorCode.NONE


@every_way
def test_parked_fetch_whose_connection_breaks(broker: RunningBroker, leave: Callable[[Connection], None]) -> None:
    """It gives up its place at once, not when max_wait_ms is over."""
    before = leftovers(broker)
    partition = FetchRequest.FetchPartition(0, partition_max_bytes=1_000)
    fetch = FetchRequest(
        max_wait_ms=2**31 - 1, min_bytes=1, topics=[FetchRequest.FetchTopic("orders", partitions=[partition])]
    )
    for _ in range(50):
        ana = Client(broker.bootstrap)
        ana.send(fetch, 4)
        broker.wait_until("Ana waits", lambda: broker.server.services.delayed_operations.fetch.delayed)
        leave(ana.connection)
        broker.wait_until("nobody waits", lambda: not broker.server.services.delayed_operations.fetch.delayed)
        ana.close()
    until_nobody_is_connected(broker)
    assert leftovers(broker) == before


@every_loop
def test_storm_of_resets(loop: Loop) -> None:
    """A thousand clients crash with answers on their way to them; who stays is served, and nothing of ours fails."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo:
        frame = join_frame("g", "", 3)
        for _ in range(1_000):
            ana = Connection(broker.bootstrap)
            ana.send(frame)
            ana.reset()
        assert is_served(bo)
        broker.wait_until("only Bo is left", lambda: len(broker.connections) == 1)
        check_groups(broker)
