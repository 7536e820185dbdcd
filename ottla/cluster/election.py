"""Who leads a partition and who is in sync, after nodes have gone and come: a function of what was before.

A node that goes leaves the in-sync replicas (ISR), and leads nothing any more. The leader must be up and in sync; the
first such replica in the order of the list is taken, but no leader is replaced that may stay. The ISR may become empty.
Who was in it when it became smaller than min.insync.replicas has every record that was acknowledged, and is kept in
mind: the eligible leader replicas (ELR, KIP-966). With replicas 1 2 3 and min.insync.replicas=2:

    all up          leader 1    ISR 1 2 3    ELR -
    3 goes          leader 1    ISR 1 2      ELR -
    1 goes          leader 2    ISR 2        ELR 1
    2 goes          none        ISR -        ELR 1 2      and 2 is remembered as the last leader
    3 comes back    none        ISR -        ELR 1 2      it may have missed something
    1 comes back    leader 1    ISR 1        ELR 2        and 3 may join it in the ISR

A node that went without a word is struck from the ELR when it comes back, for it may have lost what it had not flushed.
When no replica is left to be elected, the last leader is, as soon as it is there: better than none. This is an unclean
election, as is the one that an admin asks for who would rather have any leader than none.

Kafka: PartitionChangeBuilder, ReplicationControlManager.generateLeaderAndIsrUpdates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from ottla.cluster.topic import NO_LEADER, Placement


class Election(Enum):
    """What is wanted of an election."""

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
    isr: who is in sync from now on, if that changes.
    struck: who does not belong to the ELR any more.
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
    """(who leads, whether it may have missed records)"""
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

    has_crashed: that it ended without flushing what it had, as is known only when it is back.

    Kafka: handleBrokerFenced, handleBrokerShutdown.
    """
    isr = [replica for replica in before.isr if replica != node_id]
    return elect(before, active, min_isr, election, isr=isr, struck=node_id if has_crashed else None)


def catch_up(before: Placement, active: Collection[int], min_isr: int) -> Placement:
    """The placement with all who are up in the ISR, if there is a leader to catch up with.

    The ISR is in the order of the ids then, as Kafka's leaders put it. Kafka: AlterPartition.
    """
    late = [replica for replica in before.replicas if replica in active and replica not in before.isr]
    if before.leader_id == NO_LEADER or not late:
        return before
    return elect(before, active, min_isr, isr=sorted([*before.isr, *late]))
