"""The health check of the container image: a program that asks the port, and the file that tells it where."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from tests.cli.terminal import only_line, serving
from tests.cli.terminal import ottla as run_ottla
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports

SOURCE: Final = Path(__file__).parents[2] / "container" / "health.c"

Health: TypeAlias = Callable[[Path], subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def health(tmp_path_factory: pytest.TempPathFactory) -> Health:
    """Ask where a file says, as the image does: it has the program in C."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("the image is for Linux, and its health check in C")
    program = tmp_path_factory.mktemp("health") / "ottla-health"
    subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True, timeout=PATIENCE_SECONDS
    )
    return lambda path: subprocess.Popen([program], env={"OTTLA_READY_FILE": str(path)})


def test_a_broker_that_answers_is_healthy_until_it_ends(health: Health, tmp_path: Path) -> None:
    """The file is there before the ready line, and goes with the broker."""
    path = tmp_path / "ready"
    with serving("--ready-file", str(path)) as broker:
        assert path.read_text() == f"{broker.bootstrap}\n"
        assert health(path).wait(PATIENCE_SECONDS) == 0
        assert broker.stop() == 0
        assert not path.exists()
        assert health(path).wait(PATIENCE_SECONDS) == 1


def test_a_broker_on_every_interface_is_asked_on_the_loopback(health: Health, tmp_path: Path) -> None:
    """What is advertised may be a name that means nothing inside of the container."""
    path = tmp_path / "ready"
    (port,) = free_ports(1)
    advertise = ["--advertise", f"no-such-host.invalid:{port}"]
    with serving("--ready-file", str(path), *advertise, listen=f"0.0.0.0:{port}"):
        assert path.read_text() == f"127.0.0.1:{port}\n"
        assert health(path).wait(PATIENCE_SECONDS) == 0


def test_one_node_that_answers_is_enough(health: Health, tmp_path: Path) -> None:
    """A test may have stopped the first one."""
    path = tmp_path / "ready"
    with serving("--nodes", "2", "--control", "127.0.0.1:0", "--ready-file", str(path)) as broker:
        assert len(path.read_text().splitlines()) == 2
        assert run_ottla("nodes", "stop", "1", "--control", broker.control).returncode == 0
        assert health(path).wait(PATIENCE_SECONDS) == 0


def test_a_broker_that_was_killed_is_not_healthy(health: Health, tmp_path: Path) -> None:
    """It left its file, and nobody listens there."""
    path = tmp_path / "ready"
    with serving("--ready-file", str(path)) as broker:
        broker.process.kill()
        broker.process.wait(PATIENCE_SECONDS)
        assert path.exists()
        assert health(path).wait(PATIENCE_SECONDS) == 1


def test_a_port_where_another_program_closes_is_not_healthy(health: Health, tmp_path: Path) -> None:
    """To be connected is not enough."""
    path = tmp_path / "ready"
    with socket.create_server(("127.0.0.1", 0)) as other:
        path.write_text(f"127.0.0.1:{other.getsockname()[1]}\n")
        asking = health(path)
        other.settimeout(PATIENCE_SECONDS)
        connection, _ = other.accept()
        connection.close()
        assert asking.wait(PATIENCE_SECONDS) == 1


def test_a_ready_file_that_cannot_be_written_is_one_line_and_exit_code_1() -> None:
    """Whoever waits for it would wait for ever."""
    ended = run_ottla("serve", "--listen", "127.0.0.1:0", "--ready-file", "/no/such/ready")
    assert "--ready-file: cannot write /no/such/ready: No such file or directory" in only_line(ended.stderr)
    assert ended.returncode == 1
