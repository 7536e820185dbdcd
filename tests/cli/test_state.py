"""Looking, waiting and putting back from other languages and from a terminal: the control API, and three commands."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.control.api.snapshots import SNAPSHOTS_KEPT_MAX
from tests.cli.script import Script
from tests.cli.stage import begin_transaction, commit, create, join, produce
from tests.cli.terminal import PROGRAM, Serving, only_line, ottla, serving
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def broker() -> Iterator[Serving]:
    options = ("--control", "127.0.0.1:0", "--clock", "virtual", "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options) as running:
        yield running


@pytest.fixture
def script(broker: Serving) -> Iterator[Script[Serving]]:
    """A topic with ten records, and a group that has read seven of them."""
    script = Script(broker)
    with Client(broker.bootstrap, client_id="ana") as client:
        create(client, "orders", 1)
        produce(client, "orders", 0, 10)
        member_id = join(client, "kitchen", "orders", [0])
        commit(client, "kitchen", "orders", {0: 7}, member_id=member_id, generation_id=1)
        yield script
    assert script.ask("POST", "/reset", b"{}") == (200, {"topics": 0})


@pytest.fixture(scope="module")
def recorded() -> Iterator[Script[Serving]]:
    """A broker that records requests, and ana has joined and committed."""
    options = ("--control", "127.0.0.1:0", "--record-requests", "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options) as broker, Client(broker.bootstrap, client_id="ana") as client:
        create(client, "orders", 1)
        member_id = join(client, "kitchen", "orders", [0])
        commit(client, "kitchen", "orders", {0: 7}, member_id=member_id, generation_id=1)
        yield Script(broker)


def test_isolation_of_records_can_be_said(script: Script[Serving]) -> None:
    """Of what is read, and of what is waited for; another one is refused."""
    status, told = script.ask("GET", "/records/orders?isolation=read_uncommitted")
    assert (status, {record["transaction"] for record in told["records"]}) == (200, {None})
    assert script.ask("GET", "/records/orders?isolation=committed")[0] == 400
    assert script.ask("GET", "/records/orders?partition=0")[0] == 400
    wait = {"topic": "orders", "records": 1, "isolation": "read_uncommitted"}
    assert script.ask("POST", "/wait", json.dumps(wait).encode())[0] == 200
    assert script.ask("POST", "/wait", json.dumps({**wait, "isolation": "committed"}).encode())[0] == 400


def test_group_is_shown_whole(script: Script[Serving]) -> None:
    status, group = script.ask("GET", "/groups/kitchen")
    assert status == 200
    assert (group["state"], group["coordinator"], group["unassigned"]) == ("Stable", 1, [])
    assert group["members"][0]["assignment"] == {"orders": [0]}
    assert group["members"][0]["subscription"] == ["orders"]
    assert group["committed"] == [{"topic": "orders", "partition": 0, "offset": 7, "lag": 3}]
    assert group["uncommitted"] == []
    assert script.ask("GET", "/groups/no%20body")[1]["group_id"] == "no body"
    assert script.ask("GET", "/groups/nobody")[1]["state"] == "Dead"


def test_topic_and_its_records_are_shown(script: Script[Serving]) -> None:
    """One that is not there is answered with 404, and those that are."""
    assert script.ask("GET", "/topics/orders")[1]["partitions"][0]["high_watermark"] == 10
    assert [record["offset"] for record in script.ask("GET", "/records/orders")[1]["records"]] == list(range(10))
    for path in ("/topics/bills", "/records/bills"):
        status, answer = script.ask("GET", path)
        assert (status, answer) == (
            404,
            {"error": "there is no topic bills; the topics are: __consumer_offsets, orders"},
        )


def test_transactions_are_shown(script: Script[Serving], broker: Serving) -> None:
    """Where there are none, looking makes no topic for them; an id that nobody has is Dead."""
    assert script.ask("GET", "/transactions") == (200, {"transactions": []})
    assert script.ask("GET", "/transactions/no%20body")[1]["transactional_id"] == "no body"
    assert script.ask("GET", "/transactions/nobody")[1]["state"] == "Dead"
    assert script.ask("GET", "/topics/__transaction_state")[0] == 404
    with Client(broker.bootstrap, client_id="bo") as client:
        producer_id = begin_transaction(client, "bills", "orders")
    shown = script.ask("GET", "/transactions/bills")[1]
    assert (shown["state"], shown["producer_id"], shown["producer_epoch"]) == ("Ongoing", producer_id, 0)
    assert (shown["timeout_ms"], shown["coordinator"]) == (60_000, 1)
    assert shown["partitions"] == [{"topic": "orders", "partition": 0}]
    assert script.ask("GET", "/transactions") == (200, {"transactions": [shown]})
    wish = {"transactional_id": "bills", "state": "Ongoing"}
    assert script.ask("POST", "/wait", json.dumps(wish).encode())[0] == 200
    status, answer = script.ask("POST", "/wait", json.dumps({**wish, "state": "Empty", "timeout_ms": 0}).encode())
    assert (status, "; transactional id bills is Ongoing, of producer" in answer["error"]) == (409, True)


def test_connections_and_timeline_are_told(script: Script[Serving]) -> None:
    connections = script.ask("GET", "/connections")[1]["connections"]
    assert [connection["client_host"] for connection in connections] == ["/127.0.0.1"]
    timeline = script.ask("GET", "/timeline")[1]
    assert "rebalance started: member_joined" in timeline["text"]
    assert "group.rebalance.started" in [event["kind"] for event in timeline["events"]]


@pytest.mark.parametrize(
    ("wish", "waited_for"),
    [
        ({"group": "kitchen", "state": "Stable", "members": 1, "generation": 1, "lag": 3}, "group kitchen with state="),
        ({"group": "kitchen", "assigned": True}, "all of what group kitchen reads to be assigned"),
        (
            {"group": "kitchen", "topic": "orders", "partition": 0, "at_least": 7},
            "group kitchen to commit orders-0 up to",
        ),
        ({"topic": "orders", "records": 10}, "10 records in topic orders"),
        ({"idle": True}, "the broker to be idle"),
    ],
)
def test_wait_is_answered_when_it_is_so(script: Script[Serving], wish: dict[str, object], waited_for: str) -> None:
    status, answer = script.ask("POST", "/wait", json.dumps(wish).encode())
    assert status == 200
    assert answer["waited_for"].startswith(waited_for)


def test_wait_in_vain_is_answered_with_what_is_so(script: Script[Serving]) -> None:
    status, answer = script.ask("POST", "/wait", b'{"group": "kitchen", "members": 2, "timeout_ms": 0}')
    assert status == 409
    assert "in vain for group kitchen with members=2; group kitchen is Stable in generation 1" in answer["error"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"group": 3},
        {"group": "kitchen", "members": "2"},
        {"group": "kitchen", "membres": 2},
        {"group": "kitchen", "state": "Stabel"},
        {"group": "kitchen", "assigned": True, "members": 2},
        {"topic": "orders"},
        {"idle": False},
        {"idle": True, "timeout_ms": -1},
        {"idle": True, "timeout_ms": 99_999_999},
    ],
)
def test_wait_for_what_makes_no_sense_is_refused(script: Script[Serving], body: dict[str, object]) -> None:
    assert script.ask("POST", "/wait", json.dumps(body).encode())[0] == 400


def test_seed_is_planted(script: Script[Serving]) -> None:
    """Or refused: what makes no sense with 400, what Kafka would refuse with 409."""
    entries = [{"topic": "bills", "value_base64": "/w=="}, {"group": "office", "topic": "bills", "offset": 1}]
    assert script.ask("POST", "/seed", json.dumps({"entries": entries}).encode()) == (200, {"entries": 2})
    assert script.ask("GET", "/records/bills")[1]["records"][0]["value"] == {"base64": "/w=="}
    assert script.ask("GET", "/groups/office")[1]["committed"][0]["offset"] == 1
    for entry, status, said in (
        ({"partitions": 3}, 400, "entry 1: topic is missing"),
        (
            {"topic": "bills"},
            409,
            "entry 1: topic bills is refused: TOPIC_ALREADY_EXISTS: Topic 'bills' already exists.",
        ),
    ):
        assert script.ask("POST", "/seed", json.dumps({"entries": [entry]}).encode()) == (status, {"error": said})


def test_path_that_takes_something_else_says_so(script: Script[Serving]) -> None:
    assert script.ask("POST", "/groups/kitchen", b"{}")[0] == 405
    assert script.ask("GET", "/groups/kitchen/members")[0] == 404


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kitchen", "--members", "1", "--state", "Stable"], "group kitchen with state='Stable', members=1"),
        (["kitchen", "--assigned"], "all of what group kitchen reads to be assigned"),
        (
            ["kitchen", "--committed", "orders-0", "--at-least", "7"],
            "group kitchen to commit orders-0 up to 7 or later",
        ),
        (["--topic", "orders", "--records", "10"], "10 records in topic orders"),
        (["--idle"], "the broker to be idle"),
    ],
)
def test_people_wait_at_a_terminal(script: Script[Serving], arguments: list[str], said: str) -> None:
    ended = ottla("wait", *arguments, "--control", script.broker.control)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert only_line(ended.stdout) == f"waited for {said}"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["kitchen", "--members", "2", "--timeout", "0"], 1, "with 1 member: ana-"),
        ([], 2, "say what to wait for"),
        (["kitchen", "--committed", "orders"], 2, "--committed is TOPIC-PARTITION, such as orders-0, not orders"),
        (["kitchen", "--timeout", "99"], 2, "--timeout is from 0 to 25 seconds, not 99"),
        (["--topic", "orders"], 2, "the body says what to wait for"),
    ],
)
def test_waiting_in_vain_has_an_exit_code(
    script: Script[Serving], arguments: list[str], exit_code: int, said: str
) -> None:
    """1: it was not in time; 2: it makes no sense."""
    ended = ottla("wait", *arguments, "--control", script.broker.control)
    assert (ended.returncode, ended.stdout) == (exit_code, "")
    assert said in only_line(ended.stderr)


def test_people_reset_at_a_terminal(script: Script[Serving]) -> None:
    ended = ottla("reset", "--control", script.broker.control)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the broker is as it was at its start\n", "")
    assert script.ask("GET", "/topics/orders")[0] == 404
    assert script.ask("GET", "/groups/kitchen")[1]["state"] == "Dead"


def test_snapshot_is_gone_back_to_as_often_as_one_likes(script: Script[Serving]) -> None:
    """Also after a reset: topic, records, group and what it has committed."""
    status, taken = script.ask("POST", "/snapshot", b"{}")
    assert status == 200
    wish = json.dumps(taken).encode()
    for _ in range(2):
        assert script.ask("POST", "/reset", b"{}") == (200, {"topics": 0})
        assert script.ask("POST", "/restore", wish) == (200, {"topics": 2})
        assert len(script.ask("GET", "/records/orders")[1]["records"]) == 10
        group = script.ask("GET", "/groups/kitchen")[1]
        assert group["committed"] == [{"topic": "orders", "partition": 0, "offset": 7, "lag": 3}]


def test_snapshots_taken_last_are_kept(script: Script[Serving]) -> None:
    """When there is one more, the oldest goes; a sentence names those there are."""
    taken = [script.ask("POST", "/snapshot", b"{}")[1]["snapshot"] for _ in range(SNAPSHOTS_KEPT_MAX + 1)]
    status, answer = script.ask("POST", "/restore", json.dumps({"snapshot": taken[0]}).encode())
    kept = ", ".join(map(str, taken[1:]))
    assert (status, answer["error"]) == (
        404,
        f"there is no snapshot {taken[0]}; those kept, {SNAPSHOTS_KEPT_MAX} at most and together no more than "
        f"ottla.log.bytes.max, are: {kept}",
    )
    assert script.ask("POST", "/restore", json.dumps({"snapshot": taken[1]}).encode())[0] == 200


def test_snapshots_hold_no_more_together_than_logs_may() -> None:
    """The oldest go; the last one stays whatever it holds."""
    with serving("--control", "127.0.0.1:0", "--set", "ottla.log.bytes.max=100000") as broker:
        script, taken = Script(broker), []
        for _ in range(3):
            entries = [{"topic": "orders", "value": "x" * 40_000}]
            assert script.ask("POST", "/seed", json.dumps({"entries": entries}).encode())[0] == 200
            taken.append(script.ask("POST", "/snapshot", b"{}")[1]["snapshot"])
            assert script.ask("POST", "/reset", b"{}")[0] == 200
        status = [script.ask("POST", "/restore", json.dumps({"snapshot": one}).encode())[0] for one in taken]
    assert status == [404, 200, 200]


def test_snapshots_of_logs_on_disk_are_refused(tmp_path: Path) -> None:
    """Even if there are none yet: what can't be restored is not taken."""
    with serving("--control", "127.0.0.1:0", "--data-dir", str(tmp_path / "data")) as broker:
        status, answer = Script(broker).ask("POST", "/snapshot", b"{}")
    assert status == 409
    assert "keep their logs in memory" in answer["error"]


