"""For all tests: how hard Hypothesis tries, how processes share the tests out, and that Ctrl-C is Ctrl-C.

`quick`, the default, keeps `make test` short; every run draws new examples all the same. `thorough` is for a night, or
for a change to what the examples attack: `OTTLA_HYPOTHESIS=thorough make test`. A failure prints a blob that
`@reproduce_failure` replays.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.support.browser import Chromium, browser, find_browser
from tests.support.patience import PATIENCE_SECONDS
from tests.support.soak import IS_SOAK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.scheduler import LoadFileScheduling

#: The folder whose tests share a Spark session, but for the file that starts a cluster.
PIPELINE: Final = "tests/pipeline/"
ALONE: Final = "/test_cluster.py"
DIFFERENTIAL: Final = "tests/differential/"
#: What takes longest, in this order: there most of the time passes in waiting for clients and other processes.
LONGEST: Final = (
    PIPELINE,
    DIFFERENTIAL,
    "tests/clients/",
    "tests/soak/",
    "tests/transactions/",
    "tests/cli/",
    "tests/testing/",
)

# Time says nothing on a machine that others use too: no deadline, and no complaint that drawing is slow.
settings.register_profile(
    "quick", max_examples=50, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=2_000)
settings.load_profile(os.environ.get("OTTLA_HYPOTHESIS", "quick"))

# A shell that starts a command in the background has it ignore Ctrl-C, and so all that the command starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Waits of ottla.testing have a long bound: ours run beside much else, and so do the programs of the docs.
os.environ.setdefault("OTTLA_TIMEOUT_S", f"{PATIENCE_SECONDS:.0f}")

# What we start has buffers, and keeps what it compiles, as at a user's.
os.environ.pop("PYTHONUNBUFFERED", None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes one process longest goes first, so that the others end no earlier. What takes too long is left out."""
    for item in items:
        if not IS_SOAK and any(mark.kwargs.get("alone") for mark in item.iter_markers("soak")):
            item.add_marker(pytest.mark.skip(reason="takes long: make soak"))

    def rank(item: pytest.Item) -> int:
        return next((number for number, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))

    items.sort(key=rank)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    """A file's tests go to one process, and so does all that needs Spark: what they share is made once.

    Ottla and Kafka are compared with the recorded answers by a process each.
    """
    from xdist.scheduler import LoadFileScheduling

    def scope_of(nodeid: str) -> str:
        if nodeid.startswith(DIFFERENTIAL):
            return nodeid.partition("[")[0]
        return PIPELINE if nodeid.startswith(PIPELINE) and ALONE not in nodeid else nodeid.partition("::")[0]

    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = scope_of
    return scheduling


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """A browser, for the tests of a file that look at pages."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed, and a page can be looked at in nothing else (Debian: chromium)")
    with browser(path) as running:
        yield running
