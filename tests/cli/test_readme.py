"""The README shows only what is so: its code runs, its commands say what it says they do, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.stage import commit, create, join, produce
from tests.cli.terminal import Serving, ottla, serving
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text()

#: What differs from one run to the next: ports, and ids that clients make.
_VARYING: Final = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\b(ana|test)-[0-9a-f-]+", "MEMBER_ID"),
    (r'"wall_ms": \d+', '"wall_ms": NOW'),
    (r" +", " "),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def programs() -> dict[str, str]:
    """The Python blocks by the file name in their first line."""
    return {block.partition("\n")[0].removeprefix("# "): block for block in blocks("python")}


def commands() -> list[tuple[str, str]]:
    """What is typed in the console blocks, and what is said to come of it."""
    return [
        (command, output)
        for block in blocks("console")
        for command, _, output in (part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    ]


SERVING: Final = [pair for pair in commands() if pair[0].startswith("ottla serve")]
ASKING: Final = [pair for pair in commands() if pair not in SERVING]


def plain(text: str) -> str:
    """The text without what varies."""
    for pattern, word in _VARYING:
        text = re.sub(pattern, word, text)
    return text.strip()


def test_there_is_something_to_test() -> None:
    """The patterns above find what is there."""
    assert len(programs()) == README.count("```python")
    assert len(commands()) == len(re.findall(r"^\$ ", README, re.MULTILINE)) >= 6


#: The program that talks to the `ottla serve` of the console above it.
HELLO: Final = "hello.py"


@pytest.mark.parametrize("name", [name for name in programs() if name != HELLO])
def test_program_runs(name: str, tmp_path: Path) -> None:
    """Tests pass under pytest as in a user's own project, where nothing but Ottla is set up; scripts end well."""
    (tmp_path / name).write_text(programs()[name])
    run = ["-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio"] if name.startswith("test_") else []
    ended = subprocess.run(
        [sys.executable, *run, name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    if name == "two_nodes.py":
        assert ended.stdout == "a cluster of 2 brokers\n"


def test_first_program_prints_what_it_says(tmp_path: Path) -> None:
    """With a broker that is served as the README says, but for its port; docs/index.md shows the same program."""
    assert programs()[HELLO] in (ROOT / "docs" / "index.md").read_text()
    with serving() as broker:
        (tmp_path / HELLO).write_text(programs()[HELLO].replace("127.0.0.1:9092", broker.bootstrap))
        ended = subprocess.run(
            [sys.executable, HELLO], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    assert (ended.stdout, ended.returncode) == ("one coffee\n", 0), ended.stderr


@pytest.fixture(scope="module")
def kitchen() -> Iterator[Serving]:
    """The broker that the README looks into."""
    with (
        serving("--set", "group.initial.rebalance.delay.ms=0") as broker,
        Client(broker.bootstrap, client_id="ana") as client,
    ):
        create(client, "orders", 2)
        produce(client, "orders", 0, 10)
        member_id = join(client, "kitchen", "orders", [0, 1])
        commit(client, "kitchen", "orders", {0: 7}, member_id=member_id, generation_id=1)
        yield broker


@pytest.mark.parametrize(("command", "output"), ASKING, ids=[command for command, _ in ASKING])
def test_command_says_what_the_readme_shows(command: str, output: str, kitchen: Serving) -> None:
    """Columns and figures; ports and member ids are another each time."""
    words = shlex.split(command)
    if words[0] == "ottla":
        assert plain(ottla(*words[1:], "--bootstrap-server", kitchen.bootstrap).stdout) == plain(output)
    elif words[0] == "curl":
        if shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        with serving("--clock", "virtual", "--control", "127.0.0.1:0") as broker:
            words[-1] = re.sub(r"127\.0\.0\.1:\d+", broker.control, words[-1])
            said = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout
        assert plain(said) == plain(output)
    elif words[0] == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert words == ["pip", "install", project["name"]]
    else:
        assert words == ["docker", "compose", "up", "broker"]
        assert re.search(r"^services:\n  broker:$", (ROOT / "docker-compose.yml").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), SERVING, ids=[command for command, _ in SERVING])
def test_broker_says_the_ready_line_that_the_readme_shows(command: str, output: str) -> None:
    """With these options, word for word but for the ports: one of them may be taken on this machine."""
    _ottla, _serve, *options = shlex.split(command.replace("0.0.0.0:9092", "0.0.0.0:0"))
    if options:
        assert options[:2] == ["--listen", "127.0.0.1:0"]
    with serving(*options[2:]) as broker:
        assert plain(broker.ready_line) == plain(output)


def test_options_and_addresses_that_are_named_exist() -> None:
    """Each --option in the text is a command's or the plugin's; the address for containers is the compose file's."""
    commands = (("serve",), ("topics",), ("nodes", "stop"), ("rebalances",), ("pipeline", "export"))
    helps = "".join(ottla(*command, "--help").stdout for command in commands)
    pytest_help = subprocess.run([sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True)
    helps += pytest_help.stdout.replace("=", " ")
    named = set(re.findall(r"`?(--[a-z][a-z-]+)", README))
    assert {option for option in named if f"{option} " not in helps and f"{option}\n" not in helps} == set()
    assert "ottla:9092" in (ROOT / "docker-compose.yml").read_text()


def test_links_lead_to_files() -> None:
    """Every page the README links to is there."""
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    headings = {f"#{title.lower().replace(' ', '-')}" for title in re.findall(r"^#+ (.*)", README, re.MULTILINE)}
    assert [link for link in links if link not in headings and not (ROOT / link).exists()] == []


def test_make_has_the_targets_the_readme_names() -> None:
    """`make run`, `make test`, `make help`."""
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
