"""The pages on containers, CI and other languages show only what is so.

Programs are run where their tool is there. Where Docker would be needed, what the page hands to it is checked: options
are Ottla's, ports are those that are advertised, and a broker is started with the very command.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from ottla.broker.network.endpoints import Endpoint, read_endpoints
from ottla.cli import make_parser
from ottla.settings.settings import Settings
from tests.cli.terminal import until
from tests.cli.test_environment import read
from tests.support.pages import ROOT, commands_in, files_in, page, write_files
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports

#: With everything to be downloaded and compiled.
DOWNLOADS_SECONDS_MAX: Final = 3 * PATIENCE_SECONDS

#: Instead of Docker: the program of the page runs as it is, and its container is a process with the same command.
WITHOUT_DOCKER: Final = """\
import subprocess
from unittest import mock

from testcontainers.core import container


def start(self):
    self._process = subprocess.Popen(["ottla", *self._command], stdout=subprocess.PIPE, text=True)
    assert self._process.stdout.readline().startswith("ottla ready")
    return self


def stop(self, *_arguments, **_options):
    self._process.terminate()
    self._process.communicate()


mock.patch.object(container, "DockerClient").start()
mock.patch.object(container.DockerContainer, "start", start).start()
mock.patch.object(container.DockerContainer, "stop", stop).start()
"""

pytestmark = pytest.mark.own_broker


def in_folder(folder: Path, *command: str, seconds_max: float = PATIENCE_SECONDS) -> None:
    """Run it with the `ottla` of this installation on the PATH, as at a user's."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=seconds_max,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def need(*tools: str) -> None:
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"needs `{missing[0]}`, which is not on the PATH")


