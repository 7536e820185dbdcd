"""The traces of `pytest --kafka-trace`: which brokers a test has used, and where their pages are.

All brokers of the process are watched, be they a fixture's or made in a test, and record requests. A page is written
for each that has anything to tell of the test. What a broker tells of former tests is in it if it was not reset.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from time import perf_counter_ns
from typing import Final, Literal

from ottla.testing.broker import Broker
from ottla.testing.trace.page import write_page

_NAME_CHARACTERS_MAX: Final = 120


class KeptTraces:
    """Pages of the tests of one run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._brokers: list[Broker] = []
        self._began_ns = perf_counter_ns()
        self._pages: list[Path] = []

    def watch(self) -> None:
        """From now on know of each broker that starts."""
        Broker.on_start = self._watch

    def stop(self) -> None:
        """Know of no more."""
        Broker.on_start = None

    def begin_test(self) -> None:
        """Forget what was of former tests alone."""
        self._brokers = [broker for broker in self._brokers if broker.is_running]
        self._began_ns = perf_counter_ns()
        self._pages = []

    def write(self, test: str, outcome: Literal["passed", "failed"]) -> list[Path]:
        """Write the pages of the test that runs, if they are not there yet; returns where they are."""
        if self._pages:
            return []
        brokers = [broker for broker in self._brokers if broker.has_started and broker.timeline_since(self._began_ns)]
        for number, broker in enumerate(brokers, 1):
            title = test if len(brokers) == 1 else f"{test}: broker {number}"
            path = self._directory / f"{_file_name(test)}{'' if len(brokers) == 1 else f'-{number}'}.html"
            write_page(path, [broker.trace(title, outcome).as_json()], title)
            self._pages.append(path)
        return self._pages

    def _watch(self, broker: Broker) -> None:
        broker.record_requests = True
        self._brokers.append(broker)


def _file_name(test: str) -> str:
    """A name that every file system takes; two tests have two."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", test).strip("-")
    if name == test and len(name) <= _NAME_CHARACTERS_MAX:
        return name
    return f"{name[-_NAME_CHARACTERS_MAX:].lstrip('-.')}-{hashlib.sha256(test.encode()).hexdigest()[:6]}"
