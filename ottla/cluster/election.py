"""The leader and the in-sync replicas of a partition after nodes have stopped or started.

A node that stops leaves the in-sync replicas (ISR), and leads nothing any more. The leader must be up and in sync; the
first such replica in the order of the list is taken, but a leader that may stay is not replaced. The ISR may become
empty. A replica that was in it when it became smaller than min.insync.replicas has every acknowledged record. These
are the eligible leader replicas (ELR, KIP-966). With replicas 1 2 3 and min.insync.replicas=2:

    all up          leader 1    ISR 1 2 3    ELR -
    3 goes          leader 1    ISR 1 2      ELR -
    1 goes          leader 2    ISR 2        ELR 1
    2 goes          none        ISR -        ELR 1 2      and 2 is remembered as the last leader
    3 comes back    none        ISR -        ELR 1 2      it may have missed something
    1 comes back    leader 1    ISR 1        ELR 2        and 3 may join it in the ISR

A node that crashed is removed from the ELR when it comes back: it may have lost what it had not flushed. If no replica
can be elected, the last leader is elected as soon as it is up. This is an unclean election, as is the one an admin can
request if any leader is better than none.

Kafka: PartitionChangeBuilder, ReplicationControlManager.generateLeaderAndIsrUpdates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from ottla.cluster.topic import NO_LEADER, Placement


class Election(Enum):
    """The kind of an election."""

    #: A leader, and no change if it can be avoided.
    ONLINE = "online"
    #: The first replica, if it may lead.
    PREFERRED = "preferred"
    #: A leader, if need be one that may have missed records.
    UNCLEAN = "unclean"


def elect(
    before: Placement,
    active: Collection[int],
    min_isr: int,
    election: Election = Election.ONLINE,
    *,
    isr: Sequence[int] | None = None,
    struck: int | None = None,
) -> Placement:
    """The placement after this.

    active: the nodes that may lead.
    min_isr: min.insync.replicas, or how many replicas there are, if that is less.
    isr: the in-sync replicas from now on, if they change.
    struck: the replica that leaves the ELR.
    """
    in_sync = list(before.isr if isr is None else isr)
    elr: list[int] = []
    if len(in_sync) < min_isr:
        elr = sorted(({*before.elr, *before.isr}) - {*in_sync, struck})
    leader_id, is_unclean = _find_leader(before, active, election, in_sync, elr)
    last_known_elr = before.last_known_elr
    if leader_id != before.leader_id:
        if is_unclean:
            in_sync, elr = [leader_id], []
        elif leader_id in elr:
            in_sync = [leader_id]
            elr.remove(leader_id)
        if leader_id != NO_LEADER:
            last_known_elr = []
        elif not last_known_elr:
            last_known_elr = [before.leader_id]
    return Placement(before.replicas, leader_id, in_sync, elr, last_known_elr, before.adding, before.removing)


def _find_leader(
    before: Placement, active: Collection[int], election: Election, isr: list[int], elr: list[int]
) -> tuple[int, bool]:
    """(the leader, whether it may have missed records)"""
    replicas = before.replicas
    may_lead = [replica for replica in replicas if replica in active and replica in (isr or elr)]
    if election is Election.PREFERRED and replicas[0] in may_lead:
        return replicas[0], False
    if before.leader_id in may_lead:
        return before.leader_id, False
    if may_lead:
        return may_lead[0], False
    last_known = before.last_known_elr
    if not isr and not elr and len(last_known) == 1 and last_known[0] in active:
        return last_known[0], True
    if election is Election.UNCLEAN:
        return next(((replica, True) for replica in replicas if replica in active), (NO_LEADER, False))
    return NO_LEADER, False


def remove_node(
    before: Placement, node_id: int, active: Collection[int], min_isr: int, election: Election, *, has_crashed: bool
) -> Placement:
    """The placement without this node, which is not in `active`, in the ISR.

    has_crashed: it ended without a flush, which is known only when it is back.

    Kafka: handleBrokerFenced, handleBrokerShutdown.
    """
    isr = [replica for replica in before.isr if replica != node_id]
    return elect(before, active, min_isr, election, isr=isr, struck=node_id if has_crashed else None)


def catch_up(before: Placement, active: Collection[int], min_isr: int) -> Placement:
    """The placement with all replicas that are up in the ISR, if there is a leader.

    The ISR is in the order of the ids then, as in Kafka. Kafka: AlterPartition.
    """
    late = [replica for replica in before.replicas if replica in active and replica not in before.isr]
    if before.leader_id == NO_LEADER or not late:
        return before
    return elect(before, active, min_isr, isr=sorted([*before.isr, *late]))
