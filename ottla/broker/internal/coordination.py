"""The coordinators of one internal topic, one on each node: it coordinates the partitions of the topic that it leads.

Whatever looks at machines of any kind, or holds what they write or wait for, goes over the coordinations there are
(`Services.coordinations`) and needs to know no kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from ottla.coordinator.runtime.log import Log
    from ottla.coordinator.runtime.runtime import Runtime


class NodeCoordinator(Protocol):
    """The coordinator of one node."""

    @property
    def runtime(self) -> Runtime[Any]:
        """What drives its machines."""

    def close(self) -> None:
        """Coordinate nothing any more."""


C = TypeVar("C", bound=NodeCoordinator)


class Coordination(Generic[C]):
    """The coordinators of one internal topic."""

    def __init__(self, name: str) -> None:
        self.name = name
        """What is coordinated, in the plural: "groups"."""
        self.of_node: dict[int, C] = {}
        """The coordinator of each node, by the node's id."""

    @property
    def is_settled(self) -> bool:
        """Whether no machine has anything left to do at this moment."""
        return all(coordinator.runtime.is_settled for coordinator in self.of_node.values())

    def close(self) -> None:
        """Answer all requests that wait, and coordinate nothing any more."""
        for coordinator in self.of_node.values():
            coordinator.close()

    def put_around_log(self, put: Callable[[Log], Log]) -> None:
        """Have what `put` makes of the log that machines write to stand in its place from now on, such as a fault."""
        for coordinator in self.of_node.values():
            coordinator.runtime.put_around_log(put)
