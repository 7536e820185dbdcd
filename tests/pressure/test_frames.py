"""Frames that lie about their size, end early, dawdle, or begin with a header that is none.

What can't be a request closes its connection, with a line in the log that says why. Kafka: NetworkReceive.readFrom,
SocketServer.processCompletedReceives. That it is closed just where Kafka closes is compared in tests/differential.
"""

from __future__ import annotations

import struct
from random import Random
from typing import Final

import pytest

from ottla.protocol.headers import encode_request_header
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from tests.cli.terminal import serving
from tests.pressure.random_requests import damaged
from tests.pressure.stage import ends, hear_the_end, is_served, memory_mib
from tests.support.client import API, Client
from tests.support.running_broker import Loop, RunningBroker, every_loop
from tests.support.wire import Connection

REQUEST_BYTES_MAX: Final = 104_857_600
HEARTBEAT: Final = encode_request_header(12, 0, 7, "ana", False) + HeartbeatRequest("g", 1, "m").encode(0)


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


@every_loop
@pytest.mark.parametrize("size", [-(2**31), -1, REQUEST_BYTES_MAX + 1, 2**31 - 1])
def test_impossible_size_closes_at_once(loop: Loop, size: int) -> None:
    """Four bytes are enough to know, whatever follows. The line in the log has the size and the setting."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo, Connection(broker.bootstrap) as ana:
        ana.send(struct.pack(">i", size))
        assert ends(ana)
        assert broker.refusals == [f"a frame claims {size} bytes; socket.request.max.bytes={REQUEST_BYTES_MAX}"]
        assert is_served(bo)


@every_loop
@pytest.mark.parametrize(
    ("said", "protocol"),
    [(b"\x16\x03\x01\x02\x00\x01\x00", "TLS"), (b"GET / HTTP/1.1\r\n\r\n", "HTTP"), (b"PRI * HTTP/2.0\r\n", "HTTP")],
)
def test_other_protocol_is_named_once_for_a_client_that_tries_again_and_again(
    loop: Loop, said: bytes, protocol: str
) -> None:
    """A client set to TLS comes back many times a second: the log has one line, which says what it looks like."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo:
        for _ in range(20):
            with Connection(broker.bootstrap) as ana:
                ana.send(said)
                assert ends(ana)
        told = broker.log.named("connection.foreign")
        assert 1 <= len(told) < 20
        assert f"this looks like {protocol}" in told[0]["reason"]
        assert not broker.refusals
        assert is_served(bo)


def test_limit_is_the_settings() -> None:
    """A frame of as many bytes as socket.request.max.bytes allows is taken, and one of one more is not."""
    with RunningBroker(settings={"socket.request.max.bytes": 1_000}) as broker:
        for size, is_taken in ((1_000, True), (1_001, False)):
            with Connection(broker.bootstrap) as ana:
                ana.send(framed(HEARTBEAT.ljust(size, b"\0")))
                assert ends(ana) is not is_taken


@every_loop
@pytest.mark.parametrize("frame", [HEARTBEAT[:size] for size in range(len(HEARTBEAT))], ids=len)
def test_frame_that_ends_too_early_closes(loop: Loop, frame: bytes) -> None:
    """None of the beginnings of a request is one, the empty one included."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo, Connection(broker.bootstrap) as ana:
        ana.send(framed(frame))
        assert ends(ana)
        (refused,) = broker.log.named("connection.refused")
        assert refused["frame"] == frame.hex(" ")
        assert refused["reason"].startswith(f"a frame of {len(frame)} bytes does not parse: ")
        assert is_served(bo)


@every_loop
def test_client_that_goes_in_the_middle_of_a_frame_is_forgotten(loop: Loop) -> None:
    """After each byte, by closing in order or by crashing. Nothing was wrong with what came, so nothing is logged."""
    whole = framed(HEARTBEAT)
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo:
        for size in range(len(whole)):
            for leave in (Connection.close, Connection.reset, Connection.end):
                ana = Connection(broker.bootstrap)
                ana.send(whole[:size])
                leave(ana)
                if leave is Connection.end:
                    assert ends(ana)
                    ana.close()
        assert is_served(bo)
        broker.wait_until("only Bo is left", lambda: len(broker.connections) == 1)
        assert not broker.refusals


@every_loop
def test_trickled_frames_are_requests_as_any(loop: Loop) -> None:
    """Two requests on two connections, byte by byte in turns, both in pieces that cut through sizes and headers."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        for byte in framed(HEARTBEAT) * 2:
            for client in (ana, bo):
                client.connection.send(bytes([byte]))
        for client in (ana, bo) * 2:
            client.expect(API["Heartbeat"], 0, correlation_id=7)
            assert client.receive().message.error_code
        assert not broker.refusals


