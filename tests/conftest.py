"""For all tests: how hard Hypothesis tries, and what runs beside what.

`quick`, the default, keeps `make test` short; every run draws new examples all the same. `thorough` is for a night, or
for a change to what the examples attack: `OTTLA_HYPOTHESIS=thorough make test`. A failure prints a blob that
`@reproduce_failure` replays.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

HERE: Final = Path(__file__).parent
#: Folders whose tests share something that takes long to start: a real Kafka, a Spark session.
TOGETHER: Final = frozenset({"differential", "pipeline"})


@pytest.hookimpl(tryfirst=True)  # xdist looks at the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` has two processes (`--dist loadgroup`): a module, or one of these folders, stays in one of them."""
    for item in items:
        path = item.path.relative_to(HERE)
        item.add_marker(pytest.mark.xdist_group(path.parts[0] if path.parts[0] in TOGETHER else path.as_posix()))


# Time says nothing on a machine that others use too: no deadline, and no complaint that drawing is slow.
settings.register_profile(
    "quick", max_examples=50, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=2_000)
settings.load_profile(os.environ.get("OTTLA_HYPOTHESIS", "quick"))
