"""Which nodes hold which partition.

Partitions are dealt out to the nodes in turn, and go on where the last topic stopped; further replicas are the next
nodes round the circle. With three nodes, a topic of four partitions after one of two:

    partition   0        1        2        3
    replicas    3 1 2    1 2 3    2 3 1    3 1 2        the first leads

So leaders are spread evenly, and the same topics created in the same order lie the same way each time. Kafka starts
each topic at a random node (StripedReplicaPlacer); clients can't tell, and tests like to be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.broker.refused import Refused
from ottla.protocol.errors import ErrorCode


def place(node_ids: Sequence[int], first: int, partitions: int, replication_factor: int) -> list[list[int]]:
    """Replicas for so many partitions. `first`: how many partitions were placed before. Raises `Refused`."""
    nodes = len(node_ids)
    if replication_factor > nodes:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): there are only {nodes} broker(s).",
        )
    return [
        [node_ids[(first + partition + replica) % nodes] for replica in range(replication_factor)]
        for partition in range(partitions)
    ]


def check_replicas(replicas: Sequence[int], node_ids: Sequence[int], replication_factor: int | None) -> None:
    """Raise `Refused` if a client can't have its partition on these nodes. `replication_factor`: that of the others."""
    fault = _fault(replicas, node_ids, replication_factor)
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
