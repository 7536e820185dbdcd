"""`ottla groups` and `ottla groups describe`, for people and for scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.cli.stage import commit, create, find_coordinator, join, produce
from tests.cli.terminal import only_line, ottla, serving
from tests.support.client import Client


class Stage:
    """A broker with a group that reads, one that is empty, and their topic."""

    def __init__(self, bootstrap: str, member_id: str) -> None:
        self.bootstrap = bootstrap
        self.member_id = member_id

    def run(self, *arguments: str) -> str:
        """What `ottla groups` with these arguments says on stdout, when all is well."""
        ended = ottla("groups", *arguments, "--bootstrap-server", self.bootstrap)
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with (
        serving("--set", "group.initial.rebalance.delay.ms=0") as broker,
        Client(broker.bootstrap, client_id="ana") as client,
    ):
        create(client, "orders", 3)
        produce(client, "orders", 0, 10)
        produce(client, "orders", 1, 4)
        commit(client, "simple", "orders", {1: 1})
        member_id = join(client, "billing", "orders", [0, 1])
        commit(client, "billing", "orders", {0: 7}, member_id=member_id, generation_id=1)
        yield Stage(broker.bootstrap, member_id)


def test_list_has_a_line_for_each_group(stage: Stage) -> None:
    """State, type, how many members, and which node coordinates it; `list` may be left out."""
    assert stage.run("list").splitlines() == [
        "GROUP    STATE   TYPE      MEMBERS  COORDINATOR",
        f"billing  Stable  consumer        1  1 at {stage.bootstrap}",
        f"simple   Empty   -               0  1 at {stage.bootstrap}",
    ]
    assert stage.run() == stage.run("list")


def test_list_as_json(stage: Stage) -> None:
    """The option may stand before the action or behind it."""
    port = int(stage.bootstrap.rpartition(":")[2])
    groups = json.loads(stage.run("--json"))
    assert groups[0] == {
        "group_id": "billing",
        "state": "Stable",
        "protocol_type": "consumer",
        "members": 1,
        "coordinator": {"node_id": 1, "host": "127.0.0.1", "port": port},
    }
    assert json.loads(stage.run("list", "--json")) == json.loads(stage.run("--json", "list")) == groups


def test_description_shows_members_and_how_far_they_are(stage: Stage) -> None:
    """A partition that was never committed shows a dash, for both committed and lag."""
    member_id = stage.member_id
    group, _, members, _, offsets = re.split(r"(\n\n)", stage.run("describe", "billing"))
    assert group.splitlines()[1].split() == ["billing", "Stable", "consumer", "range", "1", "at", stage.bootstrap]
    assert [line.split() for line in members.splitlines()] == [
        ["MEMBER", "CLIENT", "HOST", "PARTITIONS"],
        [member_id, "ana", "/127.0.0.1", "2"],
    ]
    assert [line.split() for line in offsets.splitlines()] == [
        ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"],
        ["orders", "0", "7", "10", "3", member_id],
        ["orders", "1", "-", "4", "-", member_id],
    ]


def test_description_as_json(stage: Stage) -> None:
    """What is not there is null."""
    described = json.loads(stage.run("describe", "billing", "--json"))
    assert (described["state"], described["protocol"]) == ("Stable", "range")
    assert described["members"] == [
        {
            "member_id": stage.member_id,
            "client_id": "ana",
            "client_host": "/127.0.0.1",
            "partitions": [{"topic": "orders", "partition": 0}, {"topic": "orders", "partition": 1}],
        }
    ]
    assert described["offsets"][1] == {
        "topic": "orders",
        "partition": 1,
        "committed_offset": None,
        "log_end_offset": 4,
        "lag": None,
        "member_id": stage.member_id,
    }


def test_empty_group_shows_its_offsets_and_lag(stage: Stage) -> None:
    """Nobody is there; what was committed is."""
    group, offsets = stage.run("describe", "simple").split("\n\n")
    assert group.splitlines()[1].split() == ["simple", "Empty", "-", "-", "1", "at", stage.bootstrap]
    assert offsets.splitlines()[1].split() == ["orders", "1", "1", "4", "3", "-"]


def test_a_group_that_is_not_there_is_one_line_and_exit_code_1(stage: Stage) -> None:
    """And it is not brought into being by the question."""
    ended = ottla("groups", "describe", "bi\nlling", "--bootstrap-server", stage.bootstrap)
    assert r"no broker knows a group bi\nlling" in only_line(ended.stderr)
    assert (ended.returncode, ended.stdout) == (1, "")


def test_lag_of_all_groups_topic_by_topic(stage: Stage) -> None:
    """The furthest first; partitions without a committed offset are counted, from the log start."""
    assert [line.split() for line in stage.run("lag").splitlines()] == [
        ["GROUP", "STATE", "TOPIC", "PARTITIONS", "LAG", "WORST", "IN", "PARTITION", "UNCOMMITTED"],
        ["simple", "Empty", "orders", "3", "13", "10", "0", "2"],
        ["billing", "Stable", "orders", "3", "7", "4", "1", "2"],
    ]
    (only,) = json.loads(stage.run("lag", "simple", "--json"))
    assert only == {
        "group_id": "simple",
        "state": "Empty",
        "topic": "orders",
        "partitions": 3,
        "uncommitted_partitions": 2,
        "lag": 13,
        "worst_partition": 0,
        "worst_lag": 10,
    }


def test_lag_of_a_group_that_is_not_there_is_one_line_and_exit_code_1(stage: Stage) -> None:
    ended = ottla("groups", "lag", "simple", "nobody", "--bootstrap-server", stage.bootstrap)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert only_line(ended.stderr) == "ottla: no broker knows a group nobody; `ottla groups` lists those there are"


def test_looking_at_a_fresh_broker_changes_nothing() -> None:
    """Not even the offsets topic comes into being, which a search for a coordinator would do."""
    with serving() as broker:
        assert ottla("groups", "--bootstrap-server", broker.bootstrap).returncode == 0
        assert ottla("groups", "describe", "g", "--bootstrap-server", broker.bootstrap).returncode == 1
        assert ottla("topics", "--bootstrap-server", broker.bootstrap, "--json").stdout == "[]\n"


def test_groups_of_all_nodes_are_listed_once() -> None:
    """Each node coordinates its share, and only that."""
    coordinators = {}
    with serving("--nodes", "3") as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 1)
        for group_id in (f"group-{number}" for number in range(12)):
            found = find_coordinator(client, group_id)
            with Client(f"{found.host}:{found.port}") as client_of_coordinator:
                commit(client_of_coordinator, group_id, "orders", {0: 1})
            coordinators[group_id] = found.node_id
        listed = json.loads(ottla("groups", "--bootstrap-server", broker.bootstrap, "--json").stdout)
    assert {group["group_id"]: group["coordinator"]["node_id"] for group in listed} == coordinators
    assert len(listed) == len(coordinators)
    assert set(coordinators.values()) == {1, 2, 3}


def test_names_cannot_move_the_cursor(stage: Stage) -> None:
    """Group names are chosen by strangers; what a terminal would obey is shown as text."""
    with Client(stage.bootstrap) as client:
        commit(client, "\x1b[2Jgroup", "orders", {0: 1})
    listed = stage.run()
    assert r"\x1b[2Jgroup" in listed
    assert "\x1b" not in listed


def test_describe_needs_a_name() -> None:
    """One line, exit code 2."""
    ended = ottla("groups", "describe")
    assert "GROUP" in only_line(ended.stderr)
    assert ended.returncode == 2
