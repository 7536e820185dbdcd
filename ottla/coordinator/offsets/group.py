"""What a group of any kind is to its offsets."""

from __future__ import annotations

from typing import Protocol

from ottla.coordinator.config import GroupConfig
from ottla.coordinator.notes import Noted
from ottla.coordinator.offsets.store import Offsets


class AnyGroup(Noted, Protocol):
    """A group of any kind."""

    @property
    def group_id(self) -> str: ...

    @property
    def config(self) -> GroupConfig: ...

    @property
    def offsets(self) -> Offsets: ...
