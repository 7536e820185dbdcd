"""Clients choose names, ids and reasons that a terminal would obey; whoever looks on only reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from ottla.pipeline.progress import Progress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from tests.cli.script import Script, read_all
from tests.cli.stage import begin_transaction, commit, create
from tests.cli.terminal import Serving, only_line, ottla, serving
from tests.support.client import Client

#: Clears the screen, in two ways, rings, turns the direction of writing, and begins what looks like a line of the log.
HOSTILE: Final = "\x1b[2J\x9b2J\x07\x7f\u2028\u202e\r\n2026-11-22T09:00:00Z [info     ] broker.stopped"
SHOWN: Final = r"\x1b[2J\x9b2J\x07\x7f\u2028\u202e\r\n2026-11-22T09:00:00Z [info     ] broker.stopped"


@pytest.fixture(scope="module")
def broker() -> Iterator[Serving]:
    """Everything that a client can name is named so. It logs for people, and all there is to be logged."""
    options = ("--log-format", "console", "--log-level", "debug", "--control", "127.0.0.1:0")
    with (
        serving(*options, "--set", "group.initial.rebalance.delay.ms=0") as running,
        Client(running.bootstrap, client_id=HOSTILE[:9]) as client,
    ):
        create(client, "orders", 1)
        topic = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(HOSTILE, 1, 1)], 1000)
        assert client.ask(topic, 5).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        client.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=HOSTILE)], True), 9)
        client.ask(InitProducerIdRequest(HOSTILE, 1000), 1)
        begin_transaction(client, HOSTILE, "orders")
        commit(client, f"committed {HOSTILE}", "orders", {0: 1})
        client.ask(FindCoordinatorRequest(HOSTILE), 1)
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol(HOSTILE, b"")]
        join = JoinGroupRequest(HOSTILE, 45_000, 60_000, "", HOSTILE, HOSTILE, protocols, HOSTILE)
        joined = client.ask(join, 8)
        assert joined.error_code == ErrorCode.NONE
        assert client.ask(SyncGroupRequest(HOSTILE, 1, joined.member_id), 3).error_code == ErrorCode.NONE
        leaving = LeaveGroupRequest.MemberIdentity("", "nobody" + HOSTILE, HOSTILE)
        client.ask(LeaveGroupRequest(HOSTILE, members=[leaving]), 5)
        client.ask(JoinGroupRequest(HOSTILE, 45_000, 60_000, HOSTILE, None, "consumer", protocols), 8)
        yield running


def test_log_for_people_has_them_escaped(broker: Serving) -> None:
    """Each line is printable, and begins with when it was."""
    said = broker.stderr()
    assert SHOWN in said
    for line in said.removesuffix("\n").split("\n"):
        assert line.isprintable()
        assert line[:2] == "20"


@pytest.mark.parametrize(
    "command",
    [
        ("topics",),
        ("topics", "describe", "orders"),
        ("groups",),
        ("groups", "describe", HOSTILE),
        ("groups", "describe", f"committed {HOSTILE}"),
        ("groups", "--json"),
        ("groups", "describe", HOSTILE, "--json"),
        ("transactions",),
        ("transactions", "--json"),
        ("transactions", "describe", HOSTILE),
    ],
    ids=lambda command: " ".join(command).partition("\x1b")[0],
)
def test_tables_have_them_escaped(broker: Serving, command: tuple[str, ...]) -> None:
    """And JSON has its own escapes."""
    ended = ottla(*command, "--bootstrap-server", broker.bootstrap)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.replace("\n", "").isprintable()
    if command[0] != "topics" and "--json" not in command:
        assert SHOWN in ended.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("topics", "describe", HOSTILE),
        ("groups", "describe", "no" + HOSTILE),
        ("nodes", "--control", HOSTILE),
        ("transactions", "describe", "no" + HOSTILE),
        ("transactions", "list", "--state", HOSTILE),
        ("transactions", "find-hanging", "--topic", HOSTILE),
    ],
)
def test_what_is_refused_is_repeated_in_one_printable_line(broker: Serving, command: tuple[str, ...]) -> None:
    """Blanks of all kinds are one blank there."""
    where = () if command[0] == "nodes" else ("--bootstrap-server", broker.bootstrap)
    line = only_line(ottla(*command, *where).stderr)
    assert r"\x1b[2J\x9b2J\x07\x7f" in line
    assert line.isprintable()


def test_control_api_has_them_escaped(broker: Serving) -> None:
    """Who asks with curl is at a terminal as well; and what is refused there is repeated."""
    script = Script(broker)
    assert HOSTILE in [group["group_id"] for group in script.get("/groups")["groups"]]
    for said in (b"GET /groups HTTP/1.1\r\nHost: localhost\r\n", b"GET / HTTP/1.1\r\nHost: \x9b2J\x7f\r\n"):
        with script.raw() as client:
            client.sendall(said + b"Connection: close\r\n\r\n")
            answer = read_all(client)
        assert answer.isascii()
        assert answer.decode().replace("\r\n", "").replace("\n", "").isprintable()


def test_jobs_have_them_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    """What a job says it is doing names topics and groups of another cluster."""
    Progress("mirror").step(f"reading {HOSTILE}")
    assert capsys.readouterr().err == f"ottla mirror: reading {SHOWN}\n"


def test_terminal_without_these_letters_gets_escapes(broker: Serving) -> None:
    """Names may have letters that the terminal's encoding hasn't."""
    with Client(broker.bootstrap) as client:
        commit(client, "größe-日本", "orders", {0: 1})
    ended = ottla(
        "groups", "--bootstrap-server", broker.bootstrap, env={"PYTHONIOENCODING": "latin-1"}, encoding="latin-1"
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert r"größe-\u65e5\u672c" in ended.stdout
