"""Answers that differ from the real ones: an error, another throttle time, another leader or coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.requests.parts import divide, joined
from ottla.broker.requests.subjects import topic_name
from ottla.control.faults.aim import Aim, fits
from ottla.control.faults.exchange import Exchange, RequestAction
from ottla.control.faults.misuse import BadFault
from ottla.protocol.copying import changed, copied
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest, FetchResponse
from ottla.protocol.messages.find_coordinator import FindCoordinatorResponse
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from ottla.cluster.address import Address
    from ottla.cluster.cluster import Cluster

#: What a fetch as a whole can be answered; anything else its partitions are.
_OF_FETCH_SESSIONS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class AnswerError(RequestAction):
    """Answers with an error, and nothing is done. Of a request with topics only those aimed at get it, and the others
    are served.

    A fetch is answered at once, as Kafka does when a partition can't be read, and metadata keep their brokers.
    """

    def __init__(self, aim: Aim, error: ErrorCode, *, whole: bool) -> None:
        """`whole`: the request as a whole, whatever it is about."""
        self.text = f"answer {error.name}{' as a whole' if whole else ''}"
        self._aim = aim
        self._error = error
        self._is_whole = whole

    def on_request(self, exchange: Exchange) -> None:
        request = exchange.call.request
        if self._is_whole or (isinstance(request, FetchRequest) and self._error in _OF_FETCH_SESSIONS):
            exchange.refuse(self._error)
        elif isinstance(request, (FetchRequest, MetadataRequest)):
            exchange.notes[self] = True
            if isinstance(request, FetchRequest):
                exchange.call.request = changed(request, max_wait_ms=0)
            exchange.go_on()
        elif self._aim.has_parts():
            self._refuse_part(exchange)
        else:
            exchange.refuse(self._error)

    def _refuse_part(self, exchange: Exchange) -> None:
        call = exchange.call
        aimed, rest = divide(call.request, call.node, self._aim.is_of_topic)
        refused = call.route.refuse(aimed or call.request, self._error)
        if rest is None:
            exchange.come_back(refused)
        else:
            exchange.notes[self] = refused
            call.request = rest
            exchange.go_on()

    def on_answer(self, exchange: Exchange) -> None:
        note, response = exchange.notes.pop(self, None), exchange.response
        if note is None or response is None:
            pass
        elif isinstance(response, FetchResponse):
            exchange.response = self._in_fetch(exchange, response)
        elif isinstance(response, MetadataResponse):
            exchange.response = self._in_metadata(exchange, response)
        else:
            exchange.response = joined(response, note)
        exchange.go_on()

    def _in_fetch(self, exchange: Exchange, response: FetchResponse) -> FetchResponse:
        """Each partition that was asked for and is aimed at has the error; the session goes on."""
        topics = {}
        for topic in response.responses:
            topics[topic.topic, topic.topic_id] = changed(topic, partitions=list(topic.partitions))
        node = exchange.call.node
        for name, topic_id, index in _fetched(exchange):
            known = node.cluster.topics_by_id.get(topic_id)
            if not self._aim.is_of_topic(name or ("" if known is None else known.name), index):
                continue
            empty = FetchResponse.FetchableTopicResponse(name, topic_id, [])
            partitions = topics.setdefault((name, topic_id), empty).partitions
            partitions[:] = [partition for partition in partitions if partition.partition_index != index]
            partitions.append(FetchResponse.PartitionData(index, self._error, high_watermark=-1, records=b""))
        return changed(response, responses=list(topics.values()))

    def _in_metadata(self, exchange: Exchange, response: MetadataResponse) -> MetadataResponse:
        topics = []
        for topic in response.topics:
            name = topic_name(topic, exchange.call.node)
            if not self._aim.is_of_topic(name, None):
                topics.append(topic)
            elif not self._aim.partition:
                topics.append(changed(topic, error_code=self._error, partitions=[]))
            else:
                partitions = [
                    changed(partition, error_code=self._error, leader_id=-1)
                    if self._aim.is_of_topic(name, partition.partition_index)
                    else partition
                    for partition in topic.partitions
                ]
                topics.append(changed(topic, partitions=partitions))
        return changed(response, topics=topics)


def _fetched(exchange: Exchange) -> list[tuple[str, bytes, int]]:
    """(topic's name, its id, partition) of all that a fetch is about, named as its version names topics."""
    call = exchange.call
    request: Any = call.request
    asked = {
        (topic.topic, topic.topic_id, partition.partition): None
        for topic in request.topics
        for partition in topic.partitions
    }
    session = call.node.fetch_sessions.get(request.session_id)
    for partition in () if session is None else session.partitions.values():
        name = "" if call.api_version >= 13 else partition.topic or ""
        topic_id = partition.topic_id if call.api_version >= 13 else bytes(16)
        asked[name, topic_id, partition.index] = None
    return list(asked)


class Throttle(RequestAction):
    """Claims that the client is throttled for so long."""

    def __init__(self, ms: int) -> None:
        self.text = f"throttle_time_ms {ms}"
        self._ms = ms

    def on_answer(self, exchange: Exchange) -> None:
        response = exchange.response
        if response is not None and hasattr(response, "throttle_time_ms"):
            exchange.response = changed(response, throttle_time_ms=self._ms)
        exchange.go_on()


class ChangeAnswer(RequestAction):
    """Has the answer changed by a function, which gets a copy and may return another one. If it raises, the answer
    stays as it is, and the test is told at its end.
    """

    text = "change the answer"

    def __init__(self, aim: Aim, change: Callable[[Any], Any]) -> None:
        self._aim = aim
        self._change = change

    def on_answer(self, exchange: Exchange) -> None:
        if exchange.response is not None:
            answer = copied(exchange.response)
            try:
                other = self._change(answer)
            except Exception as error:
                self._aim.raised = self._aim.raised or error
            else:
                exchange.response = answer if other is None else other
        exchange.go_on()


class StaleLeader(RequestAction):
    """Metadata name another node as leader of the partitions aimed at, which tells clients NOT_LEADER_OR_FOLLOWER."""

    def __init__(self, aim: Aim, cluster: Cluster, node_id: int | None) -> None:
        self.text = f"name {'another node' if node_id is None else f'node {node_id}'} as leader"
        self._aim = aim
        self._other = _Other(cluster, node_id)

    def on_answer(self, exchange: Exchange) -> None:
        response = exchange.response
        if isinstance(response, MetadataResponse):
            exchange.response = changed(response, topics=[self._in_topic(topic, exchange) for topic in response.topics])
        exchange.go_on()

    def _in_topic(
        self, topic: MetadataResponse.MetadataResponseTopic, exchange: Exchange
    ) -> MetadataResponse.MetadataResponseTopic:
        name = topic_name(topic, exchange.call.node)
        partitions = [
            changed(partition, leader_id=self._other.than(partition.leader_id))
            if self._aim.is_of_topic(name, partition.partition_index)
            else partition
            for partition in topic.partitions
        ]
        return changed(topic, partitions=partitions)


class StaleCoordinator(RequestAction):
    """FindCoordinator names another node, which tells clients NOT_COORDINATOR."""

    def __init__(self, aim: Aim, cluster: Cluster, node_id: int | None) -> None:
        self.text = f"name {'another node' if node_id is None else f'node {node_id}'} as coordinator"
        self._aim = aim
        self._other = _Other(cluster, node_id)

    def on_answer(self, exchange: Exchange) -> None:
        response, listener = exchange.response, exchange.call.listener_name
        if isinstance(response, FindCoordinatorResponse):
            if response.coordinators:
                named = [self._moved(found, listener) for found in response.coordinators]
                exchange.response = changed(response, coordinators=named)
            else:
                exchange.response = self._moved(response, listener)
        exchange.go_on()

    def _moved(self, found: Any, listener: str) -> Any:
        key, patterns = getattr(found, "key", None), self._aim.group or self._aim.transactional_id
        if found.error_code or (key is not None and not fits(patterns, key)):
            return found
        node_id = self._other.than(found.node_id)
        address = self._other.address(node_id, listener)
        return changed(found, node_id=node_id, host=address.host, port=address.port)


class _Other:
    """Which node is named in place of the right one."""

    def __init__(self, cluster: Cluster, node_id: int | None) -> None:
        known = list(cluster.all_nodes)
        if node_id is not None and node_id not in known:
            raise BadFault(f"there is no node {node_id} to name; the nodes are {', '.join(map(str, known))}")
        if node_id is None and len(known) == 1:
            raise BadFault("there is only one node, and no other one to name; have the broker show nodes=2")
        self._cluster = cluster
        self._node_id = node_id

    def than(self, node_id: int) -> int:
        """The node to be named in place of this one: the one that was asked for, or the next one."""
        if self._node_id is not None:
            return self._node_id
        known = list(self._cluster.all_nodes)
        place = known.index(node_id) if node_id in known else -1
        return known[(place + 1) % len(known)]

    def address(self, node_id: int, listener: str) -> Address:
        """Where clients of a listener reach it."""
        return self._cluster.all_nodes[node_id].addresses[listener]
