"""Values that don't change once they are made: effects, events of the runtime, what machines want to be reminded of.

mypy holds it. At runtime they are plain dataclasses, since a frozen one takes three times as long to make, and each
heartbeat makes two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[C]) -> type[C]:
    """A dataclass with slots; its fields may not be set."""
    return dataclass(slots=True)(cls)
