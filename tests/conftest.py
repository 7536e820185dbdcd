"""For all tests: how hard Hypothesis tries.

`quick`, the default, keeps `make test` short; every run draws new examples all the same. `thorough` is for a night, or
for a change to what the examples attack: `OTTLA_HYPOTHESIS=thorough make test`. A failure prints a blob that
`@reproduce_failure` replays.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Time says nothing on a machine that others use too: no deadline, and no complaint that drawing is slow.
settings.register_profile(
    "quick", max_examples=50, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=2_000)
settings.load_profile(os.environ.get("OTTLA_HYPOTHESIS", "quick"))
