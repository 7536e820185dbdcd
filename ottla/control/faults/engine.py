"""All faults and holds of a broker: it has a hook at each seam where one may still happen, and at no other.

Where hooks are, and what they ask, is the table of `targets`. Requests go through this engine itself, as an
`Interceptor`, since several faults may happen to one request. For the thread of the broker's event loop alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.broker.requests.subjects import topics, values
from ottla.control.faults.exchange import Exchange, RequestAction
from ottla.control.faults.fault import Fault
from ottla.control.faults.holds import Hold
from ottla.control.faults.misuse import BadFault
from ottla.control.faults.occurrence import Hit
from ottla.control.faults.specification import read_fault, read_hold
from ottla.control.faults.targets import REQUEST, TARGETS, Seams, Target
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.network.interception import InterceptedCall
    from ottla.broker.network.listener import Shared
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.control.faults.exchange import Action
    from ottla.control.faults.holds import Held
    from ottla.control.faults.occurrence import Occurrence, Remove
    from ottla.events.kinds.event_kind import EventKind
    from ottla.events.stream import Stream
    from ottla.protocol.primitives import Message
    from ottla.purgatory import Timer


class Faults:
    """The faults of one broker."""

    def __init__(self, cluster: Cluster, timer: Timer, services: Services, events: Stream, shared: Shared) -> None:
        #: Those that were not removed, by their numbers; spent ones among them.
        self.all: dict[int, Fault] = {}
        self._cluster = cluster
        self._seams = Seams(cluster, timer, services, shared, self)
        self._events = events
        self._last_number = 0
        #: The faults that may still happen, by target.
        self._live: dict[Target, list[Fault]] = {}
        #: What takes a hook away, by target.
        self._hooks: dict[Target, Remove] = {}

    # --- for callers that set faults ---

    def set(self, specification: Mapping[str, Any]) -> Fault:
        """Have something go wrong from now on: see `specification`. Raises `BadFault`."""
        return self._enter(read_fault(self._last_number + 1, specification, self._seams))

    def hold(self, specification: Mapping[str, Any]) -> Fault:
        """Have requests, deadlines or appends held from now on. Raises `BadFault`."""
        fault = read_hold(self._last_number + 1, specification, self._seams)
        hold_of(fault).on_change = partial(self._tell_held, fault)
        return self._enter(fault)

    def find(self, number: int) -> Fault:
        """The fault, or hold, with this number. Raises `BadFault`."""
        fault = self.all.get(number)
        if fault is None:
            raise BadFault(f"there is no fault {number}, or not any more")
        return fault

    def remove(self, number: int) -> None:
        """Have it happen no more, and let go what it holds. One that is removed already stays so."""
        fault = self.all.pop(number, None)
        if fault is None:
            return
        self._refresh()
        for action in fault.actions:
            action.removed()
        self._events.tell(Kind.FAULT_REMOVED, fault_id=number, fault=fault.text, hits=fault.hit_count)

    def clear(self) -> None:
        """Remove them all."""
        for number in list(self.all):
            self.remove(number)

    def _enter(self, fault: Fault) -> Fault:
        self._last_number = fault.number
        self.all[fault.number] = fault
        self._events.tell(Kind.FAULT_SET, fault_id=fault.number, fault=fault.text)
        self._refresh()
        return fault

    def _refresh(self) -> None:
        """Install a hook at each seam where something may still happen, and take away all others."""
        live: dict[Target, list[Fault]] = {}
        for fault in self.all.values():
            if not fault.is_spent:
                live.setdefault(fault.target, []).append(fault)
        self._live = live
        for target in TARGETS:
            if target in live and target not in self._hooks:
                self._hooks[target] = target.install(self._seams, partial(self._happens, target))
            elif target not in live and target in self._hooks:
                self._hooks.pop(target)()

    # --- for hooks ---

    def request(self, call: InterceptedCall) -> None:
        """A request has come: find the faults that happen to it, and take it through their actions."""
        hits = [fault for fault in self._live.get(REQUEST, ()) if fault.takes(call)]
        if not hits:
            call.proceed()
            return
        hit = self._hit_of(call)
        for fault in hits:
            self._note(fault, hit)
        if any(fault.is_spent for fault in hits):
            self._refresh()
        actions = [action for fault in hits for action in fault.actions if isinstance(action, RequestAction)]
        call.kept = exchange = Exchange(call, hit, actions)
        exchange.go_on()

    def answer(self, call: InterceptedCall, response: Message | None) -> None:
        """Its answer is there."""
        exchange: Exchange | None = call.kept
        if exchange is None:
            call.leave(response)
        else:
            exchange.come_back(response)

    def _happens(self, target: Target, occurrence: Occurrence) -> tuple[Action, Hit] | None:
        """What happens to this, by the first fault that is aimed at it; None: nothing does."""
        for fault in self._live.get(target, ()):
            if fault.takes_occurrence(occurrence):
                hit = self._hit_of_occurrence(occurrence)
                self._note(fault, hit)
                if fault.is_spent:
                    self._refresh()
                return fault.actions[0], hit
        return None

    # --- to tell ---

    def _hit_of(self, call: InterceptedCall) -> Hit:
        topic, index = next(topics(call), (None, None))
        return Hit(
            self._events.now_ms(),
            self._cluster.wall_ms(),
            api=call.route.name,
            api_version=call.api_version,
            client_id=call.client_id,
            client_host=call.client_host,
            node_id=call.node.node_id,
            group_id=next(values(call, "group"), None),
            member_id=next(values(call, "member"), None),
            transactional_id=next(values(call, "transactional_id"), None),
            topic=topic,
            partition=index,
            request=call.request,
        )

    def _hit_of_occurrence(self, occurrence: Occurrence) -> Hit:
        topic, index = occurrence.partition or (None, None)
        connection = occurrence.connection
        return Hit(
            self._events.now_ms(),
            self._cluster.wall_ms(),
            client_host=None if connection is None else connection.client_host,
            node_id=occurrence.node_id,
            group_id=occurrence.group_id,
            member_id=occurrence.member_id,
            transactional_id=occurrence.transactional_id,
            topic=topic,
            partition=index,
        )

    def _note(self, fault: Fault, hit: Hit) -> None:
        fault.note(hit)
        if fault.target.hit is not None:
            said = {"fault_id": fault.number, "fault": fault.text}
            self._tell(fault.target.hit, hit, said)

    def _tell_held(self, fault: Fault, held: Held) -> None:
        """Something is held, or was decided about."""
        said: dict[str, Any] = {"fault_id": fault.number, "number": held.number, "at": held.at, "deadline": held.at}
        if held.how is None:
            self._tell(fault.target.held, held.hit, said)
        else:
            self._tell(fault.target.let_go, held.hit, {**said, "how": held.how.value, "is_void": held.is_gone})

    def _tell(self, kind: EventKind, hit: Hit, said: dict[str, Any]) -> None:
        """Tell an event with those of its keys that are said, or that the hit has."""
        details = {key: said[key] if key in said else getattr(hit, key) for key in kind.keys}
        self._events.tell(kind, node_id=hit.node_id, **details)


def hold_of(fault: Fault) -> Hold:
    """What a hold holds with. Raises `BadFault` if it is no hold."""
    for action in fault.actions:
        if isinstance(action, Hold):
            return action
    raise BadFault(f"{fault} holds nothing")


def is_hold(fault: Fault) -> bool:
    """Whether it holds what it is aimed at."""
    return any(isinstance(action, Hold) for action in fault.actions)
