"""What a fault may happen to, and what it has happened to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ottla.broker.network.call import CallConnection
    from ottla.protocol.primitives import Message


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something other than a request that a fault may happen to. What does not apply is None, or empty."""

    text: str
    """How it is told, such as "session of ana-1 of kitchen"."""
    node_id: int | None = None
    group_id: str | None = None
    member_id: str | None = None
    transactional_id: str | None = None
    timer: str | None = None
    """The word for the timer that ran out."""
    partition: tuple[str, int] | None = None
    """The partition that it is of."""
    committed: Sequence[tuple[str, int]] = ()
    """The partitions that offsets in it are of."""
    connection: CallConnection | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a fault has happened to. What does not apply is None."""

    now_ms: int
    """When, by the clock that deadlines are set by."""
    wall_ms: int
    """When, as a date."""
    api: str | None = None
    api_version: int | None = None
    client_id: str | None = None
    client_host: str | None = None
    node_id: int | None = None
    group_id: str | None = None
    member_id: str | None = None
    transactional_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    request: Message | None = None
    """As it was sent, decoded: Kafka's fields in snake_case."""


A = TypeVar("A")
#: What the hook at a seam asks: the action of the fault that happens to this, and its hit; None: nothing happens.
Happens: TypeAlias = Callable[[Occurrence], "tuple[A, Hit] | None"]
#: Takes a hook away again.
Remove: TypeAlias = Callable[[], object]
