"""All kinds of events, by the names they have in code.

    events.tell(Kind.TOPIC_CREATED, topic="orders", ...)

Each is declared once, in `kinds/`, by what it is about: name, level, keys, meaning, sentence. Nothing is told that is
not declared; docs/logs.md and docs/events.md are printed from it, and tests hold both. A kind without a level is not
logged: it is for readers in the broker, the control API and tests. Coordinators make notes of the kinds that are
theirs; a note becomes an event when something reads it.

A key is left out when it has no value. Every event has its sequence and its two times, and `node_id` where it concerns
one node.
"""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.broker import BrokerEvents
from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.faults import FaultEvents
from ottla.events.kinds.groups import GroupEvents
from ottla.events.kinds.network import NetworkEvents
from ottla.events.kinds.nodes import NodeEvents
from ottla.events.kinds.storage import StorageEvents
from ottla.events.kinds.topics import TopicEvents
from ottla.events.kinds.transactions import TransactionEvents

_ROOMS: Final = (
    BrokerEvents,
    NodeEvents,
    NetworkEvents,
    FaultEvents,
    TopicEvents,
    StorageEvents,
    GroupEvents,
    TransactionEvents,
)


class Kind(
    BrokerEvents,
    NodeEvents,
    NetworkEvents,
    FaultEvents,
    TopicEvents,
    StorageEvents,
    GroupEvents,
    TransactionEvents,
):
    """The names of all kinds."""


#: Every kind by its name, in the order of the docs.
KINDS: Final = {kind.name: kind for room in _ROOMS for kind in vars(room).values() if isinstance(kind, EventKind)}
#: All but what happens with each request: for readers who don't say what they want.
USUAL_KINDS: Final = tuple(kind for kind in KINDS.values() if kind is not Kind.REQUEST_HANDLED)
