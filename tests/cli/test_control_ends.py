"""How requests to the control API end that don't end well: they take nobody with them."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import pytest

from ottla.broker.lifecycle import sockets
from ottla.control.api import control
from ottla.control.api.route import Route
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.purgatory import VirtualClock
from tests.cli.script import GET, POST, Script, read_all
from tests.cli.stage import find_coordinator
from tests.cli.terminal import SECONDS_MAX, Serving, serving, until
from tests.cli.unread import fill_with_unread_answers
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

SESSION_MS = 2**31 - 1
#: Two nodes, and sessions as long as one likes.
BUSY = (
    *("--control", "127.0.0.1:0", "--clock", "virtual", "--nodes", "2"),
    *("--set", f"group.max.session.timeout.ms={SESSION_MS}", "--set", "group.initial.rebalance.delay.ms=0"),
)
DAYS_366 = b'{"ms": 31622400000}'


def post(path: str, body: bytes) -> bytes:
    return POST.replace(b"/clock/advance", path.encode()) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def reset(client: socket.socket) -> None:
    """Go away as a process does that is killed with something unread."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def until_full(write: Callable[[], object]) -> None:
    """Write as long as there is room."""
    with suppress(BlockingIOError):
        while True:
            write()


@contextmanager
def busy() -> Iterator[Script[Serving]]:
    """A broker on which it takes long to move the clock by a day: a static member does not rejoin, so its group waits
    for it, a millisecond at a time, until its session ends.
    """
    with serving(*BUSY) as broker, Client(broker.bootstrap) as client:
        script, protocols = Script(broker), [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
        coordinator = find_coordinator(client, "kitchen")
        with Client(f"{coordinator.host}:{coordinator.port}") as member:
            joined = member.ask(JoinGroupRequest("kitchen", SESSION_MS, 1, "", "ana", "consumer", protocols), 5)
            synced = member.ask(SyncGroupRequest("kitchen", 1, joined.member_id, "ana"), 3)
        assert synced.error_code == ErrorCode.NONE
        assert script.ask("POST", "/groups/rebalance", b'{"group_id": "kitchen"}')[0] == HTTPStatus.OK
        yield script


def until_moving(script: Script[Serving]) -> None:
    before_ms = script.get("/clock")["now_ms"]
    until(lambda: script.get("/clock")["now_ms"] > before_ms, "the clock moves")


# ── Connections that go ───────────────────────────────────────────────────────────────────────────────────────────────


def test_reset_before_an_advance_is_answered_ends_that_connection_alone() -> None:
    """The clock moves on to where it was told to, and nobody calls it a failure."""
    with busy() as script:
        with script.raw() as client:
            client.sendall(post("/clock/advance", b'{"ms": 20000}'))
            until_moving(script)
            reset(client)
        until(lambda: script.get("/clock")["now_ms"] >= 20_000, "the clock has been moved")
        assert script.advance(1)["now_ms"] >= 20_001
        assert script.broker.stop() == 0
        assert "control.failed" not in script.broker.stderr()


def test_reset_before_a_stopped_node_is_told_of_ends_that_connection_alone() -> None:
    """The node waits for a client to take its answers; who wanted it stopped is gone when it has."""
    with serving(*BUSY) as broker:
        script = Script(broker)
        with Client(broker.bootstrap) as client, script.raw() as asking:
            fill_with_unread_answers(client, 20_000_000)
            asking.sendall(post("/nodes/stop", b'{"node_id": 1}'))
            broker.until_logged("node.stopped")
            reset(asking)
        assert script.ask("POST", "/nodes/start", b'{"node_id": 1}')[0] == HTTPStatus.OK
        assert broker.stop() == 0
        assert "control.failed" not in broker.stderr()


# ── Bugs of ours ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def fails(_control: object, _body: bytes) -> Any:
    raise ZeroDivisionError("on purpose")


async def says_what_no_json_has(_control: object, _body: bytes) -> Any:
    return {"set": {1}}


@pytest.mark.parametrize("answer", [fails, says_what_no_json_has])
def test_request_that_fails_is_answered_500_and_ends_alone(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is handled, or while its answer is written; the connection is good for another request."""
    monkeypatch.setitem(control._ROUTES, ("GET", "/health"), Route("GET", "/health", "", answer))
    with RunningBroker(may_fail=True, with_control=True) as broker:
        with Script(broker).raw() as client:
            client.sendall(GET.replace(b"clock", b"health") + b"\r\n" + GET + b"Connection: close\r\n\r\n")
            said = read_all(client)
        assert [line.split()[1] for line in said.splitlines() if line.startswith(b"HTTP/1.1 ")] == [b"500", b"200"]
        (failed,) = broker.log.named("control.failed")
        assert (failed["method"], failed["path"]) == ("GET", "/health")


def test_connection_that_fails_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of its task raises."""
    monkeypatch.setattr("ottla.control.api.http.Conversation.send", fails)
    with RunningBroker(may_fail=True, with_control=True) as broker:
        script = Script(broker)
        with script.raw() as client:
            client.sendall(GET + b"\r\n")
            assert read_all(client) == b""
        monkeypatch.undo()
        assert script.get("/health")["status"] == "ok"
        (failed,) = broker.log.named("control.failed")
        assert "fails" in failed["traceback"]


# ── The broker's end ──────────────────────────────────────────────────────────────────────────────────────────────────


STOPPING = (503, {"error": "the broker is being stopped"})


def ask_without_waiting(script: Script[Serving], path: str, body: bytes) -> socket.socket:
    """Ask, and return when the broker has taken it up: it is asked in the order of what comes to it."""
    asking = script.raw()
    asking.sendall(post(path, body))
    script.get("/clock")
    return asking


def answer_to(asking: socket.socket) -> tuple[int, Any]:
    """Status and what is said, when the connection is closed."""
    with asking:
        head, _, body = read_all(asking).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_cuts_an_advance_short(number: signal.Signals) -> None:
    """Who asked for it, and who waits behind it, is told; the exit is orderly."""
    with busy() as script:
        asked = [ask_without_waiting(script, "/clock/advance", DAYS_366) for _ in range(2)]
        until_moving(script)
        script.broker.process.send_signal(number)
        assert [answer_to(asking) for asking in asked] == [STOPPING, STOPPING]
        assert script.broker.process.wait(SECONDS_MAX) == 0
        assert [event["event"] for event in script.broker.logged()][-1] == "broker.stopped"


def test_signal_while_a_node_is_being_stopped_is_an_orderly_end_too() -> None:
    """The node is stopped, what waits behind is not begun."""
    with serving(*BUSY) as broker, Client(broker.bootstrap) as client:
        script = Script(broker)
        fill_with_unread_answers(client, 20_000_000)
        stopping = ask_without_waiting(script, "/nodes/stop", b'{"node_id": 1}')
        starting = ask_without_waiting(script, "/nodes/start", b'{"node_id": 1}')
        broker.process.terminate()
        broker.until_logged("broker.stop.requested")
        client.close()
        assert answer_to(stopping)[0] == HTTPStatus.OK
        assert answer_to(starting) == STOPPING
        assert broker.process.wait(SECONDS_MAX) == 0


def test_script_that_takes_no_answers_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has as long as clients have; and who has said half a request has no time at all."""
    monkeypatch.setattr(sockets, "FLUSH_SECONDS_MAX", 0.05)
    with RunningBroker(with_control=True, clock=VirtualClock()) as broker:
        script = Script(broker)
        with script.raw() as greedy, script.raw() as slow:
            slow.sendall(POST + b"Content-Length: 9\r\n\r\n{")
            greedy.setblocking(False)
            until_full(lambda: greedy.send(GET.replace(b"/clock", b"/") + b"\r\n"))
            broker.stop()


def test_second_signal_ends_a_broker_whose_loop_is_held() -> None:
    """By a log that nobody reads, here: the first signal's own line waits for ever."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    until_full(lambda: os.write(writing, bytes(1)))
    os.set_blocking(writing, True)
    try:
        with serving(stderr=writing) as broker:
            broker.process.send_signal(signal.SIGTERM)
            broker.process.send_signal(signal.SIGINT)
            assert broker.process.wait(SECONDS_MAX) == 1
    finally:
        os.close(reading)
        os.close(writing)
