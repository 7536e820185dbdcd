"""`ottla topics`, for people and for scripts, and as the health check of a container."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import Broker
from tests.cli.stage import create, find_coordinator, produce
from tests.cli.terminal import PROGRAM, only_line, ottla, serving
from tests.support.client import Client
from tests.support.ports import free_ports


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker with a few topics."""
    with serving() as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 3)
        create(client, "empty", 1)
        produce(client, "orders", 0, 5)
        produce(client, "orders", 2, 2)
        find_coordinator(client, "any")
        yield broker.bootstrap


def test_table_has_a_line_for_each_topic(bootstrap: str) -> None:
    """Names to the left, numbers to the right, nothing else."""
    ended = ottla("topics", "--bootstrap-server", bootstrap)
    assert ended.stdout.splitlines() == [
        "TOPIC               PARTITIONS  REPLICATION  INTERNAL  RECORDS",
        "__consumer_offsets          50            1  yes             0",
        "empty                        1            1  no              0",
        "orders                       3            1  no              7",
    ]
    assert (ended.returncode, ended.stderr) == (0, "")


def test_json_has_every_partition(bootstrap: str) -> None:
    """Leader, replicas, and where its log begins and ends."""
    ended = ottla("topics", "--bootstrap-server", bootstrap, "--json")
    offsets, _empty, orders = json.loads(ended.stdout)
    assert (offsets["topic"], offsets["is_internal"], len(offsets["partitions"])) == ("__consumer_offsets", True, 50)
    assert (orders["topic"], orders["is_internal"]) == ("orders", False)
    assert orders["partitions"][2] == {
        "partition": 2,
        "leader": 1,
        "replicas": [1],
        "isr": [1],
        "log_start_offset": 0,
        "log_end_offset": 2,
    }


def test_list_may_be_said(bootstrap: str) -> None:
    """As with groups; its options may stand before or behind it."""
    said = ottla("topics", "--json", "list", "--bootstrap-server", bootstrap)
    assert said.stdout == ottla("topics", "--bootstrap-server", bootstrap, "--json").stdout
    assert said.returncode == 0


def test_one_topic_partition_by_partition(bootstrap: str) -> None:
    """The line it has in the list, and one for each partition."""
    ended = ottla("topics", "describe", "orders", "--bootstrap-server", bootstrap)
    assert ended.stdout.splitlines() == [
        "TOPIC   PARTITIONS  REPLICATION  INTERNAL  RECORDS",
        "orders           3            1  no              7",
        "",
        "PARTITION  LEADER  REPLICAS  ISR  START  END",
        "        0       1  1         1        0    5",
        "        1       1  1         1        0    0",
        "        2       1  1         1        0    2",
    ]
    assert (ended.returncode, ended.stderr) == (0, "")


def test_one_topic_for_scripts_is_its_entry_in_the_list(bootstrap: str) -> None:
    described = ottla("topics", "describe", "orders", "--json", "--bootstrap-server", bootstrap)
    listed = ottla("topics", "--json", "--bootstrap-server", bootstrap)
    assert json.loads(described.stdout) == json.loads(listed.stdout)[2]


def test_topic_that_nobody_has_is_one_line_and_exit_code_1(bootstrap: str) -> None:
    """And is not created by the question."""
    ended = ottla("topics", "describe", "absent", "--bootstrap-server", bootstrap)
    assert only_line(ended.stderr) == "ottla: there is no topic absent; `ottla topics` lists those there are"
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "absent" not in ottla("topics", "--bootstrap-server", bootstrap).stdout


def test_partition_without_a_leader_shows_none() -> None:
    """Where its node is down; the others are asked all the same."""
    with Broker(nodes=2) as kafka:
        with Client(kafka.node(1).bootstrap_server) as client:
            create(client, "orders", 2)
        kafka.node(2).stop()
        ended = ottla("topics", "describe", "orders", "--bootstrap-server", kafka.node(1).bootstrap_server)
    lines = sorted(line.split()[1:2] + line.split()[4:] for line in ended.stdout.splitlines()[4:])
    assert lines == [["-", "-", "-"], ["1", "0", "0"]]


def test_replication_is_how_many_nodes_hold_a_partition() -> None:
    """The offsets topic has a replica on each of three nodes, and every node is asked for those it leads."""
    with serving("--nodes", "3") as broker, Client(broker.bootstrap) as client:
        find_coordinator(client, "any")
        ended = ottla("topics", "--bootstrap-server", broker.bootstrap)
    assert ended.stdout.splitlines()[1].split() == ["__consumer_offsets", "50", "3", "yes", "0"]


