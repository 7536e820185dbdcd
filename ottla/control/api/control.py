"""The control API without its HTTP: what scripts can ask of a running broker, and do to it.

    GET  /health          is it up, and where are its nodes
    GET  /nodes           every node, and whether it is up
    POST /nodes/stop      {"node_id": 2, "hard": true}: stop a node; without hard in an orderly way
    POST /nodes/start     {"node_id": 2}: start it again
    GET  /groups          every group, its members, and why it last rebalanced
    POST /groups/...      what `group_verbs` does to groups
    GET  /events          what happens from now on, as it happens
    GET  /clock           what time it is, and what is next: `clock_verbs`
    POST /clock/advance   {"ms": 45000}: move the virtual clock; answered when all that was due has happened
    GET  /counters        connections, logs, timers, purgatories
    … /faults, … /holds   what is to go wrong, and what is held: see `faults`
    … /topics, /wait, …   what there is, waiting for it, putting it back: see `state`

Answers are JSON objects with Kafka's words for keys, and units. Whatever can't be done is an `HttpRefused` with a
sentence. docs/control.md is for who writes such scripts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ottla import __version__
from ottla.broker.groups.notes import LastRebalances
from ottla.broker.lifecycle.stopping import Stopping
from ottla.cluster.address import MachineRefused
from ottla.cluster.node import UnknownNode
from ottla.control.api import clock_verbs, group_verbs
from ottla.control.api.clock_verbs import ADVANCE_MS_MAX, refuse_to_move
from ottla.control.api.fault_routes import FAULT_ROUTES
from ottla.control.api.feed import Feed, read_kinds
from ottla.control.api.http_refused import HttpRefused
from ottla.control.api.route import Answer, Route, any_name
from ottla.control.api.state_routes import STATE_ROUTES
from ottla.control.api.wishes import read_object, read_typed
from ottla.control.state.timeline import History
from ottla.control.state.waiting import NotInTime

if TYPE_CHECKING:
    from ottla.control.api.faults import FaultControl
    from ottla.control.api.running import RunningBroker
    from ottla.control.api.state import StateControl
    from ottla.coordinator.classic.group import Group
    from ottla.purgatory import Purgatory

#: For the timeline.
EVENTS_KEPT_MAX: Final = 2_000


class Control:
    """Answers requests about one broker."""

    def __init__(self, server: RunningBroker) -> None:
        self.server = server
        self._cluster = server.cluster
        self._last_rebalances = LastRebalances(server.events)
        self._history = History(server.events, server.clock.now_ms(), EVENTS_KEPT_MAX)

    @cached_property
    def state(self) -> StateControl:
        """Who answers what concerns the broker's state."""
        from ottla.control.api.state import StateControl

        return StateControl(self.server, self._history)

    @cached_property
    def faults(self) -> FaultControl:
        """Who answers what concerns faults."""
        from ottla.control.api.faults import FaultControl

        return FaultControl(self.server)

    async def answer(self, method: str, path: str, wish: bytes) -> Answer | Feed:
        """The answer to one request; `wish` is the body of a POST, or the query of a GET. Raises `HttpRefused`."""
        route = _ROUTES.get((method, path))
        if route is None and (route := _ROUTES.get((method, any_name(path)))) is not None:
            wish = wish or path.rpartition("/")[2].encode()
        if route is not None:
            try:
                return await route.answer(self, wish)
            except Stopping as stopping:
                raise HttpRefused(HTTPStatus.SERVICE_UNAVAILABLE, str(stopping)) from None
        methods = [known_method for known_method, known_path in _ROUTES if known_path in (path, any_name(path))]
        if methods:
            raise HttpRefused(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {' and '.join(methods)}, not {method}")
        raise HttpRefused(HTTPStatus.NOT_FOUND, f"there is no {path}; GET / lists what there is")

    async def list_routes(self, _body: bytes) -> Answer:
        """GET /"""
        routes = [{"method": route.method, "path": route.path, "does": route.does} for route in ROUTES]
        return {"ottla": __version__, "routes": routes}

    async def health(self, _body: bytes) -> Answer:
        """GET /health"""
        return {
            "status": "ok",
            "cluster_id": self._cluster.cluster_id,
            "bootstrap_servers": self.server.bootstrap,
            "nodes": [
                {"node_id": node_id, "host": node.address.host, "port": node.address.port}
                for node_id, node in self._cluster.nodes.items()
            ],
        }

    async def nodes(self, _body: bytes) -> Answer:
        """GET /nodes"""
        cluster, connections = self._cluster, self.server.connection_counts
        leads = Counter(placement.leader_id for topic in cluster.topics.values() for placement in topic.placements)
        return {
            "controller_id": cluster.controller_id,
            "nodes": [
                {
                    "node_id": node_id,
                    "host": node.address.host,
                    "port": node.address.port,
                    "state": self.server.services.failover.state_of(node).value,
                    "connections": connections[node_id],
                    "leads": leads[node_id],
                }
                for node_id, node in cluster.all_nodes.items()
            ],
        }

    async def stop_node(self, body: bytes) -> Answer:
        """POST /nodes/stop"""
        wish = _read_wish(body, '{"node_id": 2, "hard": true}', hard=bool)
        await self._switch(self.server.stop_node(wish["node_id"], hard=wish.get("hard", False)))
        return await self.nodes(b"")

    async def start_node(self, body: bytes) -> Answer:
        """POST /nodes/start"""
        wish = _read_wish(body, '{"node_id": 2}')
        await self._switch(self.server.start_node(wish["node_id"]))
        return await self.nodes(b"")

    async def _switch(self, work: Awaitable[None]) -> None:
        try:
            await work
        except UnknownNode as unknown:
            raise HttpRefused(HTTPStatus.NOT_FOUND, str(unknown)) from None
        except MachineRefused as refused:
            raise HttpRefused(HTTPStatus.CONFLICT, str(refused)) from None

    async def groups(self, _body: bytes) -> Answer:
        """GET /groups"""
        groups = [
            self._describe(group, node_id)
            for node_id, coordinator in self.server.services.group_coordination.of_node.items()
            for group in coordinator.groups
        ]
        return {"groups": sorted(groups, key=lambda group: str(group["group_id"]))}

    async def clock(self, _body: bytes) -> Answer:
        """GET /clock"""
        clock = self.server.clock
        return {
            "clock": self.server.clock_kind,
            "now_ms": clock.now_ms(),
            "wall_ms": clock.wall_ms(),
            "next_deadline_ms": self.server.timer.next_deadline_ms(),
        }

    async def advance(self, body: bytes) -> Answer:
        """POST /clock/advance"""
        ms = _read_ms(body)
        refuse_to_move(self.server)
        try:
            await self.server.advance(ms)
        except NotInTime as late:
            raise HttpRefused(HTTPStatus.CONFLICT, str(late)) from None
        return await self.clock(b"")

    async def events(self, query: bytes) -> Feed:
        """GET /events"""
        return Feed(self.server.events, read_kinds(query.decode("latin-1")))

    async def counters(self, _body: bytes) -> Answer:
        """GET /counters"""
        cluster, services, timer = self._cluster, self.server.services, self.server.timer
        coordinators = services.group_coordination.of_node.items()
        purgatories: list[tuple[int | None, Purgatory[Any]]] = [
            (node_id, purgatory)
            for node_id, coordinator in coordinators
            for purgatory in coordinator.runtime.purgatories.values()
        ]
        purgatories += [(None, services.delayed_operations.produce), (None, services.delayed_operations.fetch)]
        return {
            "connections": {str(node_id): count for node_id, count in self.server.connection_counts.items()},
            "topics": len(cluster.topics),
            "partitions": sum(len(topic.partitions) for topic in cluster.topics.values()),
            "log_bytes": cluster.logs.bytes.bytes_held,
            "groups": sum(len(coordinator.groups) for _, coordinator in coordinators),
            "timer": {"pending": timer.size, "fired": timer.fired, "wake_ups": timer.wake_ups},
            "purgatories": [
                {
                    "name": purgatory.name,
                    "node_id": node_id,
                    "watched": purgatory.watched,
                    "delayed": purgatory.delayed,
                    "expired": purgatory.expired,
                }
                for node_id, purgatory in purgatories
            ],
        }

    def _describe(self, group: Group, node_id: int) -> Answer:
        last = self._last_rebalances.of(group.group_id)
        return {
            "group_id": group.group_id,
            "state": group.state.value,
            "generation_id": group.generation_id,
            "protocol_type": group.protocol_type,
            "protocol_name": group.protocol_name,
            "leader": group.leader_id,
            "coordinator": node_id,
            "members": [
                {
                    "member_id": member.member_id,
                    "group_instance_id": member.group_instance_id,
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                    "session_timeout_ms": member.session_timeout_ms,
                    "rebalance_timeout_ms": member.rebalance_timeout_ms,
                }
                for member in group.members.values()
            ],
            "last_rebalance": None if last is None else asdict(last),
        }


def _read_ms(body: bytes) -> int:
    wish = read_object(body)
    if wish is None or wish.keys() != {"ms"}:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, 'the body says by how much, such as {"ms": 45000}, and nothing else')
    ms = wish["ms"]
    if type(ms) is not int or not 0 <= ms <= ADVANCE_MS_MAX:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"ms is a whole number from 0 to {ADVANCE_MS_MAX}, which is 366 days")
    return ms


