"""A partition goes to other nodes: the steps of a reassignment, as functions of what was before.

It gets the replicas it is to have, and keeps those it is to lose, until the new ones are in sync; then the old ones go,
and if the leader was one of them another is elected. From 1 2 to 2 3:

    while 3 is down     replicas 2 3 1    adding 3    removing 1    ISR 1 2
    when 3 is up        replicas 2 3      adding -    removing -    ISR 2 3

Logs are shared, so a replica is in sync as soon as its node is up, and the first line is only seen while a node is
down. When replicas or the leader are removed, the leader epoch rises.

Kafka: PartitionReassignmentReplicas, PartitionReassignmentRevert, PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ottla.cluster.election import elect
from ottla.cluster.topic import Placement


def reassign(before: Placement, target: Sequence[int]) -> Placement:
    """The placement with which the way to these replicas begins, of which none is listed twice."""
    removing = sorted(set(before.replicas) - set(target))
    adding = sorted(set(target) - set(before.replicas))
    return Placement(
        [*target, *removing],
        before.leader_id,
        before.isr,
        before.elr,
        before.last_known_elr,
        # As in Kafka: what a reassignment adds is still awaited when another one follows that adds nothing.
        adding or before.adding,
        removing or before.removing,
    )


def revert(before: Placement) -> tuple[Placement, list[int]]:
    """(the placement without what is being added, and with what is being removed, the in-sync replicas it will have)"""
    replicas = [replica for replica in before.replicas if replica not in before.adding]
    isr = [replica for replica in before.isr if replica not in before.adding]
    start = Placement(replicas, before.leader_id, before.isr, before.elr, before.last_known_elr)
    return start, isr or replicas[:1]


def needs_unclean_election(before: Placement) -> bool:
    """Whether to revert means to go on with a replica that may have missed records."""
    return all(replica in before.adding for replica in before.isr)


def complete(before: Placement, active: Collection[int], min_isr: int) -> Placement:
    """The placement at the end of its reassignment, if that can be now."""
    if not before.is_being_reassigned:
        return before
    adding, removing = before.adding, before.removing
    isr = [replica for replica in before.isr if replica not in removing]
    replicas = [replica for replica in before.replicas if replica not in removing]
    has_all_added = set(adding) <= set(isr)
    would_weaken = len(adding) < len(removing) and not set(replicas) <= set(isr)
    if not isr or not replicas or not has_all_added or would_weaken:
        return before
    start = Placement(replicas, before.leader_id, before.isr, before.elr, before.last_known_elr)
    return elect(start, active, min_isr, isr=isr)
