"""Which nodes hold which partition.

Partitions are dealt out to the nodes in turn, and go on where the last topic stopped; further replicas are the next
nodes round the circle. With three nodes, a topic of four partitions after one of two:

    partition   0        1        2        3
    replicas    3 1 2    1 2 3    2 3 1    3 1 2        the first leads

Nodes that are down hold a partition only where those that are up are too few, and come last in it.

So leaders are spread evenly, and the same topics created in the same order get the same replicas each time. Kafka
starts each topic at a random node (StripedReplicaPlacer); clients can't tell, and tests can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode


def place(
    node_ids: Sequence[int], first: int, partitions: int, replication_factor: int, down: Sequence[int] = ()
) -> list[list[int]]:
    """Replicas for so many partitions.

    node_ids: the nodes that are up; down: those that are not.
    first: how many partitions were placed before.

    Raises `Refused`.
    """
    nodes = len(node_ids) + len(down)
    fault = "all brokers are down" if not node_ids else f"there are only {nodes} broker(s)"
    if replication_factor > nodes or not node_ids:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): {fault}.",
        )
    return [
        [*_round(node_ids, first + partition), *_round(down, first + partition)][:replication_factor]
        for partition in range(partitions)
    ]


def _round(node_ids: Sequence[int], first: int) -> list[int]:
    """All of them, in turn from this one on."""
    start = first % len(node_ids) if node_ids else 0
    return [*node_ids[start:], *node_ids[:start]]


def check_replicas(
    replicas: Sequence[int], node_ids: Sequence[int], replication_factor: int | None, down: Sequence[int] = ()
) -> None:
    """Raise `Refused` if a client can't have its partition on these nodes. `replication_factor`: that of the others."""
    fault = _fault(replicas, [*node_ids, *down], replication_factor)
    if fault is None and all(node_id in down for node_id in replicas):
        fault = "only brokers that are down"
    if fault is not None:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {fault}.")


def _fault(replicas: Sequence[int], node_ids: Sequence[int], replication_factor: int | None) -> str | None:
    if not replicas:
        return "an empty replica list"
    for node_id in sorted(replicas):
        if node_id not in node_ids:
            return f"broker {node_id}, but no such broker is registered"
        if replicas.count(node_id) > 1:
            return f"the broker {node_id} more than once"
    if replication_factor is not None and len(replicas) != replication_factor:
        return f"a partition with {len(replicas)} replica(s) beside partitions with {replication_factor}"
    return None
