"""`ottla serve` as scripts rely on it: the ready line, signals, and what it says when it can't start."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.lifecycle import sockets
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.testing import Broker
from tests.cli.stage import create, join
from tests.cli.terminal import PROGRAM, only_line, ottla, serving, until
from tests.cli.unread import fill_with_unread_answers
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports
from tests.support.wire import ConnectionClosedError

#: Before all else on PYTHONPATH, it hides uvloop.
WITHOUT_UVLOOP = Path(__file__).parents[1] / "support" / "without_uvloop"


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def run_of_free_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    while True:
        (first,) = free_ports(1)
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first


# ── Ready ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ready_line_names_the_bootstrap_address_and_a_client_is_answered_there() -> None:
    """One node, one word; the socket accepts by then."""
    with serving() as broker:
        assert re.fullmatch(r"ottla ready bootstrap=127\.0\.0\.1:\d+", broker.ready_line)
        with Client(broker.bootstrap) as client:
            assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


def test_ready_line_says_how_many_nodes_and_where_the_control_api_is() -> None:
    """What applies is added as key=value; the bootstrap value stays one HOST:PORT."""
    with serving("--nodes", "3", "--control", "127.0.0.1:0") as broker:
        pattern = r"ottla ready bootstrap=127\.0\.0\.1:\d+ nodes=3 control=http://127\.0\.0\.1:\d+"
        assert re.fullmatch(pattern, broker.ready_line)


def test_stdout_has_the_ready_line_and_nothing_else() -> None:
    """Whatever else there is to say goes to stderr."""
    with serving("--set", "no.such.setting=1", "--log-level", "debug") as broker:
        with Client(broker.bootstrap) as client:
            client.ask(ApiVersionsRequest(), 0)
        assert broker.stop() == 0
        assert broker.process.stdout is not None
        assert broker.process.stdout.read() == ""


def test_nodes_listen_on_the_port_and_those_after_it() -> None:
    """Node i is on port + i, and every node names all of them."""
    first = run_of_free_ports(3)
    with serving("--nodes", "3", listen=f"127.0.0.1:{first}") as broker:
        assert port_of(broker.bootstrap) == first
        for port in range(first, first + 3):
            with Client(f"127.0.0.1:{port}") as client:
                brokers = client.ask(MetadataRequest([]), 1).brokers
            assert [node.port for node in brokers] == [first, first + 1, first + 2]


def test_clients_are_told_the_advertised_address() -> None:
    """With every interface listened on, the advertised name is what the ready line and Metadata have."""
    (port,) = free_ports(1)
    with serving("--advertise", f"localhost:{port}", listen=f"0.0.0.0:{port}") as broker:
        assert broker.bootstrap == f"localhost:{port}"
        with Client(f"127.0.0.1:{port}") as client:
            (node,) = client.ask(MetadataRequest([]), 1).brokers
        assert (node.host, node.port) == ("localhost", port)


def test_listeners_after_the_first_follow_in_the_ready_line_by_name() -> None:
    """Bootstrap is the first one's; each client is told the addresses of its own, and so are those of every node."""
    inside, outside = run_of_free_ports(2), run_of_free_ports(2)
    given = ("--listen", f"Host://127.0.0.1:{outside}", "--advertise", f"INTERNAL://localhost:{inside}", "--nodes", "2")
    with serving(*given, listen=f"INTERNAL://0.0.0.0:{inside}") as broker:
        assert broker.ready_line == (
            f"ottla ready bootstrap=localhost:{inside} listener.host=127.0.0.1:{outside} nodes=2"
        )
        for host, port in (("localhost", inside), ("127.0.0.1", outside)):
            with Client(f"127.0.0.1:{port + 1}") as client:
                nodes = client.ask(MetadataRequest([]), 1).brokers
            assert [(node.host, node.port) for node in nodes] == [(host, port), (host, port + 1)]


def test_listeners_come_from_the_settings_of_a_real_kafka(tmp_path: Path) -> None:
    """Its controller's listener is left out, and nobody is told that the settings have no effect."""
    (port,) = free_ports(1)
    properties = tmp_path / "server.properties"
    properties.write_text(
        f"process.roles=broker,controller\nlisteners=PLAINTEXT://:{port},CONTROLLER://:1\n"
        f"advertised.listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:1\n"
        "controller.listener.names=CONTROLLER\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
    )
    with serving("--config", str(properties), listen=None) as broker:
        assert broker.bootstrap == f"localhost:{port}"
        with Client(f"127.0.0.1:{port}") as client:
            (node,) = client.ask(MetadataRequest([]), 1).brokers
        assert (node.host, node.port) == ("localhost", port)
        assert broker.stop() == 0
        assert [event["setting"] for event in broker.logged() if "setting" in event] == ["process.roles"]


