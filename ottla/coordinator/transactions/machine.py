"""The transactional ids of one partition of __transaction_state: the machine.

It is data; `step` and `replay` change it, with the functions of the modules beside this one, and nothing else does.
What stands in the log changes by `replay` alone. The rest, such as which partitions have their marker already, is made
anew by the next coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.coordinator.runtime.effects import Ask
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.transactions.states import IDLE, PREPARED, TransactionState
from ottla.coordinator.transactions.transaction import EPOCH_MAX, NO_EPOCH

if TYPE_CHECKING:
    from ottla.coordinator.transactions.config import TransactionConfig
    from ottla.coordinator.transactions.transaction import TopicPartition, Transaction
    from ottla.events.kinds.event_kind import EventKind


COMPLETION_RETRY_MS_MIN: Final = 100
#: So many are dealt with at once where there may be thousands; others have their turn before the next.
AT_ONCE: Final = 100
_ONGOING: Final = TransactionState.ONGOING


@frozen
class WriteMarkers(Ask):
    """Write the marker of this transaction to these partitions. `MarkersWritten` says how far that is."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int
    partitions: frozenset[TopicPartition]


@frozen
class Removed:
    """A tombstone: the id has expired."""

    transactional_id: str


@dataclass(slots=True, eq=False)
class Transactions:
    """Transactional ids. The one that was written last stands last, so those that may expire stand first."""

    config: TransactionConfig
    coordinator_epoch: int
    """The partition's leader epoch: of two coordinators the later one has the higher."""
    began_ms: int
    """When the node began to coordinate, as a date: it looks for what is due at intervals from then on."""
    new_producer_id: Callable[[], int | None]
    """The one thing it has of the outside: an id that no producer has; None: there is none at the moment."""
    is_told: Callable[[EventKind], bool] = lambda _kind: False
    """Whether events of this kind have a reader."""
    by_id: dict[str, Transaction] = field(default_factory=dict)
    open: dict[str, None] = field(default_factory=dict)
    """Those that are Ongoing, the oldest transaction first."""
    decided: dict[str, None] = field(default_factory=dict)
    """Those that are PrepareCommit or PrepareAbort, the oldest decision first."""
    resumed: list[str] = field(default_factory=list)
    """Those of them that were decided by a coordinator before, and that nothing was done about yet, the oldest last."""
    failed_fences: set[str] = field(default_factory=set)
    """Those that had their epoch raised to fence a producer, which could not be written down."""
    unwritten: dict[str, None] = field(default_factory=dict)
    """Those that have all their markers, which could not be written down."""
    completion_retry_ms: int = COMPLETION_RETRY_MS_MIN
    """How long until that is tried again: twice as long with each time."""
    timeout_deadline_ms: int | None = None
    """When it looks for transactions that are open for too long; None: it doesn't."""
    timed_out: list[str] = field(default_factory=list)
    """What it has found there and not dealt with yet, the last one first."""
    expiry_deadline_ms: int | None = None
    """When it looks for ids that have expired."""

    def put(self, transaction: Transaction) -> None:
        """The id is this from now on. Outside of `replay`: where it differs only in what no record says."""
        transactional_id, state = transaction.transactional_id, transaction.state
        former = self.by_id.pop(transactional_id, None)
        self.by_id[transactional_id] = transaction
        if former is not None and former.state is state:
            return
        if state is _ONGOING:
            self.open[transactional_id] = None
        else:
            self.open.pop(transactional_id, None)
        if state in PREPARED:
            self.decided[transactional_id] = None
        else:
            self.decided.pop(transactional_id, None)

    def remove(self, transactional_id: str) -> None:
        """The id has expired."""
        self.by_id.pop(transactional_id, None)
        self.open.pop(transactional_id, None)
        self.decided.pop(transactional_id, None)

    def check(self) -> None:
        """Assert what holds after every step. It walks every id: for tests."""
        assert self.open.keys() == {key for key, t in self.by_id.items() if t.state is TransactionState.ONGOING}
        assert self.decided.keys() == {key for key, t in self.by_id.items() if t.state in PREPARED}
        assert bool(self.open) <= (self.timeout_deadline_ms is not None), "open transactions have an end"
        for transactional_id, transaction in self.by_id.items():
            assert transaction.transactional_id == transactional_id
            assert NO_EPOCH <= transaction.producer_epoch <= EPOCH_MAX
            assert transaction.state not in IDLE or not transaction.partitions, "nothing is open"
            assert transaction.state in PREPARED or transactional_id not in self.unwritten


def replay(transactions: Transactions, change: Transaction | Removed) -> None:
    """Apply what one record says: when it is in the log, and when it is read back."""
    if isinstance(change, Removed):
        transactions.remove(change.transactional_id)
    else:
        transactions.put(change)
