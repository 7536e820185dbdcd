"""Faults and held requests over HTTP, as a test in any language has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from tests.cli.script import Script
from tests.cli.terminal import Serving, serving
from tests.control.faults.scene import create
from tests.support.client import Client

DOCS: Final = Path(__file__).parents[2] / "docs" / "control.md"


@pytest.fixture(scope="module")
def broker() -> Iterator[Serving]:
    with serving("--control", "127.0.0.1:0", "--clock", "virtual") as broker:
        yield broker


@pytest.fixture
def script(broker: Serving) -> Iterator[Script[Serving]]:
    """For a broker in which nothing goes wrong at first."""
    script = Script(broker)
    yield script
    assert script.ask("DELETE", "/faults")[0] == 200


def post(script: Script[Serving], path: str, **wish: Any) -> Any:
    """What is answered when all is well."""
    status, answer = script.ask("POST", path, json.dumps(wish).encode())
    assert status == 200, answer
    return answer


def metadata(topic: str) -> MetadataRequest:
    return MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)], False)


def test_fault_is_set_and_seen_to_happen(script: Script[Serving]) -> None:
    """And waited for, by somebody who asks before it has."""
    fault = post(script, "/faults", api="ListGroups", client_id="ana", answer="COORDINATOR_NOT_AVAILABLE", times=2)
    fault_id = fault["fault_id"]
    assert (fault["hits"], fault["seen_instead"]) == (0, "no request came at all")
    with Client(script.broker.bootstrap, client_id="ana") as client:
        for _ in range(2):
            assert client.ask(ListGroupsRequest(), 1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert client.ask(ListGroupsRequest(), 1).error_code == ErrorCode.NONE
    waited = post(script, "/faults/wait", fault_id=fault_id, count=2)
    assert (waited["hits"], waited["is_spent"], waited["seen_instead"]) == (2, True, None)
    shown = script.get(f"/faults/{fault_id}")
    assert [(hit["api"], hit["client_id"]) for hit in shown["last_hits"]] == [("ListGroups", "ana")] * 2
    assert script.get("/faults")["faults"] == [waited]
    assert script.ask("DELETE", f"/faults/{fault_id}") == (200, waited)
    assert script.get("/faults") == {"faults": []}


def test_requests_are_held_seen_changed_and_decided_about(script: Script[Serving]) -> None:
    hold_id = post(script, "/holds", api="Metadata", client_id="ana")["fault_id"]
    clients = [Client(script.broker.bootstrap, client_id="ana") for _ in range(4)]
    for number, client in enumerate(clients, 1):
        client.send(metadata(f"topic-{number}"), 4)
        post(script, "/holds/wait", fault_id=hold_id, count=number)
    (hold,) = script.get("/holds")["holds"]
    assert [(held["number"], held["state"]) for held in hold["held"]] == [(n, "held") for n in (1, 2, 3, 4)]
    assert [held["request"]["topics"][0]["name"] for held in hold["held"]] == [f"topic-{n}" for n in (1, 2, 3, 4)]
    assert post(script, "/holds/refuse", fault_id=hold_id, number=3, error="NOT_CONTROLLER")["state"] == "refused"
    assert clients[2].receive().message.topics[0].error_code == ErrorCode.NOT_CONTROLLER
    changed = post(script, "/holds/let_go", fault_id=hold_id, change={"allow_auto_topic_creation": True})
    assert (changed["number"], changed["state"]) == (1, "let go")
    assert changed["request"]["allow_auto_topic_creation"] is True
    assert clients[0].receive().message.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # not made yet
    assert post(script, "/holds/lose", fault_id=hold_id)["number"] == 2
    assert script.ask("DELETE", f"/holds/{hold_id}")[0] == 200
    assert clients[3].receive().message.topics[0].name == "topic-4"
    assert not clients[1].connection.has_received
    for client in clients:
        client.close()


REFUSED: Final[list[tuple[str, str, Any, int, str]]] = [
    ("POST", "/faults", {"api": "Prodcue", "delay": 1}, 400, "there is no API 'Prodcue'; did you mean Produce?"),
    ("POST", "/faults", [], 400, "the body is an object"),
    ("POST", "/holds", {"at": "noon"}, 400, "there is no place to hold at 'noon'"),
    ("GET", "/faults/777", None, 404, "there is no fault 777, or not any more"),
    ("GET", "/faults/" + 5_000 * "9", None, 404, "a fault_id is a number, not '999999999999999999'"),
    ("GET", "/faults/one", None, 404, "a fault_id is a number, not 'one'"),
    ("DELETE", "/holds/777", None, 404, "there is no fault 777"),
    ("POST", "/faults/wait", {"count": 1}, 400, "the body says which fault"),
    ("POST", "/faults/wait", {"fault_id": 777}, 404, "there is no fault 777"),
    ("POST", "/holds/refuse", {"fault_id": 777}, 400, "the body says with which error"),
    ("PUT", "/faults/1", None, 405, "/faults/1 takes GET and DELETE, not PUT"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "said"), REFUSED)
def test_what_makes_no_sense_is_refused(
    script: Script[Serving], method: str, path: str, body: Any, status: int, said: str
) -> None:
    got, answer = script.ask(method, path, None if body is None else json.dumps(body).encode())
    assert (got, said in answer["error"]) == (status, True), answer


def test_deadlines_are_held_seen_and_decided_about() -> None:
    """The failover of a node: it can be let go, and not refused."""
    with serving("--control", "127.0.0.1:0", "--clock", "virtual", "--nodes", "2") as broker:
        script = Script(broker)
        hold_id = post(script, "/holds", failover=2)["fault_id"]
        post(script, "/nodes/stop", node_id=2, hard=True)
        post(script, "/clock/advance", ms=60_000)
        (held,) = post(script, "/holds/wait", fault_id=hold_id)["held"]
        assert held == {
            **dict.fromkeys(("api", "client_id", "group_id", "member_id", "transactional_id", "request", "answer")),
            "number": 1,
            "at": "failover",
            "node_id": 2,
            "state": "held",
            "is_gone": False,
        }
        wish = {"fault_id": hold_id, "error": "NOT_CONTROLLER"}
        status, answer = script.ask("POST", "/holds/refuse", json.dumps(wish).encode())
        assert (status, "which no client has asked for" in answer["error"]) == (400, True)
        assert post(script, "/holds/let_go", fault_id=hold_id)["state"] == "let go"
        (kept,) = script.get("/holds")["holds"]
        assert [one["state"] for one in kept["held"]] == ["let go"]


def test_what_a_transactional_id_waits_for_and_writes_is_held() -> None:
    """Its timeout, and the record that it is to be aborted."""
    with serving("--control", "127.0.0.1:0", "--clock", "virtual") as broker, Client(broker.bootstrap) as client:
        script = Script(broker)
        assert client.ask(FindCoordinatorRequest("tx", 1), 1).error_code == ErrorCode.NONE
        create(client, "orders")
        begun = client.ask(InitProducerIdRequest("tx", 1_000), 4)
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("orders", [0])]
        client.ask(AddPartitionsToTxnRequest(None, "tx", begun.producer_id, begun.producer_epoch, topics), 3)
        timeout_id = post(script, "/holds", timer="transaction-timeout", transactional_id="tx")["fault_id"]
        append_id = post(script, "/holds", append="__transaction_state", transactional_id="tx", once=True)["fault_id"]
        post(script, "/clock/advance", ms=20_000)
        (timeout,) = post(script, "/holds/wait", fault_id=timeout_id)["held"]
        assert (timeout["at"], timeout["transactional_id"], timeout["node_id"]) == ("transaction-timeout", "tx", 1)
        assert post(script, "/holds/let_go", fault_id=timeout_id)["state"] == "let go"
        (append,) = post(script, "/holds/wait", fault_id=append_id)["held"]
        assert (append["at"], append["transactional_id"], append["state"]) == ("append", "tx", "held")
        assert script.get("/transactions/tx")["state"] == "Ongoing"
        assert post(script, "/holds/let_go", fault_id=append_id)["state"] == "let go"
        post(script, "/wait", transactional_id="tx", state="CompleteAbort")


def test_waits_end_with_what_came_instead(script: Script[Serving]) -> None:
    """And what is not held can't be decided about."""
    fault_id = post(script, "/faults", api="ListGroups", throttle=1)["fault_id"]
    hold_id = post(script, "/holds", api="ListGroups", at="answer")["fault_id"]
    with Client(script.broker.bootstrap) as client:
        client.ask(ApiVersionsRequest(), 0)
        for path, number, said in (
            ("/faults/wait", fault_id, "has happened 0 times, not 1; what came: 1 ApiVersions"),
            ("/holds/wait", hold_id, "has held 0, not 1; what came: 1 ApiVersions"),
        ):
            wish = json.dumps({"fault_id": number, "timeout_ms": 0}).encode()
            status, answer = script.ask("POST", path, wish)
            assert (status, said in answer["error"]) == (409, True), answer
    status, answer = script.ask("POST", "/holds/lose", json.dumps({"fault_id": hold_id}).encode())
    assert (status, "holds no such thing" in answer["error"]) == (404, True)
    status, answer = script.ask("POST", "/holds/lose", json.dumps({"fault_id": fault_id}).encode())
    assert (status, "holds nothing" in answer["error"]) == (400, True)


def test_page_shows_what_is_answered() -> None:
    """The first example of docs/control.md, word for word."""
    section = DOCS.read_text().partition("## Faults")[2]
    wish, said = re.findall(r"-d '(\{.*?\})'\n(\{.*?^\})", section, re.DOTALL | re.MULTILINE)[0]
    with serving("--control", "127.0.0.1:0") as broker:
        status, answer = Script(broker).ask("POST", "/faults", wish.encode())
    assert (status, answer) == (200, json.loads(said))
