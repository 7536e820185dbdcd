"""Who gets into the control API of a broker that serves: over its sockets, and with its options."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.script import GET, POST, Script, read_all
from tests.cli.terminal import Serving, only_line, ottla, serving
from tests.support.patience import PATIENCE_SECONDS

TOKEN = "only-for.tests_~+/="
CONTROL = ("--control", "127.0.0.1:0")
END = b"Connection: close\r\n\r\n"
AUTHORIZED = b"Authorization: Bearer %s\r\n" % TOKEN.encode()


def statuses(said: bytes) -> list[int]:
    return [int(line.split()[1]) for line in said.splitlines() if line.startswith(b"HTTP/1.1 ")]


@pytest.fixture(scope="module")
def open_here() -> Iterator[Script[Serving]]:
    """A broker that asks for no token, as those on loopback may."""
    with serving("--control", "127.0.0.1:0", "--clock", "virtual") as broker:
        yield Script(broker)


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(f"{TOKEN}\n")
    return path


@pytest.fixture(scope="module")
def locked(token_file: Path) -> Iterator[Script[Serving]]:
    """A broker that listens on every interface, and tells clients to call it ottla."""
    advertised = ("--advertise", "ottla:9092")
    with serving("--control", "0.0.0.0:0", "--control-token-file", str(token_file), *advertised) as broker:
        yield Script(broker)


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (GET + END, 200),
        (GET.replace(b"localhost", b"evil.example:9644") + END, 403),
        (GET.replace(b"localhost", b"192.0.2.1") + END, 403),
        (GET.replace(b"Host: localhost\r\n", b"") + END, 400),
        (GET.replace(b"HTTP/1.1\r\nHost: localhost", b"HTTP/1.0") + END, 403),
        (GET + b"Host: localhost\r\n" + END, 400),
        (GET + b"Origin: null\r\n" + END, 403),
        (GET + b"Origin: http://localhost:3000\r\n" + END, 403),
        (GET + b"Origin: http://localhost\r\n" + END, 200),
        (POST + b"Content-Length: 8\r\n" + END + b'{"ms":0}', 200),
        (POST + b"Origin: http://evil.example\r\nContent-Length: 8\r\n" + END + b'{"ms":0}', 403),
        (POST.replace(b"application/json", b"text/plain") + b"Content-Length: 8\r\n" + END + b'{"ms":0}', 415),
        (POST.replace(b"Content-Type: application/json\r\n", b"") + b"Content-Length: 8\r\n" + END + b'{"ms":0}', 415),
        (b"OPTIONS" + POST[4:] + b"Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n" + END, 403),
    ],
    ids=[
        *("own", "rebound", "other_address", "no_host", "no_host_1_0", "two_hosts", "null", "other_port", "own_page"),
        *("json", "page_json", "page_text", "page_form", "preflight"),
    ],
)
def test_what_a_page_could_send_is_refused(open_here: Script[Serving], said: bytes, status: int) -> None:
    """With a sentence, and without the head that would let the page read it."""
    with open_here.raw() as client:
        client.sendall(said)
        answer = read_all(client)
    assert statuses(answer) == [status]
    head, _, body = answer.partition(b"\r\n\r\n")
    assert ("error" in json.loads(body)) == (status != 200)
    assert b"access-control-" not in head.lower()


def test_refused_advance_moves_nothing(open_here: Script[Serving]) -> None:
    """And the connection is good for what may be asked."""
    before = open_here.get("/clock")
    body = b'Content-Length: 9\r\n\r\n{"ms":99}'
    with open_here.raw() as client:
        client.sendall(POST.replace(b"application/json", b"text/plain") + body + GET + END)
        assert statuses(read_all(client)) == [415, 200]
    assert open_here.get("/clock")["now_ms"] == before["now_ms"]


def test_body_of_a_refused_request_is_not_asked_for(open_here: Script[Serving]) -> None:
    """Who wants to know first whether to send it is told not to."""
    with open_here.raw() as client:
        client.sendall(POST + b"Origin: null\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n")
        assert statuses(read_all(client)) == [403]


def test_ipv6_literals_are_addresses_too() -> None:
    """In brackets, as the ready line has them."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("there is no IPv6 here")
    with serving("--control", "[::1]:0") as broker:
        port = int(broker.control.rpartition(":")[2])
        assert broker.control == f"[::1]:{port}"
        for host, status in ((broker.control, 200), ("[::2]", 403)):
            with socket.create_connection(("::1", port), timeout=PATIENCE_SECONDS) as client:
                client.sendall(GET.replace(b"localhost", host.encode()) + END)
                assert statuses(read_all(client)) == [status]
        assert ottla("nodes", "--control", broker.control).returncode == 0


