"""The programs of docs/time.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[2] / "docs" / "time.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_every_program_of_the_page_passes(pytester: pytest.Pytester) -> None:
    """Each as a file of its own, in a pytest that knows nothing but Ottla."""
    for number, program in enumerate(PROGRAMS):
        pytester.makepyfile(**{f"test_program_{number}": program})
    assert len(PROGRAMS) == 4
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=len(PROGRAMS))
