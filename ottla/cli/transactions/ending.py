"""Ending a transaction that hangs: in one partition, or of a transactional id."""

from __future__ import annotations

import asyncio

from ottla.cli.admin import RETRY_SECONDS, CannotAnswer, NotFound, Partition
from ottla.cli.cluster import ContactedCluster, check
from ottla.cli.transactions.questions import described, producers
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from ottla.terminal.output import Item
from ottla.terminal.printable import printable


async def abort_at(cluster: ContactedCluster, place: Partition, start_offset: int) -> Item:
    """Abort the transaction that is open in a partition since this offset. Raises `NotFound`."""
    for producer in await producers(cluster, place):
        if producer["transaction_start_offset"] == start_offset:
            return await abort(cluster, place, producer)
    raise NotFound(
        f"no open transaction starts at offset {start_offset} of partition {place[1]} of {printable(place[0])}; "
        "`ottla transactions describe-producers` shows where they start"
    )


async def abort(cluster: ContactedCluster, place: Partition, producer: Item) -> Item:
    """Write an abort marker for this producer to the partition's leader.

    A partition that no coordinator has written to yet knows of no coordinator's epoch. 0 is no later than any.
    """
    topic, partition = place
    coordinator_epoch = max(0, producer["coordinator_epoch"] or 0)
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer["producer_id"],
        producer["producer_epoch"],
        False,
        [WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic, [partition])],
        coordinator_epoch,
    )
    answer = await cluster.ask(await cluster.leader(place), WriteTxnMarkersRequest([marker]))
    (result,) = answer.markers
    error = result.topics[0].partitions[0].error_code
    later = {
        ErrorCode.INVALID_PRODUCER_EPOCH: f"a later epoch of producer {producer['producer_id']}",
        ErrorCode.TRANSACTION_COORDINATOR_FENCED: "a later epoch of the coordinator",
    }
    if error in later:
        raise CannotAnswer(
            f"the partition has seen {later[error]}; `ottla transactions describe-producers` shows which"
        )
    check(error, f"partition {partition} of {printable(topic)} takes no marker")
    return {
        "topic": topic,
        "partition": partition,
        "producer_id": producer["producer_id"],
        "producer_epoch": producer["producer_epoch"],
        "coordinator_epoch": coordinator_epoch,
    }


async def terminate(cluster: ContactedCluster, transactional_id: str) -> Item:
    """Abort what a transactional id has open, and fence its producer; the id's timeout stays. Raises `NotFound`."""
    (found,) = await described(cluster, [transactional_id])
    request = InitProducerIdRequest(transactional_id, found["timeout_ms"])
    coordinator_id = found["coordinator"]["node_id"]
    answer = await cluster.ask(coordinator_id, request)
    while answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:  # it is being aborted
        await asyncio.sleep(RETRY_SECONDS)
        answer = await cluster.ask(coordinator_id, request)
    check(answer.error_code, f"transactional id {printable(transactional_id)}")
    return {
        "transactional_id": transactional_id,
        "state": found["state"],
        "producer_id": answer.producer_id,
        "producer_epoch": answer.producer_epoch,
    }
