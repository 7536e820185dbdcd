"""What a fault is aimed at: which requests, connections or appends it is about.

Texts are globs (`ana-*`), or lists of them, of which one has to fit. Everything that is said has to hold. A request
that names several topics, groups or members is aimed at if one of each fits; whether the others are served all the same
is up to what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.network.apis import SERVED
from ottla.broker.requests.subjects import asks_for_all_topics, is_leader, shape_of, topics, values
from ottla.control.faults.misuse import BadFault, unknown
from ottla.protocol.registry import Api, all_apis, api

if TYPE_CHECKING:
    from ottla.broker.network.call import Call, CallConnection
    from ottla.control.faults.occurrence import Occurrence
    from ottla.control.faults.targets import Target


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """A client's connection, for predicates. `client_id` is that of its last request, "" before the first."""

    client_id: str
    client_host: str
    client_port: int
    principal: str
    listener: str
    node_id: int


#: What has to be in the request itself.
_IN_REQUEST: Final = ("group", "member", "instance", "transactional_id", "producer_id", "topic", "partition", "role")
ROLES: Final = ("leader", "follower")


@dataclass(slots=True)
class Aim:
    """What has to hold; what is empty or None is not asked."""

    apis: frozenset[str] = frozenset()
    group: Sequence[str] = ()
    member: Sequence[str] = ()
    instance: Sequence[str] = ()
    transactional_id: Sequence[str] = ()
    topic: Sequence[str] = ()
    client_id: Sequence[str] = ()
    principal: Sequence[str] = ()
    listener: Sequence[str] = ()
    partition: Sequence[int] = ()
    producer_id: Sequence[int] = ()
    node: Sequence[int] = ()
    versions: tuple[int, int] | None = None
    role: str | None = None
    connection: Callable[[ConnectionView], object] | None = None
    when: Callable[[Any], object] | None = None
    #: The words of timers; only a hold of timers says them.
    timer: Sequence[str] = ()
    #: What a function of the test's has raised.
    raised: Exception | None = field(default=None, compare=False)

    def said(self) -> list[str]:
        """Which of it was said, by name."""
        names = (*_IN_REQUEST, "client_id", "principal", "listener", "node", "connection", "when")
        said = [name for name in names if getattr(self, name)]
        return said + (["version"] if self.versions is not None else [])

    def check(self, target: Target) -> None:
        """Raises `BadFault` if something of this kind can't be told by what was said."""
        if target.words is None:
            for name in self.apis:
                self._check_api(name)
            return
        if self.apis:
            raise BadFault(f"this happens to {target.name}, which has no API; leave {', '.join(sorted(self.apis))} out")
        for word in self.said():
            if word not in target.words:
                allowed = ", ".join(sorted(target.words))
                raise BadFault(f"{target.name} has no {word} to aim at; it has {allowed}")

    def _check_api(self, name: str) -> None:
        shape = shape_of(_BY_NAME[name].request)
        for word in _IN_REQUEST:
            if getattr(self, word) and word not in shape.words:
                words = f"it has {', '.join(shape.words)}" if shape.words else "aim at its client_id, or at the API"
                raise BadFault(f"{name} has no {word} to aim at; {words}")

    def has_parts(self) -> bool:
        """Whether it may be about a part of a request: some of its topics or partitions."""
        return bool(self.topic or self.partition)

    def is_of_topic(self, topic: str, index: int | None) -> bool:
        """Whether it is about this topic and partition; with None about the topic as such."""
        return fits(self.topic, topic) and (index is None or not self.partition or index in self.partition)

    def miss(self, call: Call) -> str | None:
        """Why a request is not aimed at; None: it is."""
        if self.apis and call.route.name not in self.apis:
            return f"it is {call.route.name}"
        connection = call.connection
        for word, patterns, said in (
            ("client_id", self.client_id, call.client_id),
            ("principal", self.principal, str(call.principal)),
            ("listener", self.listener, call.listener_name),
        ):
            if not fits(patterns, said):
                return f"its {word} is {said!r}"
        if self.node and call.node.node_id not in self.node:
            return f"its node is {call.node.node_id}"
        if self.versions is not None and not self.versions[0] <= call.api_version <= self.versions[1]:
            return f"its version is {call.api_version}"
        missed = self._miss_subject(call)
        if missed is not None:
            return missed
        if self.connection is not None and not self._holds(self.connection, view_of(connection, call.client_id)):
            return "its connection is another"
        if self.when is not None and not self._holds(self.when, call.request):
            return "the predicate says no"
        return None

    def _miss_subject(self, call: Call) -> str | None:
        for word in ("group", "member", "instance", "transactional_id"):
            patterns: Sequence[str] = getattr(self, word)
            if patterns and not any(fits(patterns, said) for said in values(call, word)):
                return f"its {word} is {_listed(values(call, word))}"
        if self.producer_id and not any(said in self.producer_id for said in values(call, "producer_id")):
            return f"its producer_id is {_listed(values(call, 'producer_id'))}"
        if self.has_parts() and not self._is_about_topics(call):
            named = (topic if index is None else f"{topic}-{index}" for topic, index in topics(call))
            return f"it is about {_listed(named)}"
        if self.role is not None and is_leader(call) is not (self.role == "leader"):
            return f"it is not of a {self.role}"
        return None

    def _is_about_topics(self, call: Call) -> bool:
        if asks_for_all_topics(call):
            return any(self.is_of_topic(topic, None) for topic in call.node.cluster.topics)
        return any(self.is_of_topic(topic, index) for topic, index in topics(call))

    def is_of(self, occurrence: Occurrence) -> bool:
        """Whether something other than a request is aimed at."""
        said = {
            "group": occurrence.group_id,
            "member": occurrence.member_id,
            "transactional_id": occurrence.transactional_id,
            "timer": occurrence.timer,
        }
        partitions = occurrence.committed if occurrence.partition is None else [occurrence.partition]
        return (
            all(fits(getattr(self, word), value or "") for word, value in said.items())
            and (not self.node or occurrence.node_id in self.node)
            and (not self.has_parts() or any(self.is_of_topic(*partition) for partition in partitions))
            and (occurrence.connection is None or self._is_of_connection(occurrence.connection))
        )

    def _is_of_connection(self, connection: CallConnection) -> bool:
        """Whether a connection that is being made is aimed at."""
        return fits(self.listener, connection.listener.name) and (
            self.connection is None or self._holds(self.connection, view_of(connection, ""))
        )

    def _holds(self, predicate: Callable[[Any], object], value: object) -> bool:
        try:
            return bool(predicate(value))
        except Exception as error:
            self.raised = self.raised or error
            return False


def view_of(connection: CallConnection, client_id: str) -> ConnectionView:
    """A connection as predicates see it."""
    host, port = connection.peer
    return ConnectionView(
        client_id, host, port, str(connection.principal), connection.listener.name, connection.node.node_id
    )


def fits(patterns: Sequence[str], said: str) -> bool:
    """Whether one of the globs fits; without any everything does."""
    return not patterns or any(fnmatchcase(said, pattern) for pattern in patterns)


def _listed(said: Iterable[object]) -> str:
    words = [repr(word) for word in said]
    return ", ".join(words[:5]) + (", …" if len(words) > 5 else "") if words else "not said"


_BY_NAME: Final[dict[str, Api]] = {api(key).name: api(key) for key in SERVED}


def api_names(pattern: str) -> frozenset[str]:
    """The APIs of this name, or that fit this glob. Raises `BadFault`."""
    folded = pattern.casefold()
    found = frozenset(name for name in _BY_NAME if fnmatchcase(name.casefold(), folded))
    if found:
        return found
    for known in all_apis():
        if known.name.casefold() == folded:
            raise BadFault(f"{known.name} is one of Kafka's APIs, but Ottla does not serve it")
    raise unknown("API", pattern, _BY_NAME)
