"""`ottla fault`, for people and for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ottla.cli.fault import read_words
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_groups import ListGroupsRequest
from tests.cli.terminal import Serving, only_line, ottla, serving
from tests.support.client import Client


@pytest.fixture(scope="module")
def broker() -> Iterator[Serving]:
    with serving("--control", "127.0.0.1:0", "--clock", "virtual") as running:
        yield running


def run(broker: Serving, *arguments: str) -> list[str]:
    """The lines that the command says on stdout when all is well, columns one blank apart."""
    ended = ottla("fault", *arguments, "--control", broker.control)
    assert (ended.returncode, ended.stderr) == (0, "")
    return [" ".join(line.split()) for line in ended.stdout.splitlines()]


def test_fault_is_set_seen_to_happen_and_removed(broker: Serving) -> None:
    """Each command shows what it is about; `list` may be left out."""
    head, said = run(broker, "set", "ListGroups", "client_id=a*", "answer=COORDINATOR_NOT_AVAILABLE", "times=2")
    assert (head, said) == (
        "ID HITS SPENT FAULT",
        "1 0 no ListGroups client_id=a*: answer COORDINATOR_NOT_AVAILABLE, 2 times",
    )
    with Client(broker.bootstrap, client_id="ana") as client:
        asked = [client.ask(ListGroupsRequest(), 1).error_code for _ in range(3)]
    assert asked == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2 + [ErrorCode.NONE]
    assert run(broker) == [head, said.replace("1 0 no", "1 2 yes")]
    run(broker, "set", "drop_answer", "node=1", "may_not_fire=true")
    assert run(broker, "remove", "1") == [head, said.replace("1 0 no", "1 2 yes")]
    assert run(broker, "list") == [head, "2 0 no node=1: drop the answer, until removed"]
    assert len(run(broker, "clear")) == 2
    assert run(broker) == [head]


def test_faults_as_json(broker: Serving) -> None:
    """As the control API has them."""
    run(broker, "set", "delay=5")
    (fault,) = json.loads(ottla("fault", "--json", "--control", broker.ready["control"]).stdout)
    assert (fault["hits"], fault["is_spent"]) == (0, False)
    run(broker, "clear")


def test_words_are_read_as_json_or_text() -> None:
    """Names of APIs have capitals; arguments stand behind a dot."""
    assert read_words(["Produce", "Fetch", "topic=orders", "cut.after_bytes=17", "cut.reset=true"]) == {
        "api": ["Produce", "Fetch"],
        "topic": "orders",
        "cut": {"after_bytes": 17, "reset": True},
    }
    assert read_words(['topic=["a","b"]', "once", "pose_as=3.9", "probability=0.5"]) == {
        "topic": ["a", "b"],
        "once": True,
        "pose_as": "3.9",
        "probability": 0.5,
    }


def test_what_can_not_be_done_is_said_in_one_line(broker: Serving) -> None:
    for arguments, exit_code, said in (
        (("set", "Prodcue", "drop_answer"), 2, "there is no API 'Prodcue'; did you mean Produce?"),
        (("set", "Produce"), 2, "a fault says what happens, with one of answer, "),
        (("set", "cut=3", "cut.reset=true"), 2, "cut and cut.reset are both said"),
        (("remove", "77"), 1, "there is no fault 77, or not any more"),
    ):
        ended = ottla("fault", *arguments, "--control", broker.control)
        assert (ended.returncode, ended.stdout) == (exit_code, "")
        assert said in only_line(ended.stderr)