def test_ottla_is_a_module_too() -> None:
    """`python -m ottla` is `ottla`."""
    ended = subprocess.run(
        [sys.executable, "-m", "ottla", "--version"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert re.fullmatch(r"ottla \d+\.\d+\.\d+\S*", only_line(ended.stdout))


def test_open_files_are_raised_to_the_hard_limit() -> None:
    """A shell's soft limit of a few hundred doesn't keep thousands of clients out."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))

    with serving(preexec_fn=lower) as broker:
        limits = Path(f"/proc/{broker.process.pid}/limits").read_text()
        (line,) = (line for line in limits.splitlines() if line.startswith("Max open files"))
        soft_now, hard_now = line.split()[3:5]
        assert soft_now == hard_now
        address = ("127.0.0.1", port_of(broker.bootstrap))
        connections = [socket.create_connection(address) for _ in range(300)]
        for connection in connections:
            connection.close()


# ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def setting(bootstrap: str, name: str) -> str | None:
    """What the broker says a setting is."""
    of_node = DescribeConfigsRequest.DescribeConfigsResource(4, "1", [name])
    with Client(bootstrap) as client:
        value: str | None = client.ask(DescribeConfigsRequest([of_node]), 4).results[0].configs[0].value
    return value


def test_settings_come_from_a_file_and_from_the_command_line_which_wins(tmp_path: Path) -> None:
    """--set may be repeated; the last one counts, and each counts more than the file."""
    properties = tmp_path / "server.properties"
    properties.write_text("# of a real Kafka\nnum.partitions=2\nmessage.max.bytes = 5000\n")
    given = ("--config", str(properties), "--set", "num.partitions=3", "--set", "num.partitions=4")
    with serving(*given) as broker:
        assert setting(broker.bootstrap, "num.partitions") == "4"
        assert setting(broker.bootstrap, "message.max.bytes") == "5000"


def test_unknown_setting_is_warned_of_and_the_broker_goes_on() -> None:
    """So a server.properties with settings of other versions works."""
    with serving("--set", "no.such.setting=1", "--set", "log.dirs=/tmp") as broker:
        assert broker.stop() == 0
        told = [(event["event"], event["level"], event["setting"]) for event in broker.logged() if "setting" in event]
        assert told == [("setting.ignored", "warning", "no.such.setting"), ("setting.stored", "info", "log.dirs")]


@pytest.mark.parametrize(("delay_ms", "told"), [(1, [("first", 1)]), (0, [])])
def test_first_group_that_waits_for_more_members_is_told_of_once(delay_ms: int, told: list[tuple[str, int]]) -> None:
    """Whoever meets Kafka's delay of three seconds learns what it is; without a delay there is nothing to say."""
    with serving("--set", f"group.initial.rebalance.delay.ms={delay_ms}") as broker:
        with Client(broker.bootstrap) as client:
            create(client, "orders", 1)
            join(client, "first", "orders", [0])
            join(client, "second", "orders", [0])
        assert broker.stop() == 0
        said = [event for event in broker.logged() if event["event"] == "group.delay.begun"]
    assert [(event["group_id"], event["delay_ms"]) for event in said] == told
    assert all("--set group.initial.rebalance.delay.ms=0" in event["reason"] for event in said)


def test_virtual_clock_that_cannot_be_moved_is_warned_of() -> None:
    """Every timeout would wait for ever, which looks like a hanging broker. One that jumps by itself is not told of."""
    with serving("--clock", "virtual") as broker:
        broker.until_logged("clock.stopped")
    for moved in (("--clock", "virtual", "--control", "127.0.0.1:0"), ("--clock", "auto")):
        with serving(*moved) as broker:
            broker.stop()
            assert "clock.stopped" not in broker.stderr()


# ── What can't be ─────────────────────────────────────────────────────────────────────────────────────────────────────

WRONG = {
    "listen": (["--listen", "9092"], "--listen 9092 is not HOST:PORT"),
    "listen_port": (["--listen", "127.0.0.1:99999"], "--listen 127.0.0.1:99999: the port is"),
    "listen_ipv6_without_brackets": (["--listen", "::1:9092"], "--listen ::1:9092 is not HOST:PORT"),
    "listen_everywhere": (["--listen", "0.0.0.0:9092"], "add for example --advertise localhost:9092"),
    "advertise_everywhere": (["--advertise", "0.0.0.0:9092"], "--advertise 0.0.0.0:9092 is no address"),
    "listen_twice": (["--listen", "127.0.0.1:1", "--listen", "127.0.0.1:2"], "two listeners are called PLAINTEXT"),
    "listen_ssl": (["--listen", "SSL://127.0.0.1:1"], "--listen SSL://127.0.0.1:1: SSL is not served"),
    "listen_too_near": (
        ["--nodes", "2", "--listen", "127.0.0.1:9092", "--listen", "HOST://127.0.0.1:9093"],
        "--listen HOST://127.0.0.1:9093 is too near to PLAINTEXT://127.0.0.1:9092",
    ),
    "advertise_stranger": (["--advertise", "HOST://here:1"], "there is no listener HOST; the listeners are PLAINTEXT"),
    "listeners": (["--set", "listeners=127.0.0.1:9092"], "listeners: 127.0.0.1:9092 is not NAME://HOST:PORT"),
    "control_without_host": (["--control", ":9644"], "--control :9644 is not HOST:PORT"),
    "control_port_only": (["--control", "9644"], "--control 9644 is not HOST:PORT"),
    "no_nodes": (["--nodes", "0"], "--nodes 0 is not from 1 to 100"),
    "too_many_nodes": (["--nodes", "101"], "--nodes 101 is not from 1 to 100"),
    "nodes_beyond_ports": (["--nodes", "3", "--listen", "127.0.0.1:65534"], "choose a port up to 65533"),
    "nodes_no_number": (["--nodes", "many"], "argument --nodes: invalid int value: 'many'"),
    "setting_value": (["--set", "num.partitions=x"], "num.partitions=x is not a whole number"),
    "setting_range": (["--set", "num.partitions=0"], "num.partitions=0 is not a whole number, at least 1"),
    "setting_form": (["--set", "num.partitions"], "is not name=value"),
    "clock": (["--clock", "stopped"], "argument --clock: there is no stopped; there are system, virtual"),
    "log_level": (["--log-level", "loud"], "argument --log-level: there is no loud; there are"),
    "no_such_option": (
        ["--port", "9092"],
        "unrecognized arguments: --port 9092; `ottla serve --help` shows what can be given",
    ),
    "misspelt_option": (
        ["--lisen=127.0.0.1:0"],
        "unrecognized arguments: --lisen=127.0.0.1:0; did you mean --listen? `ottla serve --help` shows",
    ),
    "misspelt_choice": (["--clock", "virtal"], "argument --clock: there is no virtal; did you mean virtual?"),
    "control_on_listener": (
        ["--listen", "127.0.0.1:9092", "--control", "127.0.0.1:9092"],
        "--control 127.0.0.1:9092: the listener PLAINTEXT has that port already; choose another one; port 0",
    ),
    "control_on_node": (
        ["--listen", "127.0.0.1:9092", "--nodes", "3", "--control", "0.0.0.0:9094"],
        "--control 0.0.0.0:9094: the listener PLAINTEXT has that port already",
    ),
    "abbreviated_option": (["--node", "3"], "unrecognized arguments: --node"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_what_the_user_wrote_wrong_is_one_line_and_exit_code_2(arguments: list[str], said: str) -> None:
    """The line names the option or setting, the value, and what would do."""
    ended = ottla("serve", *arguments)
    assert said in only_line(ended.stderr)
    assert ended.returncode == 2
    assert ended.stdout == ""


def test_config_file_that_is_no_text_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    """Bytes that no editor wrote."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    ended = ottla("serve", "--config", str(tmp_path / "binary"))
    assert "is not text in UTF-8" in only_line(ended.stderr)
    assert ended.returncode == 2


@pytest.mark.parametrize("option", ["--listen", "--control"])
def test_busy_port_is_one_line_and_exit_code_1(option: str) -> None:
    """The line names the option, the port, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        listen = ["--listen", "127.0.0.1:0"] if option == "--control" else []
        ended = ottla("serve", *listen, option, f"127.0.0.1:{port}", "--set", "no.such.setting=1")
    line = only_line(ended.stderr)
    assert f"{option}: cannot listen on 127.0.0.1:{port}: Address already in use" in line
    assert "choose another port" in line
    assert ended.returncode == 1
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--set", "listeners=PLAINTEXT://192.0.2.1:9092"],
            "listeners: cannot listen on 192.0.2.1:9092: Cannot assign",
        ),
        (["--set", "listeners=PLAINTEXT://192.0.2.1:9092"], "of this machine; change listeners=NAME://HOST:PORT"),
        (["--listen", "192.0.2.1:9092"], "the host must be a name or an address of this machine"),
        (["--listen", "no-such-host.invalid:9092"], "the host must be a name or an address of this machine"),
        (["--config", "/no/such/server.properties"], "--config: cannot read /no/such/server.properties: No such file"),
        (["--config", "/"], "--config: cannot read /: Is a directory"),
        (["--journal", "/no/such/journal"], "--journal: cannot write /no/such/journal: No such file or directory"),
        (["--journal", "/"], "--journal: cannot write /: Is a directory"),
    ],
)
def test_what_the_machine_refuses_is_one_line_and_exit_code_1(arguments: list[str], said: str) -> None:
    """A host that is not here, a file that can't be had."""
    ended = ottla("serve", *arguments)
    assert said in only_line(ended.stderr)
    assert ended.returncode == 1


def test_no_command_is_one_line_and_exit_code_2() -> None:
    """Nobody is left with a stack of help."""
    ended = ottla()
    assert "COMMAND" in only_line(ended.stderr)
    assert ended.returncode == 2


def test_help_shows_every_honoured_setting_with_default_and_unit() -> None:
    """The table of settings is the help."""
    ended = ottla("serve", "--help")
    assert ended.returncode == 0
    assert re.search(r"group\.initial\.rebalance\.delay\.ms +3000 ms +How long", ended.stdout)
    assert re.search(r"offsets\.retention\.minutes +10080 minutes +", ended.stdout)
    for option in ("listen", "advertise", "nodes", "config", "set", "clock", "control", "journal", "log-level"):
        assert f"--{option} " in ended.stdout


# ── The end ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_broker_in_order(number: signal.Signals) -> None:
    """Exit code 0, whoever is connected; nobody can connect afterwards.

    The tests may run under nohup themselves: the broker gets the signal's usual answer back.
    """
    usual = partial(signal.signal, number, signal.SIG_DFL)
    with serving(preexec_fn=usual) as broker, Client(broker.bootstrap) as client:
        client.ask(ApiVersionsRequest(), 0)
        broker.process.send_signal(number)
        assert broker.process.wait(PATIENCE_SECONDS) == 0
        assert [event["event"] for event in broker.logged()] == ["broker.stop.requested", "broker.stopped"]
        with pytest.raises(ConnectionRefusedError):
            Client(broker.bootstrap)


def test_a_broker_started_with_nohup_outlives_its_terminal() -> None:
    """SIGHUP is ignored then, as by other programs."""
    with serving(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as broker:
        broker.process.send_signal(signal.SIGHUP)
        with Client(broker.bootstrap) as client:
            assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        assert broker.stop() == 0
        assert [event["signal"] for event in broker.logged() if "signal" in event] == ["SIGTERM"]


def test_a_log_that_is_not_read_stops_neither_clients_nor_the_end() -> None:
    """A pipe takes 64 KiB; 1,000 topics make more than that of lines."""
    topics = [CreateTopicsRequest.CreatableTopic(f"topic-{number}", 1, 1) for number in range(1_000)]
    with serving(stderr=subprocess.PIPE) as broker, Client(broker.bootstrap) as client:
        assert len(client.ask(CreateTopicsRequest(topics, 10_000), 5).topics) == len(topics)
        assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        assert broker.stop() == 0
        assert broker.process.stderr is not None
        broker.process.stderr.close()


def test_broker_serves_where_there_is_no_uvloop() -> None:
    """On asyncio's own loop, and ends in order there too."""
    with serving(env={**os.environ, "PYTHONPATH": str(WITHOUT_UVLOOP)}) as broker:
        with Client(broker.bootstrap) as client:
            assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        loaded = Path(f"/proc/{broker.process.pid}/maps").read_text()
        assert "uvloop" not in loaded
        assert broker.stop() == 0
        assert [event["event"] for event in broker.logged()] == ["broker.stop.requested", "broker.stopped"]


def test_parked_answers_leave_before_the_broker_does() -> None:
    """A member that waits for others in its first rebalance is told that the coordinator goes."""
    with (
        serving("--set", "group.initial.rebalance.delay.ms=600000", "--log-level", "debug") as broker,
        Client(broker.bootstrap) as client,
    ):
        assert client.ask(FindCoordinatorRequest("g"), 1).error_code == ErrorCode.NONE
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
        client.send(JoinGroupRequest("g", 10_000, 10_000, "", None, "consumer", protocols), 3)
        broker.until_logged("group.rebalance.started")
        broker.process.terminate()
        assert client.receive().message.error_code == ErrorCode.NOT_COORDINATOR
        assert broker.process.wait(PATIENCE_SECONDS) == 0


def test_client_that_reads_nothing_delays_the_end_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers are dropped then; the broker stops."""
    monkeypatch.setattr(sockets, "FLUSH_SECONDS_MAX", 0.05)
    with Broker() as kafka, Client(kafka.bootstrap_servers) as client:
        fill_with_unread_answers(client, 20_000_000)
        kafka.stop()
        with pytest.raises(ConnectionClosedError):
            client.receive()


def test_a_second_signal_ends_the_broker_at_once() -> None:
    """While the first one's orderly end waits for a client that does not read its answers."""
    with serving() as broker, Client(broker.bootstrap) as client:
        fill_with_unread_answers(client, 20_000_000)
        broker.process.terminate()
        broker.until_logged("broker.stop.requested")
        broker.process.send_signal(signal.SIGINT)
        assert broker.process.wait(PATIENCE_SECONDS) == 1
        assert "broker.stopped" not in broker.stderr()


def test_a_signal_before_anything_has_begun_is_an_orderly_end_too(tmp_path: Path) -> None:
    """Ctrl-C while the program still loads leaves no traceback."""
    (tmp_path / "uvloop.py").write_text("import time; print('loading', flush=True); time.sleep(600)")
    process = subprocess.Popen(
        [PROGRAM, "serve"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, stderr) == (0, "")


# ── Streams that go away ──────────────────────────────────────────────────────────────────────────────────────────────


def serves(port: int) -> bool:
    try:
        with Client(f"127.0.0.1:{port}") as client:
            return bool(client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE)
    except OSError:
        return False


def test_broken_stdout_does_not_keep_the_broker_from_serving() -> None:
    """Whoever started it is gone; clients are not. The end is orderly all the same."""
    (port,) = free_ports(1)
    reading, writing = os.pipe()
    os.close(reading)
    with serving_silently(port, stdout=writing) as process:
        os.close(writing)
        until(lambda: serves(port), "it serves")
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


def test_closed_stdout_and_stderr_do_not_keep_the_broker_from_serving() -> None:
    """As daemons are started: nothing is open but what they open themselves."""
    (port,) = free_ports(1)

    def close() -> None:
        os.close(1)
        os.close(2)

    with serving_silently(port, preexec_fn=close) as process:
        until(lambda: serves(port), "it serves")
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


def test_broken_stderr_drops_log_lines_and_disturbs_nobody() -> None:
    """A log line about one client's nonsense must not fail for another's sake."""
    (port,) = free_ports(1)
    reading, writing = os.pipe()
    with serving_silently(port, stderr=writing) as process:
        os.close(writing)
        until(lambda: serves(port), "it serves")
        os.close(reading)
        with socket.create_connection(("127.0.0.1", port)) as nonsense:
            nonsense.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert nonsense.recv(1) == b""  # closed, after a log line that nobody could read
        assert serves(port)
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


def serving_silently(port: int, **options: Any) -> Killed:
    """`ottla serve` with streams that don't tell when it is ready; killed at the end of the `with`."""
    return Killed([PROGRAM, "serve", "--listen", f"127.0.0.1:{port}"], **options)


class Killed(subprocess.Popen[bytes]):
    """A process that doesn't outlive its `with`."""

    def __exit__(self, *error: object) -> None:
        self.kill()
        super().__exit__(*error)  # type: ignore[arg-type]


def test_log_lines_are_json_unless_a_terminal_reads_them() -> None:
    """Machines get one object a line, with what happened up front."""
    with serving() as broker:
        assert broker.stop() == 0
        first = broker.stderr().splitlines()[0]
        assert list(json.loads(first)) == ["timestamp", "level", "event", "signal"]
