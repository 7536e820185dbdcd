"""One suite per contract: what every implementation has to pass, each in a module named after it."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.conformance.log_storage")
