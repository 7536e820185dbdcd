"""`kafka.transaction("tx")`: a transactional id as it is at the moment, and waiting until it is as it should be.

    kafka.transaction("tx").wait_for(state="CompleteCommit")
    assert kafka.transaction("tx").partitions == ()

Everything is looked at anew each time it is asked for; `look()` gives all of it as it is at one moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.control.state import conditions
from ottla.control.state.transactions import TransactionView, look_at_transaction
from ottla.testing.inside import TIMEOUT_S

if TYPE_CHECKING:
    from ottla.control.state.groups import Place
    from ottla.testing.inside import Inside


class TransactionLooks:
    """What is seen of a transactional id of a running broker, be it there or not."""

    def __init__(self, inside: Inside, transactional_id: str) -> None:
        self._inside = inside
        self.transactional_id = transactional_id

    def __repr__(self) -> str:
        return str(self.look())

    def look(self) -> TransactionView:
        """Its complete state at this moment."""
        return self._inside.look(lambda broker: look_at_transaction(broker.server.services, self.transactional_id))

    @property
    def state(self) -> str:
        """Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, or Dead if it does not exist."""
        return self.look().state

    @property
    def partitions(self) -> tuple[Place, ...]:
        """The partitions of the transaction that have no marker yet, as (topic, partition)."""
        return self.look().partitions


class Transaction(TransactionLooks):
    """A transactional id of a running broker: its state, and waits. It need not exist yet."""

    def wait_for(
        self,
        predicate: Callable[[TransactionView], bool] | None = None,
        *,
        state: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> TransactionView:
        """Wait until the id is in this state and `predicate` is true, and return its state.

        Without either, wait until the id exists. Raises `NotInTime`.
        """
        return self._inside.wait(conditions.transaction_is(self.transactional_id, predicate, state=state), timeout_s)


class AsyncTransaction(TransactionLooks):
    """The same, and its waits are awaited."""

    async def wait_for(
        self,
        predicate: Callable[[TransactionView], bool] | None = None,
        *,
        state: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> TransactionView:
        """As `Transaction.wait_for`."""
        wanted = conditions.transaction_is(self.transactional_id, predicate, state=state)
        return await self._inside.wait_in_loop(wanted, timeout_s)
