"""The stories, told over TCP. Other folders borrow the actors, so these are registered before anyone imports them."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.stories.actors")
