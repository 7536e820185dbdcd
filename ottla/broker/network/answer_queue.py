"""The calls of a connection that are not answered, in the order in which they came; their answers leave in that order.

Whatever is answered first, an answer waits for those before it. A call may also be the last: the connection ends, or
breaks off, behind its answer, or behind a part of it. What comes in, and when, is the `connection`'s.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ottla.broker.network.client_socket import ClientSocket

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.broker.network.holdings import Holdings
    from ottla.broker.network.outbox import Outbox
    from ottla.broker.node.broker_node import BrokerNode


class AnswerQueue(ClientSocket):
    """What a connection owes its client."""

    __slots__ = (
        "_ends_by_reset",
        "_flush_is_due",
        "_group_id",
        "_has_ended",
        "_is_taking_up",
        "_outbox",
        "_unanswered",
    )

    def __init__(self, node: BrokerNode, unread: Holdings, outbox: Outbox) -> None:
        """`unread`: of all clients, what they don't read. `outbox`: connections that have something to send."""
        super().__init__(node, unread)
        self._outbox = outbox
        #: Calls not yet answered, in order.
        self._unanswered: deque[Call] = deque()
        #: The group whose task has all of `_unanswered` in its inbox; None: they are not of that kind.
        self._group_id: str | None = None
        #: Whether the connection ends behind the last of `_unanswered`, and how; None: it does not.
        self._ends_by_reset: bool | None = None
        #: While requests are taken up nothing is flushed: that comes at the end.
        self._is_taking_up = False
        self._flush_is_due = False
        #: Whether the client has said its last byte.
        self._has_ended = False

    def _abandon_all(self) -> None:
        """The connection is gone: no call is answered."""
        while self._unanswered:
            self._abandon(self._unanswered.popleft())

    def _abandon(self, call: Call) -> None:
        if call.on_abandoned is not None:
            call.on_abandoned()

    def emit(self, answered: Call) -> None:
        """A call has its answer: send it, and those behind it that have theirs, if it is its turn."""
        unanswered = self._unanswered
        if not unanswered or unanswered[0] is not answered:
            return
        parts = answered.answered
        while parts is not None:
            self._out_bytes += unanswered.popleft().answer_bytes
            self._out += parts
            parts = unanswered[0].answered if unanswered else None
        if self._out_bytes >= self._out_bytes_max:
            self.write_ready()
            if self._ends_by_reset is not None:
                self._end_behind_last()
        if not (self._is_taking_up or self._flush_is_due):  # `_flush_soon` without its call
            self._flush_is_due = True
            self._outbox.put(self)

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self._outbox.put(self)

    def flush(self) -> None:
        """Send what there is to send."""
        raise NotImplementedError

    def send_ahead(self, call: Call, part: bytes) -> bool:
        """Send the beginning of an answer that is not given yet; False: it is not its turn, or the client is gone."""
        if self._is_closed or not self._unanswered or self._unanswered[0] is not call:
            return False
        self.write_ready()
        self._transport.write(part)
        return True

    def wait_for_answers(self) -> None:
        """Take up nothing more until all that was taken up is answered, whatever its lane."""
        self._group_id = None

    def end_behind(self, last: Call, *, reset: bool) -> None:
        """Close, or break off, when what is given of this call's answer has left; those behind it get none."""
        if last not in self._unanswered:
            return
        while self._unanswered[-1] is not last:
            self._abandon(self._unanswered.pop())
        self.wait_for_answers()
        self._out_bytes_max = 0  # so every answer leaves at once, and the last one ends it
        self._ends_by_reset = reset
        self.emit(last)

    def _end_behind_last(self) -> None:
        if self._unanswered or self._is_closed:
            return
        if self._ends_by_reset:
            self._dont_linger()
        self.close()

    def _hasten(self) -> None:
        """Do not let a client wait that has sent its last byte: most such clients are gone."""
        if self._has_ended:
            for call in list(self._unanswered):
                if call.on_ended is not None:
                    call.on_ended()
