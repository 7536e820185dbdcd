"""A request that waits in a purgatory: it is answered once, when its operation completes.

    handler ─▶ park ┄┄ an event, the deadline, or the client's last byte ┄┄▶ on_complete ─▶ call.go_on(response)

A subclass has the condition (`try_complete`) and makes the answer (`response`). When the connection is lost first, the
request is abandoned: nothing is read for it, and it waits no longer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ottla.purgatory import DelayedOperation, Purgatory

if TYPE_CHECKING:
    from ottla.protocol.primitives import Message


class WaitingCall(Protocol):
    """What an operation knows of its call."""

    on_abandoned: Callable[[], object] | None
    on_ended: Callable[[], object] | None

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        """Go on handling the request: it is answered with what `handle` returns."""


class DelayedRequest(DelayedOperation):
    """The operation of a request that waits."""

    __slots__ = ("_call",)

    deadline_kind: ClassVar[str]
    """The word for its deadline where deadlines are listed, such as "fetch"."""

    def __init__(self, call: WaitingCall, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._call: WaitingCall | None = call

    @abstractmethod
    def response(self) -> Message:
        """The answer, as things are now. It may raise as a handler may."""

    def park(self, purgatory: Purgatory[Any], keys: Collection[Hashable]) -> None:
        """Wait in this purgatory under these keys, unless the condition holds already."""
        if self._call is not None:
            self._call.on_abandoned, self._call.on_ended = self._abandon, self.client_ended
        purgatory.try_complete_else_watch(self, keys)

    def client_ended(self) -> None:
        """The client has sent its last byte, and may still read. Nothing changes for a request that has to wait."""

    def _abandon(self) -> None:
        self._call = None
        self.force_complete()

    def on_complete(self) -> None:
        call, self._call = self._call, None  # the call leads back here: nothing must wait for the collector
        if call is not None:
            call.go_on(self.response)
