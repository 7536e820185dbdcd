"""What the pages about groups and transactions have in common: states, and a table of answers for each request."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from types import ModuleType
from typing import Any, TypeVar

from ottla.protocol.errors import ErrorCode
from ottla.text import markdown

S = TypeVar("S", bound=Enum)


def states_section(states: ModuleType, *, also_to_itself: bool) -> str:
    """The picture at the head of the module, and what leads from each state to another, or to itself."""
    picture = inspect.cleandoc(states.__doc__ or "").partition("\n\n")[2].rpartition("\n\nKafka: ")[0]
    rows = [
        [state.value, target.value, when]
        for state, targets in states.TRANSITIONS.items()
        for target, when in targets.items()
        if also_to_itself or target is not state
    ]
    return f"## States\n\n```text\n{picture}\n```\n\n" + markdown.table(["from", "to", "when"], rows)


def shown(cell: object) -> str:
    """An error by its name, anything else by what its enum says of it."""
    assert isinstance(cell, Enum)
    return cell.name if isinstance(cell, ErrorCode) else str(cell.value)


def answers_section(
    title: str,
    table: Mapping[S, Mapping[Any, object]],
    *,
    first: str = "sender",
    show: Callable[[object], str] = shown,
) -> str:
    """A row for each situation, a column for each state."""
    states = list(type(next(iter(table))))
    rows = [
        [str(situation.value), *(show(table[state][situation]) for state in states)] for situation in table[states[0]]
    ]
    return f"## {title}\n\n" + markdown.table([first, *(str(state.value) for state in states)], rows)
