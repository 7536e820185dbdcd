"""The control API over HTTP, as a script in any language has it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.control.api.clock_verbs import ADVANCE_MS_MAX
from ottla.control.api.control import ROUTES
from ottla.control.api.http import BODY_BYTES_MAX, CONNECTIONS_MAX
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.cli.script import GET, POST, Script, read_all
from tests.cli.stage import join
from tests.cli.terminal import Serving, serving, until
from tests.support.client import Client

DOCS = Path(__file__).parents[2] / "docs" / "control.md"


@pytest.fixture(scope="module")
def virtual() -> Iterator[Script[Serving]]:
    """A broker whose time stands still."""
    with serving("--control", "127.0.0.1:0", "--clock", "virtual", "--nodes", "2") as broker:
        yield Script(broker)


# ── What can be asked ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_health_says_where_the_nodes_are(virtual: Script[Serving]) -> None:
    """What to give to clients, and every node."""
    health = virtual.get("/health")
    assert health["status"] == "ok"
    assert [f"{node['host']}:{node['port']}" for node in health["nodes"]] == health["bootstrap_servers"].split(",")
    assert [node["node_id"] for node in health["nodes"]] == [1, 2]


def test_list_has_everything_there_is(virtual: Script[Serving]) -> None:
    """GET / lists each route, and each of them answers; those that take something known are in test_openapi.py."""
    listed = [(route["method"], route["path"]) for route in virtual.get("/")["routes"]]
    assert listed == [(route.method, route.path) for route in ROUTES]
    for method, path in listed:
        if "{" in path or path.startswith(("/events", "/faults", "/holds", "/wait", "/seed", "/reset", "/requests")):
            # test_control_events.py, test_openapi.py, test_state.py
            continue
        body = b'{"node_id": 1}' if path.startswith("/nodes") else b'{"ms": 0}'
        assert virtual.ask(method, path, body)[0] in (200, 400)


def test_silent_member_is_expelled_when_the_clock_is_moved_and_groups_tell_why() -> None:
    """The story of a session timeout, in no time: 45 s pass on the virtual clock and nowhere else."""
    options = ("--control", "127.0.0.1:0", "--clock", "virtual", "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options) as broker, Client(broker.bootstrap, client_id="ana") as client:
        script = Script(broker)
        member_id = join(client, "orders", "orders", [0])
        (group,) = script.get("/groups")["groups"]
        assert (group["state"], group["leader"], group["coordinator"]) == ("Stable", member_id, 1)
        assert [member["client_id"] for member in group["members"]] == ["ana"]
        assert group["last_rebalance"]["cause"] == "member_joined"

        before_ms = script.get("/clock")["now_ms"]
        assert script.advance(44_999)["now_ms"] == before_ms + 44_999
        assert script.get("/groups")["groups"][0]["state"] == "Stable"
        script.advance(1)
        (group,) = script.get("/groups")["groups"]
        assert (group["state"], group["members"]) == ("Empty", [])
        assert group["last_rebalance"]["cause"] == "session_expired"
        assert group["last_rebalance"]["member_id"] == member_id
        assert group["last_rebalance"]["generation_id"] == 2


def test_counters_count(virtual: Script[Serving]) -> None:
    """A connected client, its topics, and the purgatories of groups, of transactional ids, and of parked requests."""
    with Client(virtual.broker.bootstrap) as client:
        assert client.ask(FindCoordinatorRequest("counted"), 1).error_code == ErrorCode.NONE
        assert virtual.get("/transactions") == {"transactions": []}
        counters = virtual.get("/counters")
    assert counters["connections"]["1"] >= 1
    assert (counters["topics"], counters["partitions"]) == (1, 50)
    names = [(purgatory["name"], purgatory["node_id"]) for purgatory in counters["purgatories"]]
    of_nodes = {(name, node_id) for name in ("Heartbeat", "Rebalance", "Transactions") for node_id in (1, 2)}
    assert (set(names[:-2]), names[-2:]) == (of_nodes, [("Produce", None), ("Fetch", None)])


# ── Nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def states(answer: Any) -> dict[int, str]:
    return {node["node_id"]: node["state"] for node in answer["nodes"]}


def test_nodes_are_stopped_and_started_while_the_rest_serves() -> None:
    """One dies and is missed when the clock has been moved; one leaves; both come back where they were."""
    with serving("--control", "127.0.0.1:0", "--clock", "virtual", "--nodes", "3") as broker:
        script = Script(broker)
        before = script.get("/nodes")
        assert (before["controller_id"], states(before)) == (1, {1: "up", 2: "up", 3: "up"})

        status, answer = script.ask("POST", "/nodes/stop", b'{"node_id": 1, "hard": true}')
        assert (status, states(answer)) == (200, {1: "silent", 2: "up", 3: "up"})
        script.advance(100)
        answer = script.get("/nodes")
        assert (answer["controller_id"], states(answer)) == (2, {1: "down", 2: "up", 3: "up"})
        assert [node["node_id"] for node in script.get("/health")["nodes"]] == [2, 3]

        status, answer = script.ask("POST", "/nodes/stop", b'{"node_id": 2}')
        assert (status, states(answer)) == (200, {1: "down", 2: "down", 3: "up"})
        for node_id in (1, 2):
            assert script.ask("POST", "/nodes/start", b'{"node_id": %d}' % node_id)[0] == 200
        assert script.get("/nodes") == before
        for node in before["nodes"]:
            with Client(f"{node['host']}:{node['port']}") as client:
                assert client.ask(FindCoordinatorRequest("a"), 1).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b'{"node": 1}', 400),
        (b'{"node_id": "1"}', 400),
        (b'{"node_id": true}', 400),
        (b'{"node_id": 1, "hard": 1}', 400),
        (b'{"node_id": 1, "soft": true}', 400),
        (b'{"node_id": 7}', 404),
    ],
    ids=str,
)
def test_a_node_that_is_none_is_not_stopped(virtual: Script[Serving], body: bytes, status: int) -> None:
    """A sentence says what is wrong."""
    got, answer = virtual.ask("POST", "/nodes/stop", body)
    assert got == status
    assert "node" in answer["error"]
    assert states(virtual.get("/nodes")) == {1: "up", 2: "up"}


# ── The clock ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_advances_at_the_same_time_are_done_one_after_the_other(virtual: Script[Serving]) -> None:
    """None gets lost, none is refused."""
    before_ms = virtual.get("/clock")["now_ms"]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(virtual.advance, [1000] * 40))
    assert max(answer["now_ms"] for answer in answers) == before_ms + 40_000
    assert virtual.get("/clock")["now_ms"] == before_ms + 40_000


def test_both_times_move_by_the_same_amount(virtual: Script[Serving]) -> None:
    """The date and the clock of deadlines."""
    before = virtual.get("/clock")
    after = virtual.advance(86_400_000)
    assert after["clock"] == "virtual"
    assert after["now_ms"] - before["now_ms"] == after["wall_ms"] - before["wall_ms"] == 86_400_000


def test_clock_that_jumps_by_itself_ends_the_session_of_a_silent_member() -> None:
    """A second member waits for ana, who never beats, until 45 s are over."""
    options = ("--control", "127.0.0.1:0", "--clock", "auto", "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options) as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        script = Script(broker)
        before = script.get("/clock")
        silent_id = join(ana, "orders", "orders", [0])
        join(bo, "orders", "orders", [0])
        after = script.get("/clock")
        timeline = script.get("/timeline")["events"]
    assert before["clock"] == after["clock"] == "auto"
    assert after["now_ms"] - before["now_ms"] >= 45_000
    expired = [event for event in timeline if event["details"].get("cause") == "session_expired"]
    assert {event["details"]["member_id"] for event in expired} == {silent_id}


def test_system_clock_cannot_be_moved() -> None:
    """409, and a sentence that says which option it takes."""
    with serving("--control", "127.0.0.1:0") as broker:
        script = Script(broker)
        assert script.get("/clock")["clock"] == "system"
        status, answer = script.ask("POST", "/clock/advance", b'{"ms": 1}')
        assert status == 409
        assert "--clock virtual" in answer["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"45000",
        b"{",
        b"{}",
        b"\xff\xfe",
        b'{"ms": 1, "s": 2}',
        b'{"ms": "1"}',
        b'{"ms": 1.5}',
        b'{"ms": true}',
        b'{"ms": -1}',
        b'{"ms": null}',
        b'{"ms": %d}' % (ADVANCE_MS_MAX + 1),
        b"[" * 60_000,
    ],
    ids=lambda body: str(body[:20]),
)
def test_an_advance_that_makes_no_sense_is_a_400_with_a_sentence(virtual: Script[Serving], body: bytes) -> None:
    """Time does not move for it."""
    before_ms = virtual.get("/clock")["now_ms"]
    status, answer = virtual.ask("POST", "/clock/advance", body)
    assert status == 400
    assert "ms" in answer["error"]
    assert virtual.get("/clock")["now_ms"] == before_ms


# ── HTTP ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/no/such", 404, "GET / lists what there is"),
        ("GET", "/clock/advance", 405, "/clock/advance takes POST, not GET"),
        ("DELETE", "/groups", 405, "/groups takes GET, not DELETE"),
        ("GET", "/groups?state=Stable", 200, ""),
    ],
)
def test_what_there_is_not_is_told(virtual: Script[Serving], method: str, path: str, status: int, said: str) -> None:
    """A path of another name or method; a query is passed over."""
    got, answer = virtual.ask(method, path)
    assert got == status
    assert said in answer.get("error", "")


def test_one_connection_takes_many_requests(virtual: Script[Serving]) -> None:
    """It is kept alive, also after a refusal."""
    connection = virtual.connect()
    for path, status in (("/health", 200), ("/nix", 404), ("/clock", 200)):
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()


def test_requests_sent_together_are_answered_in_order(virtual: Script[Serving]) -> None:
    """HTTP pipelining."""
    with virtual.raw() as client:
        client.sendall(GET + b"\r\n" + GET.replace(b"clock", b"nix") + b"Connection: close\r\n\r\n")
        said = read_all(client)
    assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"200", b"404"]


def test_head_has_the_head_of_the_answer_only(virtual: Script[Serving]) -> None:
    """As health checks ask."""
    connection = virtual.connect()
    connection.request("HEAD", "/health")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connection.close()


def test_client_that_asks_before_sending_its_body_is_told_to_go_on(virtual: Script[Serving]) -> None:
    """Expect: 100-continue, as curl does with larger bodies."""
    with virtual.raw() as client:
        head = POST + b"Content-Length: 8\r\nExpect: 100-continue\r\n\r\n"
        client.sendall(head)
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(b'{"ms":0}')
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"\x00\x00\x00\x10\x00\x12\x00\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # without Host
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (
            POST + b"Content-Length: 99999\r\n\r\n" + b"x" * 99_999,
            413,
        ),
        (
            POST + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + b"x" * 99_999,
            413,
        ),
    ],
    ids=["no_http", "no_host", "bad_length", "large_head", "large_body", "large_chunk"],
)
def test_what_is_no_request_is_answered_with_a_sentence_and_the_end(
    virtual: Script[Serving], said: bytes, status: int
) -> None:
    """The connection is closed, and the next one is served."""
    with virtual.raw() as client:
        client.sendall(said)
        head, _, body = read_all(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["error"]
    assert virtual.get("/health")["status"] == "ok"


#: What a conversation may consist of, right and wrong.
_FRAGMENTS = (
    GET + b"\r\n",
    b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /clock HTTP/1.0\r\n\r\n",
    POST + b"Content-Length: 8\r\n\r\n",
    b'{"ms":0}',
    POST + b"Transfer-Encoding: chunked\r\n\r\n",
    b'8\r\n{"ms":0}\r\n0\r\n\r\n',
    b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /clock HTTP/1.1\r\nHost: localhost\r\nUpgrade: b\r\nConnection: upgrade\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n",
    b"nonsense\r\n\r\n",
    b"\x00",
)


@given(conversation=st.lists(st.sampled_from(_FRAGMENTS) | st.binary(max_size=20), max_size=6))
def test_no_conversation_ends_the_broker(virtual: Script[Serving], conversation: list[bytes]) -> None:
    """Whatever is said, in whatever order: it is answered or closed, without a failure of ours, and others go on."""
    with virtual.raw() as client:
        client.sendall(b"".join(conversation))
        client.shutdown(socket.SHUT_WR)
        answers = read_all(client)
    assert answers == b"" or answers.startswith(b"HTTP/1.1 ")
    assert virtual.get("/health")["status"] == "ok"
    assert "control.failed" not in virtual.broker.stderr()


def test_a_body_as_large_as_allowed_is_read(virtual: Script[Serving]) -> None:
    """White space around the object counts as body."""
    status, _ = virtual.ask("POST", "/clock/advance", b'{"ms": 0}'.ljust(BODY_BYTES_MAX))
    assert status == 200


def test_a_client_that_goes_away_in_the_middle_disturbs_nobody(virtual: Script[Serving]) -> None:
    """Half a head, half a body, or before the answer."""
    for beginning in (
        b"GET /hea",
        POST + b"Content-Length: 8\r\n\r\n{",
        b"GET /groups HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with virtual.raw() as client:
            client.sendall(beginning)
    assert virtual.get("/health")["status"] == "ok"


def test_connections_that_ask_nothing_make_room_for_one_that_does() -> None:
    """A script that leaves them open locks nobody out, be they silent or in the middle of a request."""
    with serving("--control", "127.0.0.1:0") as broker:
        script = Script(broker)
        clients = [script.raw() for _ in range(CONNECTIONS_MAX)]
        for client in clients:  # each is served, so all of them have been accepted
            client.sendall(GET + b"\r\n")
            assert client.recv(1)
        clients[1].sendall(GET)
        for _ in range(3):
            assert script.get("/health")["status"] == "ok"
        for client in clients:
            client.close()


def test_a_connection_beyond_the_bound_is_told_why() -> None:
    """While all others wait for an answer. It comes as HTTP, whatever was asked; and the log says it once."""
    wait = json.dumps({"group": "kitchen", "state": "Stable", "timeout_ms": 20_000}).encode()
    head = f"POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(wait)}"
    with serving("--control", "127.0.0.1:0") as broker:
        script, clients = Script(broker), list[socket.socket]()

        def is_full() -> bool:
            clients.append(script.raw())
            clients[-1].sendall(head.encode() + b"\r\n\r\n" + wait)
            if len(clients) <= CONNECTIONS_MAX:
                return False
            status, answer = script.ask("GET", "/health")  # takes the place of one whose request has not been read yet
            return status == 503 and answer["error"].startswith(f"the control API has {CONNECTIONS_MAX} connections")

        until(is_full, "the control API is full")
        broker.until_logged("control.full")
        for client in clients:
            client.close()
        assert [event["what"] for event in broker.logged() if event["event"] == "control.full"] == ["connections"]


def test_stopping_ends_open_conversations() -> None:
    """A script with a connection open doesn't hold up the broker's end."""
    with serving("--control", "127.0.0.1:0") as broker, Script(broker).raw() as client:
        client.sendall(GET + b"\r\n")
        assert client.recv(1)
        assert broker.stop() == 0


# ── The page ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def keys(value: Any) -> Any:
    """The shape of an answer: its keys, at every depth."""
    if isinstance(value, dict):
        return {key: keys(item) for key, item in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value else None


def samples() -> dict[str, Any]:
    """The JSON of docs/control.md, by the request it answers."""
    found = {}
    for section in DOCS.read_text().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if not title.startswith(("GET ", "POST ")):
            continue
        (sample,) = re.findall(r"```json\n(.*?)```|^\$ curl [^\n]*\n(\{.*?\})\n```", text, re.DOTALL | re.MULTILINE)
        found[title] = json.loads("".join(sample))
    return found


def test_page_lists_every_route() -> None:
    """docs/control.md has a row for each."""
    rows = re.findall(r"^\| `(\w+) (\S+)` \|", DOCS.read_text(), re.MULTILINE)
    assert rows == [(route.method, route.path) for route in ROUTES]


def test_samples_of_the_page_have_the_keys_of_real_answers() -> None:
    """Who writes a script by the page gets what it shows."""
    options = ("--control", "127.0.0.1:0", "--clock", "virtual", "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options) as broker, Client(broker.bootstrap) as client:
        join(client, "billing", "orders", [0])
        script = Script(broker)
        for title, sample in samples().items():
            for request in title.split(", "):
                method, _, path = request.partition(" ")
                body = b'{"node_id": 1}' if path.startswith("/nodes") else b'{"ms": 1}'
                status, answer = script.ask(method, path, body if method == "POST" else None)
                assert status == 200
                assert keys(answer) == keys(sample), title