def test_requests_are_shown_decoded(recorded: Script[Serving]) -> None:
    """By API, group and client, with what was answered."""
    status, answer = recorded.ask("GET", "/requests?api=OffsetCommit&group_id=kitchen&client_id=an*")
    assert (status, answer["has_all"]) == (200, True)
    (commit,) = answer["requests"]
    assert (commit["client_id"], commit["is_answered"], commit["errors"]) == ("ana", True, [])
    assert commit["request"]["topics"][0]["partitions"][0]["committed_offset"] == 7
    assert commit["answer"]["topics"][0]["partitions"][0]["error_code"] == "NONE (0)"
    apis = [request["api"] for request in recorded.get("/requests?api=*Group")["requests"]]
    assert apis == ["JoinGroup", "SyncGroup"]
    for other in ("group_id=office", "client_id=bo", "api=Fetch"):
        assert recorded.get(f"/requests?{other}") == {"has_all": True, "requests": []}


@pytest.mark.parametrize("query", ["api=Commit", "topic=orders", "api=Fetch&api=Produce"])
def test_requests_that_can_not_be_sought_are_refused(recorded: Script[Serving], query: str) -> None:
    assert recorded.ask("GET", f"/requests?{query}")[0] == 400


def test_requests_that_are_not_recorded_are_refused(script: Script[Serving]) -> None:
    """With the option that it takes."""
    status, answer = script.ask("GET", "/requests")
    assert status == 409
    assert "--record-requests" in answer["error"]


