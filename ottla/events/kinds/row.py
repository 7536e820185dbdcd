"""A row of the table."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]


class Row(NamedTuple):
    """A kind of events: its name, its level, its keys, and when it is told. For the meaning of these see `Kind`."""

    name: str
    level: Level | None
    keys: tuple[str, ...]
    when: str
    keys_unlogged: tuple[str, ...] = ()
