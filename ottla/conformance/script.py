"""What a script is, and the list of all of them.

    @script(versions=every("Heartbeat"))
    def heartbeat_of_a_stranger(scene: Scene, version: int) -> None:
        \"""A member id that the group never issued is UNKNOWN_MEMBER_ID.\"""

A script runs once for each of its versions, each time in a scene of its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from ottla.conformance.client import API
from ottla.conformance.scene import Scene

Play: TypeAlias = Callable[[Scene, int], None]


@dataclass(frozen=True, slots=True)
class Exempt:
    """A field that Ottla is allowed to answer otherwise than Kafka in one script, and why."""

    field: str
    because: str


@dataclass(frozen=True, slots=True)
class Script:
    """A named play, the versions it is run for, and where Ottla may differ in it.

    `exempt` names fields that don't count; `differs` is the reason why Ottla answers otherwise altogether. `needs`: the
    settings without which the broker can't answer as recorded, whose values are those of `settings.NEEDED`.
    """

    area: str
    name: str
    play: Play
    versions: tuple[int, ...]
    exempt: tuple[Exempt, ...]
    differs: str | None
    needs: tuple[str, ...]


_SCRIPTS: Final[dict[str, Script]] = {}


def script(
    versions: Iterable[int] = (0,),
    *,
    exempt: Iterable[Exempt] = (),
    differs: str | None = None,
    needs: Iterable[str] = (),
) -> Callable[[Play], Play]:
    """Register the decorated function as a script."""

    def register(play: Play) -> Play:
        area = play.__module__.rpartition(".")[2]
        assert play.__name__ not in _SCRIPTS, f"two scripts are called {play.__name__}"
        _SCRIPTS[play.__name__] = Script(
            area, play.__name__, play, tuple(versions), tuple(exempt), differs, tuple(needs)
        )
        return play

    return register


def every(api: str) -> tuple[int, ...]:
    """All versions of an API that Kafka serves."""
    return tuple(range(API[api].version_first, API[api].version_last + 1))


def some(api: str) -> tuple[int, ...]:
    """Its lowest, first flexible and highest version."""
    return tuple(sorted({API[api].version_first, API[api].flexible_from, API[api].version_last} & set(every(api))))


def all_scripts() -> list[Script]:
    """Every script of `scripts/`, area by area."""
    package = importlib.import_module("ottla.conformance.scripts")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return list(_SCRIPTS.values())
