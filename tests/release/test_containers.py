"""The Dockerfile, the compose file and the page on them: what they name is there, and brokers start with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from ottla.broker.network.endpoints import read_endpoints
from ottla.settings.settings import Settings
from tests.cli.test_environment import parsed, read
from tests.support.patience import PATIENCE_SECONDS

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text()
PAGE: Final = (ROOT / "docs" / "containers.md").read_text()
SERVICES: Final[dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
COMPOSE_PAGE: Final = (ROOT / "docs" / "compose.md").read_text()


def kafka_on(page: str, opening: str = "") -> dict[str, Any]:
    """The service called kafka of the one file on a page that begins so."""
    (block,) = re.findall(rf"^```yaml\n{opening}(services:.*?)^```", page, re.DOTALL | re.MULTILINE)
    service: dict[str, Any] = yaml.safe_load(block)["services"]["kafka"]
    return service


BROKERS: Final = {
    "broker": (SERVICES["broker"], {"ottla:9092", "localhost:29092"}),
    "kafka": (SERVICES["kafka"], {"kafka:19092", "localhost:9092"}),
    "docs/containers.md": (kafka_on(PAGE), {"kafka:19092", "localhost:9092"}),
    "docs/compose.md": (kafka_on(COMPOSE_PAGE, "# compose.kafka.yaml\n"), {"kafka:9092", "localhost:29092"}),
}


@pytest.mark.parametrize("name", BROKERS)
def test_a_broker_of_a_compose_file_is_reached_by_containers_and_by_the_host(name: str) -> None:
    """Its variables can be used, and the port that the host is told is published, on the port that is listened on."""
    service, reached = BROKERS[name]
    environment, options = read({name: str(text) for name, text in service["environment"].items()})
    settings = Settings.read("", (), environment.settings)
    listen, advertise = environment.listeners(settings, options.listen, options.advertise)
    endpoints = read_endpoints(settings, listen, advertise)
    assert {str(endpoint.advertise) for endpoint in endpoints} == reached
    published = {tuple(map(int, ports.split(":")[-2:])) for ports in service["ports"]}
    assert published == {
        (e.advertise.port, e.listen.port) for e in endpoints if e.advertise and e.advertise.host == "localhost"
    }
    assert all(endpoint.listen.is_wildcard for endpoint in endpoints)
    assert environment.ignored == []
    assert settings.unknown == {}


def test_services_that_wait_for_the_broker_are_in_a_profile_of_their_own() -> None:
    """`docker compose up` starts a broker, and no Spark."""
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == ["broker"]
    targets = set(re.findall(r"^FROM \S+ AS (\S+)", DOCKERFILE, re.MULTILINE))
    assert {service["build"]["target"] for service in SERVICES.values()} <= targets


def test_no_image_runs_as_root() -> None:
    """Each stage that is an image names a user."""
    stages = re.split(r"^FROM \S+ AS ", DOCKERFILE, flags=re.MULTILINE)[1:]
    images = {stage.split()[0]: stage for stage in stages if not stage.startswith("broker-root")}
    assert set(images) == {"broker", "pipeline"}
    assert [name for name, stage in images.items() if not re.search(r"^USER (?!root|0\b)", stage, re.MULTILINE)] == []


def test_the_image_names_what_is_there() -> None:
    """Variables that are options, the program of the health check, what is copied."""
    variables = {f"OTTLA_{action.dest.upper()}" for action in parsed()[0]}
    assert set(re.findall(r"(OTTLA_\w+)=", DOCKERFILE)) <= variables
    (program,) = re.findall(r'^HEALTHCHECK .* CMD \["([\w-]+)"\]$', DOCKERFILE, re.MULTILINE)
    assert f"cc -O2 -s -o /root-of-image/usr/local/bin/{program} container/health.c" in DOCKERFILE
    copied = [word for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()]
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_variables_on_the_page_are_options_or_settings() -> None:
    """Each has an effect, or is said to have none."""
    named = dict.fromkeys(re.findall(r"\b(OTTLA_[A-Z_]*[A-Z])\b", PAGE), "3")
    known = {f"OTTLA_{action.dest.upper()}" for action in parsed()[0]}
    assert read({name: text for name, text in named.items() if name not in known})[0].ignored == []


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("strip") is None or shutil.which("ldd") is None,
    reason="the image is built on Linux, with strip and ldd",
)
def test_the_root_of_the_image_is_a_python_that_stands_alone(tmp_path: Path) -> None:
    """It starts there, imports what Ottla and its wheels need of it, compiled, and has no tests and no pip."""
    site, root = tmp_path / "site", tmp_path / "root"
    (site / "small" / "tests").mkdir(parents=True)
    (site / "small" / "__init__.py").write_text("WORD = 'here'\n")
    (site / "small" / "tests" / "__init__.py").touch()
    subprocess.run([ROOT / "container" / "root.sh", sys.executable, site, root], check=True, timeout=PATIENCE_SECONDS)
    python = root / "usr" / "local" / "bin" / "python3"
    imports = "import asyncio, ctypes, hashlib, small, ssl, sys, unittest, zlib"
    script = f"{imports}; print(sys.prefix, small.WORD, small.__cached__, 'pip' in sys.modules)"
    said = subprocess.run(
        [python, "-B", "-I", "-c", script],
        env={"LD_LIBRARY_PATH": str(root / "usr" / "lib")},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    ).stdout.split()
    assert said[:2] == [str(root / "usr" / "local"), "here"]
    assert Path(said[2]).is_file()
    assert {path.name for path in (root / "data").parent.iterdir()} == {"data", "usr"}
    assert [path for path in root.rglob("*") if path.name in {"test", "tests", "ensurepip", "pip"}] == []