def _read_wish(body: bytes, example: str, **optional: type) -> dict[str, Any]:
    """What the body asks for: a node_id, and what else there may be, each of its type."""
    return read_typed(
        body, {"node_id": int}, optional, f"the body says which node, such as {example}, and nothing else"
    )


def _of_server(
    verb: Callable[[RunningBroker, bytes], Awaitable[Answer]],
) -> Callable[[Control, bytes], Awaitable[Answer]]:
    """A verb that needs nothing but the broker."""
    return lambda control, wish: verb(control.server, wish)


#: What can be asked, in the order of the list.
ROUTES: Final[tuple[Route[Control], ...]] = (
    Route("GET", "/", "this list", Control.list_routes),
    Route("GET", "/health", "whether the broker is up, and where its nodes are", Control.health),
    Route("GET", "/nodes", "every node, and whether it is up", Control.nodes),
    Route("POST", "/nodes/stop", 'stop the node {"node_id": ...}; with "hard": true as if it died', Control.stop_node),
    Route("POST", "/nodes/start", 'start the node {"node_id": ...} again', Control.start_node),
    Route("GET", "/groups", "every group, its members, and why it last rebalanced", Control.groups),
    Route(
        "POST",
        "/groups/rebalance",
        'call all members of {"group_id": ...} back; with "reason"',
        _of_server(group_verbs.rebalance),
    ),
    Route(
        "POST",
        "/groups/move",
        'have the node "to" coordinate {"group_id": ..., "to": ...}',
        _of_server(group_verbs.move),
    ),
    Route(
        "POST",
        "/groups/expire",
        'end the sessions of {"group_id": ..., "member": "ana-*"} now',
        _of_server(group_verbs.expire),
    ),
    Route(
        "POST",
        "/groups/evict",
        'remove {"group_id": ..., "member": "ana-*"} as an admin does; with "reason"',
        _of_server(group_verbs.evict),
    ),
    Route(
        "POST",
        "/topics/move_leader",
        'have the node "to" lead {"topic": ..., "partition": ..., "to": ...}',
        _of_server(group_verbs.move_leader),
    ),
    Route("GET", "/events", "what happens from now on, as server-sent events; ?kind=group.* for some", Control.events),
    Route("GET", "/clock", "what time it is", Control.clock),
    Route("POST", "/clock/advance", 'move the virtual clock by {"ms": ...}', Control.advance),
    Route(
        "GET",
        "/clock/next",
        "what the broker waits for next; ?kind=session&group_id=kitchen for some",
        _of_server(clock_verbs.next_deadline),
    ),
    Route(
        "POST",
        "/clock/advance_until",
        'move the virtual clock until {"group_id": ..., "state": ..., "limit_ms": ...}',
        _of_server(clock_verbs.advance_until),
    ),
    Route("GET", "/counters", "connections, logs, timers, purgatories", Control.counters),
    *FAULT_ROUTES,
    *STATE_ROUTES,
)
_ROUTES: Final[Mapping[tuple[str, str], Route[Control]]] = {
    (route.method, any_name(route.path) if route.path.endswith("}") else route.path): route for route in ROUTES
}
