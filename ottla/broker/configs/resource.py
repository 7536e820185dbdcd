"""What has configs that clients may read and change: what is asked of each kind, whatever it is.

    resource.describe()                    what DescribeConfigs shows
    resource.check({"retention.ms": "1"})  may it say this, and nothing else? Raises `Refused` if not
    resource.apply({"retention.ms": "1"})  from now on it says this

A resource says what was set for it, as text by name; what it does not say it has from somewhere else. Changing means
saying something else as a whole: the APIs work out what that would be, have it checked, and then applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, Protocol

from ottla.broker.configs.entries import ConfigEntry
from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode
from ottla.settings.setting import Setting


class ResourceType(IntEnum):
    """The numbers of resources with configs on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Operation(IntEnum):
    """What to do with one config. Kafka: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


RESOURCE_TYPES: Final = frozenset(ResourceType)
_OPERATIONS: Final = frozenset(Operation)


class ConfigResource(Protocol):
    """One thing that has configs."""

    def describe(self) -> list[ConfigEntry]:
        """Its configs, by name. Raises `Refused`."""

    def setting(self, name: str) -> Setting | None:
        """The type of one of its configs; None if it has none of this name, or takes any."""

    @property
    def said(self) -> Mapping[str, str]:
        """What it says now."""

    def check_operation(self, name: str, operation: int) -> None:
        """May this be asked for, before anything is changed? Raises `Refused`."""

    def check(self, texts: Mapping[str, str]) -> None:
        """Raise `Refused` if it can't say this."""

    def apply(self, texts: Mapping[str, str]) -> None:
        """Say this from now on. Raises `Refused` if it can't be kept."""


def check_is_operation(operation: int) -> None:
    """Raise `Refused` for what there is not."""
    if operation not in _OPERATIONS:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {operation}")
