"""Tests in Go: a module from Go's proxy, the program that is built of its tests, and what it prints.

A program ends with the first test that panics. It is started again then, without those that have been.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from compatibility.suites.suite import CACHE, Outcome, Outcomes

_SAID: Final = re.compile(r"^\x16?\s*--- (PASS|FAIL|SKIP): (\S+) \(", re.MULTILINE)
_BEGUN: Final = re.compile(r"^\x16?=== RUN +(\S+)", re.MULTILINE)
_OUTCOMES: Final = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}
#: Alone, a test that needs a broker waits for one in vain; this is enough for one that needs none.
_ALONE: Final = "10s"
_AT_ONCE: Final = 8


@dataclass(frozen=True)
class GoSuite:
    """The tests of one package. `wanted`: a pattern of names; `variables`: what they are told in the environment."""

    name: str
    version: str
    module: str
    package: str
    scope: str
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_of_kafka: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    minutes_max: int = 9

    @property
    def origin(self) -> str:
        return f"Go module {self.module} {self.version}"

    def missing(self) -> str | None:
        return None if shutil.which("go") else "it needs `go`, which is not on the PATH"

    def prepare(self) -> None:
        if self._program.exists():
            return
        asked = ["go", "mod", "download", "-json", f"{self.module}@{self.version}"]
        told = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True, cwd="/").stdout)
        shutil.copytree(told["Dir"], self._folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
        subprocess.run(
            ["go", "test", "-mod=mod", "-c", "-o", self._program, self.package], cwd=self._folder, check=True
        )

    def run(self, log: Path) -> Outcomes:
        outcomes: dict[str, Outcome] = {}
        open_tests: set[str] = set()
        with log.open("w") as file:
            while True:
                said = self._start("", skipped=patterns(outcomes, open_tests), timeout=f"{self.minutes_max}m")
                file.write(said)
                found, open_tests = read(said)
                has_gone_on = not found.keys() <= outcomes.keys()
                outcomes |= found
                if "panic: " not in said or (not has_gone_on and not open_tests):
                    return _leaves(outcomes)
                if not has_gone_on or "panic: test timed out" in said:
                    outcomes |= dict.fromkeys(open_tests, Outcome.FAILED)
                    open_tests = set()

    def passes_alone(self) -> frozenset[str]:
        names = [name for name in self._start("", listed=True).split() if name.startswith("Test")]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = pool.map(lambda name: self._start(f"^{name}$", timeout=_ALONE), names)
            return frozenset(name for name, said in zip(names, found, strict=True) if passes(said))

    @property
    def _folder(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    @property
    def _program(self) -> Path:
        return self._folder / "suite.test"

    def _start(self, wanted: str, *, skipped: str = "", timeout: str = "1m", listed: bool = False) -> str:
        """What it prints when it is run for these tests."""
        command = [str(self._program), "-test.list=." if listed else "-test.v=test2json"]
        if wanted:
            command.append(f"-test.run={wanted}")
        if skipped:
            command.append(f"-test.skip={skipped}")
        done = subprocess.run(
            [*command, f"-test.timeout={timeout}"],
            cwd=self._folder / self.package, env={**os.environ, **self.variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
        )  # fmt: skip
        return done.stdout


def read(said: str) -> tuple[dict[str, Outcome], set[str]]:
    """What a program of Go's tests has printed: what came of each test, and those that have begun and not ended.

    A parent ends with the first of its parts that panics; those are open all the same.
    """
    ended = {name: _OUTCOMES[word] for word, name in _SAID.findall(said)}
    begun = _leaves(dict.fromkeys(_BEGUN.findall(said), Outcome.FAILED))
    return ended, set(begun) - set(ended)


def passes(said: str) -> bool:
    """Whether something has come of the tests, and none has failed or was cut off."""
    ended, open_tests = read(said)
    return bool(ended) and not open_tests and Outcome.FAILED not in ended.values()


def patterns(ended: Outcomes, open_tests: set[str]) -> str:
    """What Go is told to skip: all that has ended, but of a test with open parts only its other parts."""
    open_tops = {_top(name) for name in open_tests}
    names = {name if _top(name) in open_tops else _top(name) for name in _leaves(ended)} - open_tops
    return "|".join("/".join(f"^{re.escape(part)}$" for part in name.split("/")) for name in sorted(names))


def _top(name: str) -> str:
    return name.partition("/")[0]


def _leaves(outcomes: Outcomes) -> dict[str, Outcome]:
    """Without tests that are made of others."""
    parents = {name.rpartition("/")[0] for name in outcomes}
    return {name: outcome for name, outcome in outcomes.items() if name not in parents}