def test_broker_without_topics_is_healthy() -> None:
    """The exit code is that of a health check: it says whether a broker answers."""
    with serving() as broker:
        ended = ottla("topics", "--bootstrap-server", broker.bootstrap)
        assert ended.stdout.splitlines() == ["TOPIC  PARTITIONS  REPLICATION  INTERNAL  RECORDS"]
        assert ended.returncode == 0
        assert ottla("topics", "--bootstrap-server", broker.bootstrap, "--json").stdout == "[]\n"


def test_nobody_there_is_one_line_and_exit_code_1() -> None:
    """It says where it asked and what to do."""
    (port,) = free_ports(1)
    ended = ottla("topics", "--bootstrap-server", f"127.0.0.1:{port}")
    line = only_line(ended.stderr)
    assert line.startswith(f"ottla: nothing answers at 127.0.0.1:{port}; start a broker with `ottla serve`")
    assert (ended.returncode, ended.stdout) == (1, "")


def test_name_that_nobody_knows_is_told_apart() -> None:
    """There is no point in looking for a broker that is not running."""
    ended = ottla("topics", "--bootstrap-server", "no-such-host.invalid:9092")
    line = only_line(ended.stderr)
    assert line.startswith(
        "ottla: no address is known for no-such-host.invalid; correct the name in --bootstrap-server"
    )
    assert (ended.returncode, ended.stdout) == (1, "")


def test_somebody_who_never_answers_is_one_line_and_exit_code_1() -> None:
    """What accepts connections need not be a Kafka; --timeout bounds all of it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        ended = ottla("topics", "--bootstrap-server", f"127.0.0.1:{port}", "--timeout", "0.5")
    assert f"127.0.0.1:{port} did not answer within 0.5 s" in only_line(ended.stderr)
    assert ended.returncode == 1


def test_a_broker_that_advertises_an_address_nobody_reaches_is_told_apart() -> None:
    """The most common mistake with containers: the first contact works, what it names does not."""
    nowhere, port = free_ports(2)
    with serving("--advertise", f"127.0.0.1:{nowhere}", listen=f"127.0.0.1:{port}"):
        ended = ottla("topics", "--bootstrap-server", f"127.0.0.1:{port}", "--timeout", "1")
    line = only_line(ended.stderr)
    assert f"127.0.0.1:{port} answers, but names a broker that can't be reached" in line
    assert "--advertise" in line
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bootstrap-server", "localhost"], "--bootstrap-server localhost is not HOST:PORT"),
        (["--bootstrap-server", "a:1,b"], "--bootstrap-server a:1,b is not HOST:PORT"),
        (["--bootstrap-server", "localhost:70000"], "--bootstrap-server localhost:70000 is not HOST:PORT"),
        (["--timeout", "0"], "--timeout 0 is not a number above 0"),
        (["--timeout", "nan"], "--timeout nan is not a number above 0"),
        (["--timeout", "inf"], "--timeout inf is not a number above 0"),
        (["--timeout", "soon"], "argument --timeout: invalid float value: 'soon'"),
    ],
)
def test_what_the_user_wrote_wrong_is_one_line_and_exit_code_2(arguments: list[str], said: str) -> None:
    """Option, value, and what would do."""
    ended = ottla("topics", *arguments)
    assert said in only_line(ended.stderr)
    assert ended.returncode == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("command", "exit_code"), [("topics --json --bootstrap-server", 1), ("topics --help --bootstrap-server", 0)]
)
def test_reader_that_has_seen_enough_leaves_no_traceback(
    bootstrap: str, command: str, exit_code: int, unbuffered: str
) -> None:
    """As in `ottla topics --json | head -1`, whenever Python writes what it is given."""
    with subprocess.Popen(
        [PROGRAM, *command.split(), bootstrap],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == exit_code


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["topics", "topics --json"])
def test_what_cannot_be_written_is_no_success(bootstrap: str, command: str, unbuffered: str) -> None:
    """A disk that is full: one line, and not Python's own."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [PROGRAM, *command.split(), "--bootstrap-server", bootstrap],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.stderr == "ottla: what was found cannot be written: No space left on device\n"
    assert ended.returncode == 1