def is_open(port: int) -> bool:
    """Whether somebody listens on this port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def endpoints_of(command: list[str]) -> tuple[Endpoint, ...]:
    """Where a broker with this command listens, and what it tells clients. Options that there are not end the test."""
    options = make_parser().parse_args(command)
    return tuple(read_endpoints(Settings.read("", options.set or []), options.listen or [], options.advertise or []))


def test_start_page_shows_a_test_that_passes(tmp_path: Path) -> None:
    name = "test_orders.py"
    (tmp_path / name).write_text(files_in(page("index.md"))[name])
    in_folder(tmp_path, sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", name)


@pytest.mark.soak(alone=True)
def test_jest_passes(tmp_path: Path) -> None:
    need("npm", "npx", "node")
    text = page("jest.md")
    assert write_files(text, tmp_path) == ["jest.config.js", "ottla.setup.js", "ottla.teardown.js", "kitchen.test.js"]
    in_folder(tmp_path, "sh", "-ec", "\n".join(commands_in(text)), seconds_max=DOWNLOADS_SECONDS_MAX)


@pytest.mark.soak(alone=True)
def test_dotnet_passes(tmp_path: Path) -> None:
    need("dotnet")
    write_files(page("dotnet.md"), tmp_path)
    in_folder(tmp_path, *commands_in(page("dotnet.md"))[0].split(), seconds_max=DOWNLOADS_SECONDS_MAX)


def test_dotnet_starts_a_broker_that_can_be_started() -> None:
    """Whether there is a dotnet here or not."""
    (command,) = re.findall(r'^ +"(serve .*)";$', files_in(page("dotnet.md"))["Ottla.cs"], re.MULTILINE)
    (endpoint,) = endpoints_of(command.split())
    assert str(endpoint.listen) == "127.0.0.1:0"


def test_container_of_the_page_is_the_broker_that_its_python_program_wants(tmp_path: Path) -> None:
    """With a process in Docker's place."""
    files = files_in(page("testcontainers.md"))
    (tmp_path / "conftest.py").write_text(WITHOUT_DOCKER)
    (tmp_path / "test_container.py").write_text(files["test_container.py"])
    in_folder(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio")


@pytest.mark.soak(alone=True)
def test_containers_java_program_compiles(tmp_path: Path) -> None:
    """Against Testcontainers itself, with the pom.xml of the page on Java and the dependency of this one."""
    need("mvn", "javac")
    text = page("testcontainers.md")
    write_files(text, tmp_path)
    (dependency,) = re.findall(r"^```xml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    pom = files_in(page("other-languages.md"))["pom.xml"]
    (tmp_path / "pom.xml").write_text(pom.replace("</dependencies>", f"{dependency}</dependencies>"))
    in_folder(tmp_path, "mvn", "-q", "-B", "test-compile", seconds_max=DOWNLOADS_SECONDS_MAX)


@pytest.mark.parametrize("name", ["jest.md", "testcontainers.md"])
def test_javascript_of_a_page_is_javascript(name: str, tmp_path: Path) -> None:
    need("node")
    for file in write_files(page(name), tmp_path):
        if file.endswith(".js"):
            in_folder(tmp_path, "node", "--check", file)


@pytest.mark.parametrize(
    "name", ["test_container.py", "src/test/java/kitchen/OttlaContainer.java", "container.test.js"]
)
def test_containers_get_options_that_there_are(name: str) -> None:
    """In each language the same three, and one port for all."""
    said = re.findall(r"--(listen|advertise|set)=([\w.]+(?::|=0)?)", files_in(page("testcontainers.md"))[name])
    assert said == [
        ("listen", "0.0.0.0:"),
        ("advertise", "localhost:"),
        ("set", "group.initial.rebalance.delay.ms=0"),
    ]


def test_compose_file_is_for_containers_and_for_the_host() -> None:
    """The port of the host is published as it is advertised; others wait for the image's own health check."""
    services = yaml.safe_load(files_in(page("compose.md"))["compose.yaml"])["services"]
    kafka = services["kafka"]
    inside, outside = endpoints_of(kafka["command"])
    assert str(inside.advertise) == services["kitchen"]["environment"]["KAFKA_BOOTSTRAP_SERVERS"] == "kafka:9092"
    assert outside.advertise is not None
    assert kafka["ports"] == [f"127.0.0.1:{outside.advertise.port}:{outside.listen.port}"]
    assert services["kitchen"]["depends_on"]["kafka"]["condition"] == "service_healthy"
    assert re.search("^HEALTHCHECK ", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_compose_file_with_control_adds_to_the_other_and_has_a_token() -> None:
    """Its listeners stay, for the command does; without a token a broker that others can reach does not start."""
    kafka = yaml.safe_load(files_in(page("compose.md"))["compose.control.yaml"])["services"]["kafka"]
    assert kafka.keys() == {"ports", "environment"}
    environment, options = read(kafka["environment"])
    assert (options.control, options.clock, environment.ignored) == ("0.0.0.0:9644", "virtual", [])
    assert kafka["ports"] == ["127.0.0.1:9644:9644"]
    assert kafka["environment"]["OTTLA_CONTROL_TOKEN"]


def test_ci_steps_find_the_broker_where_they_look() -> None:
    """The address that steps use is the one the broker advertises, in a process, by the image, and at GitLab."""
    files: dict[str, Any] = {name: yaml.safe_load(text) for name, text in files_in(page("ci-services.md")).items()}
    process = files[".github/workflows/process.yml"]["jobs"]["test"]["steps"]
    serving, asking = process[3]["run"].splitlines()
    (endpoint,) = endpoints_of(serving.removeprefix("ottla ").partition(" >")[0].split())
    assert str(endpoint.listen) == process[4]["env"]["KAFKA_BOOTSTRAP_SERVERS"]
    assert "'^ottla ready'" in asking

    service = files[".github/workflows/service.yml"]["jobs"]["test"]
    (port,) = service["services"]["kafka"]["ports"]
    published, inside = port.split(":")
    assert service["steps"][1]["env"]["KAFKA_BOOTSTRAP_SERVERS"] == f"localhost:{published}"
    assert re.search(rf"^EXPOSE {inside}$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    gitlab = files[".gitlab-ci.yml"]["test"]
    (endpoint,) = endpoints_of(gitlab["services"][0]["command"])
    assert str(endpoint.advertise) == gitlab["variables"]["KAFKA_BOOTSTRAP_SERVERS"]


def test_images_are_built_as_the_dockerfile_can() -> None:
    """From its target of that name."""
    for name in ("compose.md", "testcontainers.md"):
        assert "docker build --target broker --tag ottla ." in commands_in(page(name))
    assert " AS broker\n" in (ROOT / "Dockerfile").read_text()


def test_broker_behind_toxiproxy_advertises_the_proxy() -> None:
    """What the proxy listens to, and what it passes on to, are the two addresses of the broker."""
    text = page("toxiproxy.md")
    serve, _server, create, _toxic = commands_in(text)
    (endpoint,) = endpoints_of(serve.split()[1:])
    assert f"--listen {endpoint.advertise} --upstream {endpoint.listen} " in create
    program = files_in(text)["test_slow_network.py"]
    assert f'@pytest.mark.kafka(listen="{endpoint.listen}", advertise="{endpoint.advertise}")' in program
    assert f'"listen": "{endpoint.advertise}", "upstream": "{endpoint.listen}"' in program


def test_toxiproxy_passes(tmp_path: Path) -> None:
    """With other ports than the page's, so that nobody else has them."""
    need("toxiproxy-server")
    api, listened, proxied = free_ports(3)
    program = files_in(page("toxiproxy.md"))["test_slow_network.py"]
    for port, instead in (("8474", api), ("19091", listened), ("19092", proxied)):
        program = program.replace(port, str(instead))
    (tmp_path / "test_slow_network.py").write_text(program)
    server = subprocess.Popen(["toxiproxy-server", "-port", str(api)], stdout=subprocess.DEVNULL)
    try:
        until(lambda: is_open(api), "toxiproxy answers")
        in_folder(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio")
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)
