"""`ottla nodes`, `ottla nodes stop` and `ottla nodes start`, for people and for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.terminal import Serving, only_line, ottla, serving
from tests.support.ports import free_ports


@pytest.fixture(scope="module")
def broker() -> Iterator[Serving]:
    """Two nodes. A dead one is missed only when the clock is moved, which nobody does."""
    with serving("--control", "127.0.0.1:0", "--clock", "virtual", "--nodes", "2") as running:
        yield running


def run(broker: Serving, *arguments: str) -> list[str]:
    """The lines that the command says on stdout when all is well, columns one blank apart."""
    ended = ottla("nodes", *arguments, "--control", broker.control)
    assert (ended.returncode, ended.stderr) == (0, "")
    return [" ".join(line.split()) for line in ended.stdout.splitlines()]


def test_nodes_are_listed_stopped_and_started(broker: Serving) -> None:
    """Each command shows the nodes as they are then; `list` may be left out."""
    first = broker.bootstrap
    head, up, second = run(broker)
    assert (head, up) == ("NODE STATE ADDRESS LEADS CONNECTIONS", f"1 up {first} 0 0")
    assert run(broker, "list") == [head, up, second]
    assert run(broker, "stop", "1", "--hard") == [head, f"1 silent {first} 0 0", second]
    assert run(broker, "start", "1") == [head, up, second]
    assert run(broker, "stop", "1") == [head, f"1 down {first} 0 0", second]
    assert run(broker, "start", "1") == [head, up, second]


def test_nodes_as_json(broker: Serving) -> None:
    """As the control API has them; and the address may be written as the ready line has it."""
    ended = ottla("nodes", "--json", "--control", broker.ready["control"])
    nodes = json.loads(ended.stdout)
    assert [(node["node_id"], node["state"], node["leads"]) for node in nodes] == [(1, "up", 0), (2, "up", 0)]


def test_what_can_not_be_done_is_said_in_one_line(broker: Serving) -> None:
    for arguments, exit_code, said in (
        (("stop", "7", "--control", broker.control), 1, "there is no node 7; the nodes are 1, 2"),
        (("list", "--control", f"127.0.0.1:{free_ports(1)[0]}"), 1, "no control API answers at 127.0.0.1:"),
        (("list", "--control", broker.bootstrap), 1, "no control API answers at"),
        (("list", "--control", "nowhere"), 2, "--control nowhere is not HOST:PORT"),
        (("stop", "first"), 2, "invalid int value"),
    ):
        ended = ottla("nodes", *arguments)
        assert (ended.returncode, ended.stdout) == (exit_code, "")
        assert said in only_line(ended.stderr)
