"""What a client library is to the card."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

ROOT: Final = Path(__file__).parents[2]
#: What is installed for the card, a folder for each client and version.
CACHE: Final = ROOT / ".cache" / "compatibility"
PROGRAMS: Final = ROOT / "compatibility" / "programs"

_INSTALL_SECONDS_MAX: Final = 400.0


@dataclass(frozen=True)
class Installed:
    """How to start a client's program, which takes address, client id and security."""

    command: tuple[str, ...]
    #: Of its environment, beside ours.
    variables: Mapping[str, str] = field(default_factory=dict)


class Client(Protocol):
    """A library, in some versions."""

    @property
    def name(self) -> str: ...

    @property
    def language(self) -> str: ...

    @property
    def versions(self) -> Sequence[str]:
        """From oldest to newest."""

    @property
    def since(self) -> Mapping[str, str | None]:
        """By the name of a story: the first version that has what it takes; None: none has."""

    def missing(self, version: str) -> str | None:
        """What this machine lacks to run it, in one line, or None."""

    def install(self, version: str) -> Installed:
        """Have it ready; may take a minute the first time. Raises `InstallError`."""


class InstallError(Exception):
    """It could not be installed; the text says why."""


def has(client: Client, version: str, story: str) -> bool:
    """Whether this version has what the story is about."""
    first = client.since.get(story, version)
    return first is not None and numbers(version) >= numbers(first)


def run(command: Sequence[str | Path], cwd: Path = ROOT) -> None:
    """Run an installer to its end. Raises `InstallError` with its last words."""
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS_MAX
        )
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"{Path(command[0]).name} took longer than {_INSTALL_SECONDS_MAX:.0f} s") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise InstallError(f"{Path(command[0]).name} failed: {' '.join(last)}")


def numbers(version: str) -> tuple[int, ...]:
    """A version, to be compared: v1.2.3 is (1, 2, 3)."""
    return tuple(int(number) for number in version.removeprefix("v").split("."))
