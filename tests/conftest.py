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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.scheduler import LoadFileScheduling

#: The folder whose tests share a Spark session.
PIPELINE: Final = "tests/pipeline/"

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
    """What takes one process longest goes first, so that the other one ends no later than it must."""
    items.sort(key=lambda item: not item.nodeid.startswith(PIPELINE))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    """A file's tests go to one process, and so does all of the pipeline: what they share is made once."""
    from xdist.scheduler import LoadFileScheduling

    scheduling = LoadFileScheduling(config, log)
    scope_of = scheduling._split_scope
    scheduling._split_scope = lambda nodeid: PIPELINE if nodeid.startswith(PIPELINE) else scope_of(nodeid)
    return scheduling


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """A browser, for the tests of a file that look at pages."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed, and a page can be looked at in nothing else (Debian: chromium)")
    with browser(path) as running:
        yield running
