"""Which APIs there are, and where their codecs live: `api(12).request` is `HeartbeatRequest`, imported on first use.

All codecs together take a quarter of a second to import, and a broker that serves one heartbeat needs one of them.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Final

from ottla.protocol.messages import APIS
from ottla.protocol.primitives import Message


class Api:
    """One API: its key and name, the versions Apache Kafka defines, and its two message classes.

    `module` is None for the APIs that only have a name here: `generate.modules.NAMES_ONLY`.
    """

    def __init__(self, key: int, name: str, module: str | None, first: int, last: int, flexible_from: int) -> None:
        self.key = key
        self.name = name
        self.module = module
        self.version_first = first
        self.version_last = last
        self.flexible_from = flexible_from

    def __repr__(self) -> str:
        return f"Api({self.key}, {self.name})"

    @cached_property
    def request(self) -> type[Message]:
        return self._message("Request")

    @cached_property
    def response(self) -> type[Message]:
        return self._message("Response")

    def _message(self, kind: str) -> type[Message]:
        message: type[Message] = getattr(import_module(f"ottla.protocol.messages.{self.module}"), self.name + kind)
        return message

    def is_flexible(self, version: int) -> bool:
        """Does this version use compact lengths and tag sections (KIP-482)?"""
        return version >= self.flexible_from


_BY_KEY: Final = {row[0]: Api(*row) for row in APIS}


def api(key: int) -> Api:
    """The API with this key. Raises `KeyError` if Kafka's clients have none."""
    return _BY_KEY[key]


def all_apis() -> list[Api]:
    """Every API, by key."""
    return list(_BY_KEY.values())