# ── The token ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_the_token_nothing_is_answered(locked: Script[Serving]) -> None:
    """401, with the head that says what is missing; and the same for what is not there."""
    for path in (b"/clock", b"/health", b"/", b"/nix"):
        for authorization in (b"", b"Authorization: Bearer guess\r\n"):
            with locked.raw() as client:
                client.sendall(GET.replace(b"/clock", path) + authorization + END)
                answer = read_all(client)
            assert statuses(answer) == [401]
            assert b"\r\nWWW-Authenticate: Bearer\r\n" in answer
            assert TOKEN.encode() not in answer


def test_with_the_token_everything_is_answered_under_every_name_of_its_own(locked: Script[Serving]) -> None:
    """The address that was reached, the one that is listened on, and the name that clients are told."""
    for host, status in (("127.0.0.1", 200), ("0.0.0.0:1", 200), ("ottla:9644", 200), ("evil.example", 403)):
        with locked.raw() as client:
            client.sendall(GET.replace(b"localhost", host.encode()) + AUTHORIZED + END)
            assert statuses(read_all(client)) == [status]


def test_commands_know_the_token_from_a_file_or_the_environment(locked: Script[Serving], token_file: Path) -> None:
    """Or from an option, before or behind the action."""
    where = ("--control", locked.broker.control)
    assert ottla("nodes", *where, "--control-token-file", str(token_file)).returncode == 0
    assert ottla("nodes", "list", *where, env={**os.environ, "OTTLA_CONTROL_TOKEN": TOKEN}).returncode == 0
    assert ottla("nodes", "--control-token", TOKEN, "start", "1", *where).returncode == 0
    for options, said in (((), "asks for a token"), (("--control-token", "guess"), "asks for another token")):
        ended = ottla("nodes", *where, *options)
        assert said in only_line(ended.stderr)
        assert "--control-token-file FILE" in ended.stderr
        assert ended.returncode == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_from_the_environment_locks_the_broker(host: str) -> None:
    """On loopback as well, where there need be none."""
    with serving("--control", f"{host}:0", env={**os.environ, "OTTLA_CONTROL_TOKEN": TOKEN}) as broker:
        assert Script(broker).ask("GET", "/health")[0] == 401


def test_token_is_said_nowhere(token_file: Path) -> None:
    """Not in the log, whatever happens, and not in the list of processes."""
    options = ("--control", "127.0.0.1:0", "--control-token-file", str(token_file), "--log-level", "debug")
    with serving(*options) as broker:
        with Script(broker).raw() as client:
            client.sendall(GET + AUTHORIZED + b"\r\n" + b"nonsense" + AUTHORIZED + b"\r\n")
            assert statuses(read_all(client)) == [200, 400]
        assert TOKEN not in Path(f"/proc/{broker.process.pid}/cmdline").read_text()
        broker.stop()
        assert TOKEN not in broker.ready_line + broker.stderr()


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_other_machines_are_let_in_with_a_token_only(host: str) -> None:
    """One line says so, and how to have it otherwise."""
    if host == "[::]" and not socket.has_dualstack_ipv6():
        pytest.skip("there is no IPv6 here")
    ended = ottla("serve", "--listen", "127.0.0.1:0", "--control", f"{host}:0")
    line = only_line(ended.stderr)
    assert f"--control {host}:0 lets other machines in" in line
    assert "--control-token-file FILE" in line
    assert (ended.returncode, ended.stdout) == (2, "")


@pytest.mark.parametrize("content", ["", "\n", "two words", "t\u00f6ken", "a\nb", "\x1b[2J"])
def test_what_is_no_token_is_one_line_and_exit_code_2(content: str, tmp_path: Path) -> None:
    """Which doesn't repeat it."""
    file = tmp_path / "token"
    file.write_text(content)
    for command in (("serve", *CONTROL), ("nodes",)):
        ended = ottla(*command, "--control-token-file", str(file))
        assert only_line(ended.stderr).startswith(f"ottla: --control-token-file {file} has no token")
        assert ended.returncode == 2
        assert ottla(*command, env={**os.environ, "OTTLA_CONTROL_TOKEN": content}).returncode == 2


def test_token_from_two_places_or_from_none_is_one_line(tmp_path: Path) -> None:
    """What was written is exit code 2, a file that can't be read is 1."""
    both = ottla("serve", *CONTROL, "--control-token", TOKEN, "--control-token-file", str(tmp_path))
    assert "are both given" in only_line(both.stderr)
    assert TOKEN not in both.stderr
    assert both.returncode == 2
    missing = ottla("serve", *CONTROL, "--control-token-file", "/no/such/token")
    assert "--control-token-file: cannot read /no/such/token: No such file" in only_line(missing.stderr)
    assert missing.returncode == 1


@pytest.mark.parametrize("option", ["--control-token", "--control-token-file"])
def test_token_without_a_control_api_is_one_line_and_exit_code_2(option: str) -> None:
    """It would protect nothing. The environment may have one, for the commands that ask another broker."""
    ended = ottla("serve", option, TOKEN)
    assert only_line(ended.stderr).startswith(
        f"ottla: {option} without --control does nothing; add --control HOST:PORT"
    )
    assert TOKEN not in ended.stderr
    assert (ended.returncode, ended.stdout) == (2, "")