def test_people_see_and_follow_what_happens_at_a_terminal(script: Script[Serving]) -> None:
    """A table of what happened; then a line for each event, until Ctrl-C."""
    control = ("--control", script.broker.control)
    table = ottla("events", *control).stdout
    assert table.splitlines()[0].split() == ["real", "broker", "group", "member", "what", "happened"]
    assert "rebalance started: member_joined" in table
    following = subprocess.Popen(
        [PROGRAM, "events", "--follow", "--kind", "time.*", *control], stdout=subprocess.PIPE, text=True
    )
    assert following.stdout is not None
    with following:
        line = ""
        while not line:  # it may not have begun yet: then the next one is what it tells
            script.ask("POST", "/clock/advance", b'{"ms": 1}')
            line = following.stdout.readline() if _is_readable(following) else ""
        event = json.loads(line)
        assert (event["kind"], event["details"]) == ("time.advanced", {"ms": 1})
        following.send_signal(signal.SIGINT)
        assert following.wait(PATIENCE_SECONDS) != 0
    ended = ottla("events", "--follow", "--kind", "nothing.*", *control)
    assert ended.returncode == 2
    assert "no kind of event is called 'nothing.*'" in only_line(ended.stderr)


def _is_readable(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout.fileno()], [], [], 0.2)[0])
