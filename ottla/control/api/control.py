"""The control API without its HTTP: what scripts can ask of a running broker, and do to it.

    GET  /health          is it up, and where are its nodes
    GET  /nodes           every node, and whether it is up
    POST /nodes/stop      {"node_id": 2, "hard": true}: stop a node; without hard in an orderly way
    POST /nodes/start     {"node_id": 2}: start it again
    GET  /groups          every group, its members, and why it last rebalanced
    POST /groups/...      what `group_verbs` does to groups
    GET  /events          what happens from now on, as it happens
    … /clock/...          what time it is, what is next, and moving it: `clock_verbs`
    GET  /counters        connections, logs, timers, purgatories
    … /faults, … /holds   what is to go wrong, and what is held: see `faults`
    … /topics, /wait, …   what there is, waiting for it, putting it back: see `state`

Answers are JSON objects with Kafka's words for keys, and units. Whatever can't be done is an `HttpRefused` with a
sentence. docs/control.md is for authors of such scripts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import cached_property
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ottla import __version__
from ottla.broker.groups.notes import LastRebalances
from ottla.cluster.address import MachineRefused
from ottla.cluster.node import UnknownNode
from ottla.control.api.body import read_typed
from ottla.control.api.fault_routes import FAULT_ROUTES
from ottla.control.api.feed import Feed, read_kinds
from ottla.control.api.http_refused import HttpRefused
from ottla.control.api.route import Answer, Route, any_name
from ottla.control.api.state_routes import STATE_ROUTES
from ottla.control.state.stopping import Stopping
from ottla.control.state.timeline import History

if TYPE_CHECKING:
    from ottla.control.api.faults import FaultControl
    from ottla.control.api.state import StateControl
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.groups import GroupView

#: For the timeline.
EVENTS_KEPT_MAX: Final = 2_000
#: What a list of groups says of each of them, and of its members; GET /groups/{group_id} says all.
_TOLD_OF_GROUPS: Final = (
    "group_id",
    "state",
    "generation_id",
    "protocol_type",
    "protocol_name",
    "leader",
    "coordinator",
)
_TOLD_OF_MEMBERS: Final = (
    "member_id",
    "group_instance_id",
    "client_id",
    "client_host",
    "session_timeout_ms",
    "rebalance_timeout_ms",
)


class Control:
    """Answers requests about one broker."""

    def __init__(self, broker: ControlledBroker) -> None:
        self.broker = broker
        self.server = server = broker.server
        self._cluster = server.cluster
        self._last_rebalances = LastRebalances(server.events)
        self._history = History(server.events, server.clock.now_ms(), EVENTS_KEPT_MAX)

    @cached_property
    def state(self) -> StateControl:
        """Answers what concerns the broker's state."""
        from ottla.control.api.state import StateControl

        return StateControl(self.broker, self._history)

    @cached_property
    def faults(self) -> FaultControl:
        """Answers what concerns faults."""
        from ottla.control.api.faults import FaultControl

        return FaultControl(self.broker)

    async def answer(self, method: str, path: str, argument: bytes) -> Answer | Feed:
        """The answer to one request; `argument` is the body of a POST, or the query of a GET. Raises `HttpRefused`."""
        route = _ROUTES.get((method, path))
        if route is None and (route := _ROUTES.get((method, any_name(path)))) is not None:
            name = path.rpartition("/")[2].encode()
            argument = b"%b?%b" % (name, argument) if argument and method == "GET" else argument or name
        if route is not None:
            try:
                return await route.answer(self, argument)
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
        asked = _read_body(body, '{"node_id": 2, "hard": true}', hard=bool)
        await self._switch(self.broker.nodes.stop(asked["node_id"], hard=asked.get("hard", False)))
        return await self.nodes(b"")

    async def start_node(self, body: bytes) -> Answer:
        """POST /nodes/start"""
        asked = _read_body(body, '{"node_id": 2}')
        await self._switch(self.broker.nodes.start(asked["node_id"]))
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
        from ottla.control.state.groups import look_at_groups

        return {"groups": list(map(self._tell_group, look_at_groups(self.server.services, self._cluster)))}

    async def events(self, query: bytes) -> Feed:
        """GET /events"""
        return Feed(self.server.events, read_kinds(query.decode("latin-1")))

    async def counters(self, _body: bytes) -> Answer:
        """GET /counters"""
        cluster, services, timer = self._cluster, self.server.services, self.server.timer
        groups = services.group_coordination.of_node.values()
        _ = services.delayed_operations  # so that its purgatories are registered
        registered = sorted(services.purgatories, key=lambda one: one.node_id is None)
        return {
            "connections": {str(node_id): count for node_id, count in self.server.connection_counts.items()},
            "topics": len(cluster.topics),
            "partitions": sum(len(topic.partitions) for topic in cluster.topics.values()),
            "log_bytes": cluster.logs.bytes.bytes_held,
            "groups": sum(len(coordinator.groups) for coordinator in groups),
            "timer": {"pending": timer.size, "fired": timer.fired, "wake_ups": timer.wake_ups},
            "purgatories": [
                {
                    "name": one.purgatory.name,
                    "node_id": one.node_id,
                    "watched": one.purgatory.watched,
                    "delayed": one.purgatory.delayed,
                    "expired": one.purgatory.expired,
                }
                for one in registered
            ],
        }

    def _tell_group(self, view: GroupView) -> Answer:
        last = self._last_rebalances.of(view.group_id)
        return {
            **{name: getattr(view, name) for name in _TOLD_OF_GROUPS},
            "members": [{name: getattr(member, name) for name in _TOLD_OF_MEMBERS} for member in view.members],
            "last_rebalance": None if last is None else asdict(last),
        }


