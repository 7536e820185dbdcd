"""What a test can import from `ottla.testing` to annotate what it holds."""

from __future__ import annotations

import builtins
import collections.abc
import pathlib
import re
import typing

import pytest

import ottla.testing

_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "testing-reference.md"


def names_of_the_page() -> list[str]:
    """Sections, errors, and what the signatures return and take; Python's own names left out."""
    page = _PAGE.read_text()
    headings = re.findall(r"^## (?!Errors)(\w+)$", page, re.M)
    errors = re.findall(r"^- `(\w+)`: ", page.partition("## Errors")[2], re.M)
    signatures = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    annotations = [re.sub(r"'[^']*'", "", text) for text in signatures]
    types = [name for text in annotations for name in re.findall(r"(?<![\w.])[A-Z]\w+\b", text)]
    of_python = (builtins, typing, collections.abc, pathlib)
    return sorted({*headings, *errors, *(t for t in types if not any(hasattr(place, t) for place in of_python))})


@pytest.mark.parametrize("name", names_of_the_page())
def test_name_of_the_page_can_be_imported(name: str) -> None:
    """Under the name that the page has."""
    assert name in ottla.testing.__all__
    assert getattr(ottla.testing, name) is not None


def test_page_has_names() -> None:
    """So that the walk above has something to walk."""
    assert {"AsyncKafka", "Group", "Topic", "Record", "GroupView", "NotInTime", "simulated"} <= {*names_of_the_page()}
