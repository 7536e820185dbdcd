"""Requests about transactions, and what the answers mean.

No request looks for a coordinator: that makes a fresh broker create its transactions topic, and a question should
change nothing. Every broker is asked, and those that don't coordinate an id say so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from ottla.cli.admin import NotFound, Partition
from ottla.cli.cluster import AnswerRefused, ContactedCluster, check
from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.terminal.output import Item
from ottla.terminal.printable import printable

T = TypeVar("T")

#: How many partitions, or ids, one request asks for.
_AT_ONCE: Final = 500


class Wanted(NamedTuple):
    """Which transactions are listed."""

    states: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    duration_ms: int = -1
    """Open for longer than this; below 0: any."""
    pattern: str | None = None


class Scope(NamedTuple):
    """Where to look for transactions that hang. None: everywhere."""

    topic: str | None
    partition: int | None
    broker_id: int | None


def _lots(items: list[T]) -> Iterator[list[T]]:
    for at in range(0, len(items), _AT_ONCE):
        yield items[at : at + _AT_ONCE]


def now_ms() -> int:
    """The time, as Kafka's own tool takes it: this machine's."""
    return int(time.time() * 1000)


async def listed(cluster: ContactedCluster, wanted: Wanted) -> list[Item]:
    """Every transactional id that is wanted, by name."""
    request = ListTransactionsRequest(
        list(wanted.states), list(wanted.producer_ids), wanted.duration_ms, wanted.pattern or None
    )
    version_min = 2 if wanted.pattern else 1 if wanted.duration_ms >= 0 else 0
    found = []
    for node_id, answer in (await cluster.ask_all(request, version_min)).items():
        if answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION:
            raise NotFound(
                f"{printable(wanted.pattern or '')} is no regular expression in RE2's syntax; mend the pattern"
            )
        check(answer.error_code, f"node {node_id} lists no transactions")
        if answer.unknown_state_filters:
            unknown = ", ".join(map(printable, answer.unknown_state_filters))
            raise NotFound(
                f"there is no state {unknown}; states are written as `ottla transactions` shows them: Ongoing"
            )
        found += [
            {
                "transactional_id": one.transactional_id,
                "coordinator": cluster.brokers[node_id],
                "producer_id": one.producer_id,
                "state": one.transaction_state,
            }
            for one in answer.transaction_states
        ]
    return sorted(found, key=lambda one: str(one["transactional_id"]))


async def described(cluster: ContactedCluster, ids: Sequence[str]) -> list[Item]:
    """These transactional ids. Raises `NotFound` and `AnswerRefused`."""
    found = await find(cluster, ids)
    for transactional_id in ids:
        if transactional_id not in found:
            raise NotFound(
                f"no broker knows a transactional id {printable(transactional_id)}; "
                "`ottla transactions` lists those there are"
            )
    return [found[transactional_id] for transactional_id in dict.fromkeys(ids)]


async def find(cluster: ContactedCluster, ids: Iterable[str]) -> dict[str, Item]:
    """The transactional ids that exist. Raises `AnswerRefused` if the coordinator of one can't be asked now."""
    found: dict[str, Item] = {}
    for some in _lots(list(dict.fromkeys(ids))):
        unsettled = dict.fromkeys(some, ErrorCode.NOT_COORDINATOR)
        for node_id, answer in (await cluster.ask_all(DescribeTransactionsRequest(some))).items():
            for one in answer.transaction_states:
                if one.error_code == ErrorCode.NONE:
                    found[one.transactional_id] = _described(one, cluster.brokers[node_id])
                if one.error_code != ErrorCode.NOT_COORDINATOR:
                    unsettled[one.transactional_id] = one.error_code
        await _check_unknown(cluster, {name: error for name, error in unsettled.items() if name not in found})
    return found


async def _check_unknown(cluster: ContactedCluster, errors: dict[str, int]) -> None:
    """Raises `AnswerRefused` unless these ids are unknown for good."""
    for transactional_id, error in errors.items():
        if error == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            continue
        if error == ErrorCode.NOT_COORDINATOR and not await _has_coordinators(cluster):
            return
        raise AnswerRefused(error, f"transactional id {printable(transactional_id)}")


async def _has_coordinators(cluster: ContactedCluster) -> bool:
    """Whether a transactional id was ever used in this cluster."""
    return any(topic == TRANSACTION_TOPIC for topic, _ in await cluster.partitions())


def _described(one: DescribeTransactionsResponse.TransactionState, coordinator: Item) -> Item:
    start_ms = one.transaction_start_time_ms if one.transaction_start_time_ms >= 0 else None
    return {
        "transactional_id": one.transactional_id,
        "coordinator": coordinator,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "state": one.transaction_state,
        "timeout_ms": one.transaction_timeout_ms,
        "start_ms": start_ms,
        "duration_ms": None if start_ms is None else now_ms() - start_ms,
        "partitions": [
            {"topic": topic.topic, "partition": partition}
            for topic in sorted(one.topics, key=lambda topic: str(topic.topic))
            for partition in sorted(topic.partitions)
        ],
    }


