"""The stories over TCP: G, J and C in `told_by_users`, W6, F and P here. Other folders borrow the actors."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.stories.actors")
