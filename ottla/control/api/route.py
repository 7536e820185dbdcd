"""A row of the control API: what can be asked, and what answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from ottla.control.api.feed import Feed

#: How long an answer may wait, and how long it does unless it is told.
WAIT_MS_MAX: Final = 50_000
WAIT_MS: Final = 10_000

Answer: TypeAlias = dict[str, Any]
#: What answers.
C_contra = TypeVar("C_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Route(Generic[C_contra]):
    """One thing that can be asked, and what it does for people who list them."""

    method: str
    path: str
    """With a name in braces as its last part, it stands for whatever is there."""
    does: str
    answer: Callable[[C_contra, bytes], Awaitable[Answer | Feed]]
    """Takes what a POST has as its body; others what stands for the name in braces, or behind the question mark."""


def any_name(path: str) -> str:
    """The path with whatever it ends with in place of a name in braces."""
    return path.rpartition("/")[0] + "/{}"