def _read_body(body: bytes, example: str, **optional: type) -> dict[str, Any]:
    """What the body asks for: a node_id, and what else there may be, each of its type."""
    return read_typed(
        body, {"node_id": int}, optional, f"the body says which node, such as {example}, and nothing else"
    )


def _verb(module: str, name: str) -> Callable[[Control, bytes], Awaitable[Answer]]:
    """A function of this module, given the broker. The module is loaded with the first request for it."""

    async def answer(control: Control, body: bytes) -> Answer:
        verb = getattr(import_module(f"ottla.control.api.{module}"), name)
        answered: Answer = await verb(control.broker, body)
        return answered

    return answer


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
        _verb("group_verbs", "rebalance"),
    ),
    Route(
        "POST",
        "/groups/move",
        'have the node "to" coordinate {"group_id": ..., "to": ...}',
        _verb("group_verbs", "move"),
    ),
    Route(
        "POST",
        "/groups/expire",
        'end the sessions of {"group_id": ..., "member": "ana-*"} now',
        _verb("group_verbs", "expire"),
    ),
    Route(
        "POST",
        "/groups/evict",
        'remove {"group_id": ..., "member": "ana-*"} as an admin does; with "reason"',
        _verb("group_verbs", "evict"),
    ),
    Route(
        "POST",
        "/topics/move_leader",
        'have the node "to" lead {"topic": ..., "partition": ..., "to": ...}',
        _verb("group_verbs", "move_leader"),
    ),
    Route("GET", "/events", "what happens from now on, as server-sent events; ?kind=group.* for some", Control.events),
    Route("GET", "/clock", "what time it is", _verb("clock_verbs", "clock")),
    Route("POST", "/clock/advance", 'move the virtual clock by {"ms": ...}', _verb("clock_verbs", "advance")),
    Route(
        "GET",
        "/clock/next",
        "what the broker waits for next; ?kind=session&group_id=kitchen for some",
        _verb("clock_verbs", "next_deadline"),
    ),
    Route(
        "POST",
        "/clock/advance_until",
        'move the virtual clock until {"group_id": ..., "state": ..., "limit_ms": ...}',
        _verb("clock_verbs", "advance_until"),
    ),
    Route("GET", "/counters", "connections, logs, timers, purgatories", Control.counters),
    *FAULT_ROUTES,
    *STATE_ROUTES,
)
_ROUTES: Final[Mapping[tuple[str, str], Route[Control]]] = {
    (route.method, any_name(route.path) if route.path.endswith("}") else route.path): route for route in ROUTES
}
