"""`ottla conformance`: what it finds equal, what it shows of a difference, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.cli import main
from ottla.conformance.client import Client
from ottla.conformance.scripts import heartbeat, topics
from ottla.conformance.selection import areas, select
from ottla.conformance.settings import SETTINGS
from ottla.conformance.transcript import Labels
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.testing import Broker
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings={"node.id": "1", **SETTINGS}) as kafka:
        yield kafka


def _left(bootstrap: str) -> list[str]:
    """Topics and groups there are, but the broker's own."""
    with Client(bootstrap) as client:
        topics = client.ask(MetadataRequest(topics=None), 8).topics
        groups = client.ask(ListGroupsRequest(), 4).groups
    return [topic.name for topic in topics if not topic.is_internal] + [group.group_id for group in groups]


def test_all_answers_of_an_area_are_kafkas(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, the counts of the area, and nothing is left on the broker."""
    assert main(["conformance", broker.bootstrap_servers, "--area", "heartbeat"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    cases = str(len(select("4.4", of_areas=["heartbeat"])))
    assert rows[0][0] == "AREA"
    assert rows[1:] == [["heartbeat", cases, *"0000"], ["all", cases, *"0000"]]
    assert _left(broker.bootstrap_servers) == []


def test_a_wrong_answer_is_shown_with_the_request_and_kafkas(
    broker: Broker, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit code 1; the same in all forms, which are well-formed; with the bytes, as they were wished for."""
    page, data, junit = tmp_path / "card.html", tmp_path / "card.json", tmp_path / "card.xml"
    forms = [f"--html={page}", f"--json={data}", f"--junit={junit}"]
    name = heartbeat.heartbeat_without_a_group.__name__
    with broker.fault("Heartbeat").answer("COORDINATOR_NOT_AVAILABLE"):
        words = ["conformance", broker.bootstrap_servers, "--only", name, "--api", "Heartbeat:4", "--bytes", *forms]
        assert main(words) == 1
    shown = capsys.readouterr().out
    assert f"{name} v4 (heartbeat)" in shown
    assert 'Kafka 4.4    "INVALID_GROUP_ID"' in shown
    assert 'this broker  "COORDINATOR_NOT_AVAILABLE"' in shown
    assert "this broker: ana sent 0000" in shown
    (case,) = json.loads(data.read_text())["cases"]
    first = case["differences"][0]
    assert (case["outcome"], first["got"]["error_code"]) == ("different", "COORDINATOR_NOT_AVAILABLE")
    assert first["request"]["member_id"] == "nobody"
    failures = ElementTree.fromstring(junit.read_text()).findall("./testsuite/testcase/failure")
    assert [failure.text and "COORDINATOR_NOT_AVAILABLE" in failure.text for failure in failures] == [True]
    assert _is_well_formed(page.read_text())


def _is_well_formed(page: str) -> bool:
    """Every element that is opened is closed, in order."""
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag != "meta":
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(page)
    return not opened


def test_what_is_not_advertised_is_not_counted_as_a_difference(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ottla serves no SASL: its scripts are not claimed, and the exit code stays 0."""
    assert main(["conformance", broker.bootstrap_servers, "--only", "sasl_handshake*"]) == 0
    assert "it needs SaslHandshake v1: the broker advertises no SaslHandshake" in capsys.readouterr().out


def test_what_the_broker_is_not_set_up_for_is_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    """With the setting that it needs; told otherwise by --assume, it is played."""
    with Broker(settings={**SETTINGS, "node.id": "1", "group.max.size": "7"}) as broker:
        words = ["conformance", broker.bootstrap_servers, "--only", "join_a_full_group", "--api", "JoinGroup:9"]
        assert main(words) == 0
        assert "it needs group.max.size=4, and the broker has 7" in capsys.readouterr().out
        assert main([*words, "--assume", "group.max.size=4", "--tries", "1"]) == 1


def test_two_brokers_walk_alike(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """Walks that nobody has recorded need another broker that answers first."""
    with Broker(settings={"node.id": "1", **SETTINGS}) as other:
        words = ["conformance", broker.bootstrap_servers, "--against", other.bootstrap_servers]
        assert main([*words, "--walks", "1", "--seed", "4711"]) == 0
        assert "transaction_walks      2" in capsys.readouterr().out
        assert _left(other.bootstrap_servers) == []


def test_an_interrupted_run_cleans_up_and_shows_what_was_done(broker: Broker) -> None:
    """SIGINT in the midst of it: the card has the rest as not run, and no topic and no group stays."""
    command: list[str | Path] = [Path(sys.executable).with_name("ottla"), "conformance", broker.bootstrap_servers]
    command += ["--area", "join,sync"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("ottla: join (1 of ")
        os.kill(process.pid, signal.SIGINT)
        shown, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert "Ended early: interrupted." in shown
    assert [line for line in shown.splitlines() if line.startswith("sync ")]
    assert _left(broker.bootstrap_servers) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say which broker is asked"),
        (["localhost"], "a broker is named as HOST:PORT, not localhost"),
        (["127.0.0.1:1", "--area", "12"], "there is no area 12; there are acls, admin, "),
        (["127.0.0.1:1", "--area", "heartbet"], "there is no area heartbet; did you mean heartbeat?"),
        (["127.0.0.1:1", "--api", "Cook"], "Cook is not an API of Kafka"),
        (["127.0.0.1:1", "--only", "nothing"], "no script is all of that"),
        (["127.0.0.1:1", "--release", "0.8"], "no answers of Kafka 0.8 are kept"),
        (["127.0.0.1:1", "--walks", "3"], "--walks needs --against"),
        (["127.0.0.1:1", "--assume", "colour=red"], "--assume is NAME=VALUE"),
        (["127.0.0.1:1", "--html", "/no/such/place/card.html"], "there is no directory /no/such/place"),
    ],
)
def test_what_cannot_be_used_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 2, before anybody is asked."""
    assert main(["conformance", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_nobody_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 1."""
    (port,) = free_ports(1)
    assert main(["conformance", f"127.0.0.1:{port}"]) == 1
    assert f"nothing answers at 127.0.0.1:{port}" in capsys.readouterr().err


def test_a_version_of_a_request_selects_the_scripts_that_send_it() -> None:
    """In the versions that do so, those that send it by the way too."""
    found = select("4.4", apis=["CreateTopics:7"])
    assert {case.script.name for case in found} >= {topics.create_topics.__name__}
    assert {case.version for case in found if case.script.name == topics.create_topics.__name__} == {7}


def test_member_ids_of_another_form_show_as_kafkas() -> None:
    """Of the client's id, of the instance's, and never one that the script has chosen."""
    labels = Labels("127.0.0.1")
    ids = labels.member_ids
    stem = ids.asked(JoinGroupRequest("group", member_id="", protocol_type="consumer"), "ana")
    members = [
        JoinGroupResponse.JoinGroupResponseMember("0x7f01", None),
        JoinGroupResponse.JoinGroupResponseMember("0x7f02", "b"),
    ]
    ids.answered(JoinGroupResponse(leader="0x7f01", member_id="0x7f01", members=members), stem)
    stem = ids.asked(JoinGroupRequest("group", member_id="stranger", protocol_type="consumer"), "ana")
    ids.answered(JoinGroupResponse(member_id="stranger"), stem)
    shown = [labels.text(member_id) for member_id in ("0x7f01", "0x7f02", "0x7f01", "stranger", "0x7f01234")]
    assert shown == ["ana-<uuid 1>", "b-<uuid 2>", "ana-<uuid 1>", "stranger", "0x7f01234"]


def test_every_area_is_recorded() -> None:
    """The package carries the answers to all of its scripts."""
    assert {case.script.area for case in select("4.4")} == set(areas())