def test_large_frame_arrives_in_pieces_of_any_size() -> None:
    """Its buffer grows with it: what is read in the end is what was sent."""
    draw = Random(1)
    name = "x" * 30_000
    request = HeartbeatRequest("g", 1, name).encode(0) + bytes(3_000_000)
    frame = framed(encode_request_header(12, 0, 7, name, False) + request)
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        position = 0
        while position < len(frame):
            end = position + draw.choice((1, 1_000, 5_000, 70_000, 300_000, 1_500_000))
            ana.connection.send(frame[position:end])
            position = end
        ana.connection.send(framed(HEARTBEAT))
        for _ in range(2):
            ana.expect(API["Heartbeat"], 0, correlation_id=7)
            ana.receive()


def test_size_alone_costs_no_memory() -> None:
    """A thousand clients claim 100 MB each, and send a byte of it. Kafka would make room for all of them."""
    with serving() as broker, Client(broker.bootstrap) as bo:
        before_mib = memory_mib(broker.process.pid)
        clients = [Connection(broker.bootstrap) for _ in range(1_000)]
        for client in clients:
            client.send(framed(HEARTBEAT) + struct.pack(">ib", REQUEST_BYTES_MAX, 0))
            client.receive_frame()  # so the rest has arrived as well
        assert is_served(bo)
        assert memory_mib(broker.process.pid) - before_mib < 50
        for client in clients:
            client.close()


@every_loop
def test_what_was_asked_before_nonsense_is_answered(loop: Loop) -> None:
    """In one write: three requests, garbage, and a request that nobody looks at any more."""
    for garbage in (b"\xff\xff\xff\xff", framed(b"\xff" * 20), framed(HEARTBEAT[:-1])):
        with RunningBroker(loop) as broker, Client(broker.bootstrap) as ana:
            ana.connection.send(framed(HEARTBEAT) * 3 + garbage + framed(HEARTBEAT))
            for _ in range(3):
                ana.expect(API["Heartbeat"], 0, correlation_id=7)
                ana.receive()
            assert ends(ana.connection)
            assert len(broker.refusals) == 1


@every_loop
@pytest.mark.parametrize(
    ("key", "version", "reason"),
    [
        (99, 0, "api key 99 is not served"),
        (-1, 0, "api key -1 is not served"),
        (4, 0, "api key 4 is not served"),
        (12, 5, "Heartbeat v5 is not served, only v0–v4"),
        (12, -1, "Heartbeat v-1 is not served, only v0–v4"),
        (0, 2, "Produce v2 is not served, only v3–v13"),
    ],
)
def test_what_is_not_served_closes_with_its_name(loop: Loop, key: int, version: int, reason: str) -> None:
    """An unknown key, one that only brokers use, a version too old or too new."""
    with RunningBroker(loop) as broker, Client(broker.bootstrap) as bo, Connection(broker.bootstrap) as ana:
        ana.send_request(key, version, bytes(64), flexible=False)
        assert ends(ana)
        assert broker.refusals == [reason]
        assert is_served(bo)


@pytest.mark.parametrize("version", [6, 99, 32_767, -1])
def test_api_versions_of_the_future_is_told_the_present(version: int) -> None:
    """In the form of v0, with the one range that helps; the connection goes on. KIP-511."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        ana.send_body(API["ApiVersions"], version, b"\xff" * 40, answered_as=0)
        answer = ana.receive().message
        assert answer.error_code == 35  # UNSUPPORTED_VERSION
        assert [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys] == [(18, 0, 5)]
        assert is_served(ana)
        assert not broker.refusals


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_damaged_headers_are_answered_or_close_their_connection(seed: int) -> None:
    """Keys, versions, client ids, tags: whatever is hit, nothing of the broker's own fails."""
    draw = Random(seed)
    flexible = encode_request_header(60, 1, 7, "ana", True)
    with RunningBroker() as broker, Client(broker.bootstrap) as bo:
        for _ in range(300):
            header = damaged(draw, draw.choice((HEARTBEAT[:13], flexible)))
            body = draw.choice((HEARTBEAT[13:], DescribeClusterRequest().encode(1)))
            with Connection(broker.bootstrap) as ana:
                ana.send(framed(header + body))
                ana.end()
                hear_the_end(ana)
            assert not broker.failures, f"seed {seed}: {header.hex()}"
        assert is_served(bo)
        assert len(broker.refusals) > 100


def test_refusals_show_a_line_and_not_the_flood() -> None:
    """The log has how a frame began, not all of it."""
    with RunningBroker() as broker, Connection(broker.bootstrap) as ana:
        ana.send(framed(b"\xff" * 1_000_000))
        assert ends(ana)
        (refused,) = broker.log.named("connection.refused")
        assert len(repr(refused)) < 500
