"""The health check of the container image: a script that asks the port, and the file that tells it where."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import ottla
from tests.cli.terminal import SECONDS_MAX, only_line, serving
from tests.cli.terminal import ottla as run_ottla
from tests.support.ports import free_ports

SCRIPT: Final = Path(ottla.__file__).parent / "cli" / "health.py"


def health(path: Path) -> int:
    """The exit code, of a Python without site-packages: the script may need nothing of them."""
    return subprocess.run([sys.executable, "-I", "-S", SCRIPT, path], timeout=SECONDS_MAX, check=False).returncode


def test_a_broker_that_answers_is_healthy_until_it_ends(tmp_path: Path) -> None:
    """The file is there before the ready line, and goes with the broker."""
    path = tmp_path / "ready"
    with serving("--ready-file", str(path)) as broker:
        assert path.read_text() == f"{broker.bootstrap}\n"
        assert health(path) == 0
        assert broker.stop() == 0
        assert not path.exists()
        assert health(path) == 1


def test_a_broker_on_every_interface_is_asked_on_the_loopback(tmp_path: Path) -> None:
    """What is advertised may be a name that means nothing inside of the container."""
    path = tmp_path / "ready"
    (port,) = free_ports(1)
    advertise = ["--advertise", f"no-such-host.invalid:{port}"]
    with serving("--ready-file", str(path), *advertise, listen=f"0.0.0.0:{port}"):
        assert path.read_text() == f"127.0.0.1:{port}\n"
        assert health(path) == 0


def test_one_node_that_answers_is_enough(tmp_path: Path) -> None:
    """A test may have stopped the first one."""
    path = tmp_path / "ready"
    with serving("--nodes", "2", "--control", "127.0.0.1:0", "--ready-file", str(path)) as broker:
        assert len(path.read_text().splitlines()) == 2
        assert run_ottla("nodes", "stop", "1", "--control", broker.control).returncode == 0
        assert health(path) == 0


def test_a_broker_that_was_killed_is_not_healthy(tmp_path: Path) -> None:
    """It left its file, and nobody listens there."""
    path = tmp_path / "ready"
    with serving("--ready-file", str(path)) as broker:
        broker.process.kill()
        broker.process.wait(SECONDS_MAX)
        assert path.exists()
        assert health(path) == 1


def test_a_port_where_another_program_closes_is_not_healthy(tmp_path: Path) -> None:
    """To be connected is not enough."""
    path = tmp_path / "ready"
    with socket.create_server(("127.0.0.1", 0)) as other:
        path.write_text(f"127.0.0.1:{other.getsockname()[1]}\n")
        asking = subprocess.Popen([sys.executable, "-I", "-S", SCRIPT, path])
        other.settimeout(SECONDS_MAX)
        connection, _ = other.accept()
        connection.close()
        assert asking.wait(SECONDS_MAX) == 1


def test_a_ready_file_that_cannot_be_written_is_one_line_and_exit_code_1() -> None:
    """Whoever waits for it would wait for ever."""
    ended = run_ottla("serve", "--listen", "127.0.0.1:0", "--ready-file", "/no/such/ready")
    assert "--ready-file: cannot write /no/such/ready: No such file or directory" in only_line(ended.stderr)
    assert ended.returncode == 1
