"""What faults can happen to: one row for each kind of thing.

A row says what the thing is called, by which words it can be aimed at, what can't be done to it while it is held, which
events tell of it, and how its hook is installed. The engine installs a hook with the first fault that may happen there
and takes it away with the last. At each occurrence a hook asks the engine which action happens, and performs it.

A further kind of thing is one more row here, with its hook beside the others, and a seam in the broker for the hook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ottla.control.faults.coordinated import GROUPS, TRANSACTIONS, Coordinated, hold_deadline, hook_appends, hook_timers
from ottla.control.faults.occurrence import Occurrence
from ottla.control.faults.storage import surround_storages
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.interception import Interceptor
    from ottla.broker.network.listener import Shared
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.control.faults.cutting import RefuseConnection
    from ottla.control.faults.holds import Hold
    from ottla.control.faults.occurrence import Happens, Remove
    from ottla.control.faults.storage import FailAppend
    from ottla.events.kinds.event_kind import EventKind
    from ottla.purgatory import Timer

FAILOVER: Final = "failover"


class Seams(NamedTuple):
    """The parts of the broker that hooks and actions need."""

    cluster: Cluster
    timer: Timer
    services: Services
    shared: Shared
    interceptor: Interceptor
    """The engine, which decides about requests by itself: several faults may happen to one request."""


#: Installs a hook that asks the function it is given, and returns what takes the hook away.
Install: TypeAlias = "Callable[[Seams, Happens[Any]], Remove]"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A kind of thing that faults happen to."""

    name: str
    install: Install
    words: Set[str] | None
    """What can be aimed at; None: what is in a request, by its API."""
    impossible: Mapping[str, str] = field(default_factory=dict)
    """Why a thing that is held can't be refused, lost or changed, by "refuse", "lose" and "change"."""
    hit: EventKind | None = Kind.FAULT_HIT
    """Tells of each hit; None: nothing but what tells that it is held."""
    held: EventKind = Kind.REQUEST_HELD
    let_go: EventKind = Kind.REQUEST_LET_GO


# ── Hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _hook_requests(seams: Seams, _happens: Happens[Any]) -> Remove:
    seams.shared.routes.intercept(seams.interceptor)
    return lambda: seams.shared.routes.intercept(None)


def _hook_connections(seams: Seams, happens: Happens[RefuseConnection]) -> Remove:
    def connected(connection: Connection) -> None:
        happened = happens(Occurrence("a connection", node_id=connection.node.node_id, connection=connection))
        if happened is not None:
            happened[0].end(connection)

    seams.shared.on_connected = connected
    return lambda: setattr(seams.shared, "on_connected", None)


def _hook_storages(seams: Seams, happens: Happens[FailAppend]) -> Remove:
    return surround_storages(seams.cluster.logs, happens)


def _hook_failovers(seams: Seams, happens: Happens[Hold]) -> Remove:
    failover, nodes = seams.services.failover, seams.cluster.all_nodes

    def keep_back(node_id: int) -> bool:
        node, silence = nodes[node_id], failover.silence_of(nodes[node_id])

        def matters() -> bool:
            return failover.silence_of(node) is silence

        def happen() -> None:
            if matters():
                failover.miss(node)

        due = Occurrence(f"failover of node {node_id}", node_id=node_id, timer=FAILOVER)
        return hold_deadline(due, happens, happen, matters)

    failover.keep_back = keep_back
    return lambda: setattr(failover, "keep_back", None)


def _appends_of(kind: Coordinated) -> Install:
    return lambda seams, happens: hook_appends(kind, seams.services, happens)


def _timers_of(kind: Coordinated) -> Install:
    return lambda seams, happens: hook_timers(kind, seams.services, seams.cluster.wall_ms, happens)


# ── The table ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_OF_APPENDS: Final = {
    "lose": "can't be lost, what is asked meanwhile would wait for ever; let it go, refuse it, or lose_record()",
    "change": "has nothing to change; let it go or refuse it",
}
_OF_DEADLINES: Final = {
    "refuse": "is a deadline, which no client has asked for; let it go or lose it",
    "change": "is a deadline, which has nothing to change; let it go or lose it",
}
_OF_TRANSACTIONS: Final = {
    "refuse": "is a deadline, which no client has asked for; let it go",
    "lose": "can't be lost, no other transaction of its partition would time out; let it go",
    "change": "is a deadline, which has nothing to change; let it go",
}

_append_target = partial(Target, impossible=_OF_APPENDS, held=Kind.APPEND_HELD, let_go=Kind.APPEND_LET_GO)
_deadline_target = partial(Target, hit=None, held=Kind.DEADLINE_HELD, let_go=Kind.DEADLINE_LET_GO)

REQUEST: Final = Target("a request", _hook_requests, None)
CONNECTION: Final = Target("a connection that is being made", _hook_connections, {"listener", "node", "connection"})
PARTITION_APPEND: Final = Target("an append to a log", _hook_storages, {"topic", "partition"})
GROUP_APPEND: Final = _append_target("an append to a group's log", _appends_of(GROUPS), {"group", "topic", "partition"})
TRANSACTION_APPEND: Final = _append_target(
    "an append to a transactional id's log", _appends_of(TRANSACTIONS), {"transactional_id"}
)
GROUP_TIMER: Final = _deadline_target(
    "a timer of a group", _timers_of(GROUPS), {"group", "member", "node"}, _OF_DEADLINES
)
TRANSACTION_TIMER: Final = _deadline_target(
    "a timer of a transactional id", _timers_of(TRANSACTIONS), {"transactional_id", "node"}, _OF_TRANSACTIONS
)
NODE_FAILOVER: Final = _deadline_target("the failover of a node", _hook_failovers, {"node"}, _OF_DEADLINES)

TARGETS: Final = (
    REQUEST,
    CONNECTION,
    PARTITION_APPEND,
    GROUP_APPEND,
    TRANSACTION_APPEND,
    GROUP_TIMER,
    TRANSACTION_TIMER,
    NODE_FAILOVER,
)
#: The log of a coordination: by the topic that a hold of appends names.
APPENDS_BY_TOPIC: Final = {GROUPS.topic: GROUP_APPEND, TRANSACTIONS.topic: TRANSACTION_APPEND}


def targets_of_timers() -> dict[str, Target]:
    """What has the timers of each word, of all kinds of machines."""
    rows = (GROUP_TIMER, GROUPS), (TRANSACTION_TIMER, TRANSACTIONS)
    return {word: target for target, kind in rows for word in kind.timers()}