async def producers(cluster: ContactedCluster, place: Partition, broker_id: int | None = None) -> list[Item]:
    """Every producer that a partition remembers, at its leader or at this broker."""
    leader_id = await cluster.leader(place) if broker_id is None else broker_id
    if leader_id not in cluster.brokers:
        raise NotFound(f"there is no broker {leader_id}; there are {', '.join(map(str, cluster.brokers))}")
    if broker_id is not None and broker_id not in (await cluster.partition(place))["replicas"]:
        raise NotFound(f"broker {broker_id} holds no replica of partition {place[1]} of {printable(place[0])}")
    return (await _producers_at(cluster, leader_id, [place]))[place]


async def _producers_at(
    cluster: ContactedCluster, node_id: int, places: list[Partition]
) -> dict[Partition, list[Item]]:
    """What one node knows of these partitions' producers."""
    found: dict[Partition, list[Item]] = {}
    for some in _lots(places):
        topics: dict[str, list[int]] = {}
        for topic, partition in some:
            topics.setdefault(topic, []).append(partition)
        asked = [DescribeProducersRequest.TopicRequest(topic, indexes) for topic, indexes in topics.items()]
        for topic in (await cluster.ask(node_id, DescribeProducersRequest(asked))).topics:
            for partition in topic.partitions:
                check(partition.error_code, f"partition {partition.partition_index} of {printable(topic.name)}")
                found[topic.name, partition.partition_index] = [
                    {
                        "producer_id": one.producer_id,
                        "producer_epoch": one.producer_epoch,
                        "coordinator_epoch": _or_none(one.coordinator_epoch),
                        "last_sequence": _or_none(one.last_sequence),
                        "last_timestamp": one.last_timestamp,
                        "transaction_start_offset": _or_none(one.current_txn_start_offset),
                    }
                    for one in partition.active_producers
                ]
    return found


def _or_none(value: int) -> int | None:
    return value if value >= 0 else None


async def hanging(cluster: ContactedCluster, scope: Scope, timeout_ms: int) -> list[Item]:
    """Open transactions that no coordinator will end.

    One that is open for longer than any transaction may be is a candidate. It hangs if there is no transactional id
    that has its producer id, or if the id's transaction does not have this partition; otherwise the coordinator still
    has its marker to write. Kafka: FindHangingTransactionsCommand.
    """
    candidates = await _open_for_longer(cluster, scope, timeout_ms)
    if not candidates:
        return []
    ids = {one["producer_id"]: one["transactional_id"] for one in await listed(
        cluster, Wanted(producer_ids=list({one["producer_id"] for one in candidates}))
    )}  # fmt: skip
    known = await find(cluster, ids.values())
    found = []
    for one in candidates:
        transactional_id = ids.get(one["producer_id"])
        transaction = known.get(transactional_id) if transactional_id is not None else None
        place = {"topic": one["topic"], "partition": one["partition"]}
        if transaction is None or place not in transaction["partitions"]:
            found.append({**one, "transactional_id": transactional_id})
    return found


async def _open_for_longer(cluster: ContactedCluster, scope: Scope, timeout_ms: int) -> list[Item]:
    """Transactions that are open in a partition for longer than this."""
    by_node: dict[int, list[Partition]] = {}
    for place, found in (await _places(cluster, scope)).items():
        if scope.broker_id is None:
            if found["leader"] not in cluster.brokers:
                raise AnswerRefused(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {place[1]} of {printable(place[0])}")
            by_node.setdefault(found["leader"], []).append(place)
        elif scope.broker_id in found["replicas"]:
            by_node.setdefault(scope.broker_id, []).append(place)
    candidates = []
    for node_id, places in by_node.items():
        found_there = await _producers_at(cluster, node_id, sorted(places))
        candidates += [
            {
                "topic": topic,
                "partition": partition,
                **one,
                "duration_ms": now_ms() - one["last_timestamp"],
            }
            for (topic, partition), remembered in found_there.items()
            for one in remembered
            if one["transaction_start_offset"] is not None
        ]
    long_open = [one for one in candidates if one["duration_ms"] > timeout_ms]
    return sorted(long_open, key=lambda one: (one["topic"], one["partition"], one["transaction_start_offset"]))


async def _places(cluster: ContactedCluster, scope: Scope) -> dict[Partition, Item]:
    if scope.broker_id is not None and scope.broker_id not in cluster.brokers:
        raise NotFound(f"there is no broker {scope.broker_id}; there are {', '.join(map(str, cluster.brokers))}")
    if scope.topic is not None and scope.partition is not None:
        place = scope.topic, scope.partition
        return {place: await cluster.partition(place)}
    return await cluster.partitions(scope.topic)
