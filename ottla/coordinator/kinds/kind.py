"""A kind of group, as one row: all that the coordinator and its tools have to know of it.

The coordinator finds the row by the class of the group's machine. So a group becomes one of another kind when another
machine takes its place.

A machine of any kind is a `Group`: it has a state, a generation, a protocol and committed offsets, and `check` states
what always holds of it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from ottla.coordinator.offsets.group import AnyGroup

if TYPE_CHECKING:
    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.kinds.outside import RequestRow
    from ottla.coordinator.kinds.view import MemberView, WaitsFor
    from ottla.coordinator.offsets.store import Offsets
    from ottla.coordinator.runtime.kind import Kind
    from ottla.events.kinds.event_kind import EventKind


class Group(AnyGroup, Protocol):
    """The machine of a group of any kind. To look at: only its step changes it."""

    offsets: Offsets
    notes_wanted: Container[EventKind]

    @property
    def protocol_type(self) -> str | None:
        """What its members are, such as "consumer"; None: it never had any."""

    @property
    def protocol_name(self) -> str | None:
        """What its members have agreed on, such as an assignor."""

    @property
    def leader_id(self) -> str | None:
        """The member that assigns, in kinds that have one."""

    @property
    def deadlines(self) -> dict[str, int]:
        """When each timer runs out that is running, as a date, by the timer's key."""

    def check(self) -> None:
        """Assert what holds after every step. For tests."""


G = TypeVar("G", bound=Group)
G_co = TypeVar("G_co", bound=Group, covariant=True)


class CannotBeDone(Exception):
    """What is to be done to a group by hand is impossible at the moment; the text says why."""


class GroupsOfShard(Protocol):
    """The groups of one partition of __consumer_offsets while its records are read, oldest first."""

    @property
    def machines(self) -> dict[str, Group]:
        """By their ids."""

    @property
    def config(self) -> GroupConfig: ...

    @property
    def notes_wanted(self) -> Container[EventKind]:
        """What groups are made with."""

    def is_about(self, group_id: str, /) -> bool:
        """Whether the group's records are to be taken in."""


class Create(Protocol[G_co]):
    """Makes a group without members."""

    def __call__(
        self,
        group_id: str,
        config: GroupConfig,
        now_ms: int,
        /,
        *,
        is_unwritten: bool,
        notes_wanted: Container[EventKind],
    ) -> G_co:
        """`is_unwritten`: it is created just now, and no record says so yet."""


#: Takes in one record: key, and value (None: a tombstone).
Replay: TypeAlias = Callable[[GroupsOfShard, bytes, bytes | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKind(Generic[G]):
    """A kind of group."""

    name: str
    """As ListGroups tells the type of a group: "classic"."""
    machine: type[G]
    runtime: Kind[G]
    """Its step, and what else the runtime has to know."""
    create: Create[G]

    states: type[Enum]
    """Their values are the names that clients see."""
    rebalancing: Container[Enum]
    """The states between two generations."""
    causes: type[Enum]
    """Why a rebalance may begin; the values are the causes that notes tell."""
    member_timers: tuple[str, ...]
    """The words for those of its timers that are of one member: "session"."""
    purgatories: tuple[str, ...]
    """The names of those that its timers wait in."""
    parks_in: tuple[str, ...]
    """Those of them in which each timer is a deadline of requests that wait for their answers."""

    records: Mapping[int, Replay]
    """What takes in each type of its records. Those of committed offsets are the same for every kind."""
    requests: Mapping[type, RequestRow]
    """The requests that only this kind takes."""

    is_sweep_due: Callable[[G, int], bool]
    """Whether `SweepDue` would delete anything at this date."""

    members: Callable[[G], tuple[MemberView, ...]]
    """The members as they are now, in the order in which they came."""
    waits_for: Callable[[G], WaitsFor | None]
    """What it waits for; None: nothing but its members' next requests."""

    expire: Callable[[G, Sequence[str]], Sequence[Any]]
    """The events by which the sessions of these members end now. Raises `CannotBeDone`."""
    evict: Callable[[G, Sequence[str], str | None], Sequence[Any]]
    """The events by which an admin removes these members, for this reason. Raises `CannotBeDone`."""
    rebalance: Callable[[G, str | None], Sequence[Any]]
    """The events by which all members are called back, for this reason. Raises `CannotBeDone`."""


Kinds: TypeAlias = Mapping[type, GroupKind[Any]]
"""Every kind there is, by the class of its machines."""
