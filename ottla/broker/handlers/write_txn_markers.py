"""WriteTxnMarkers (api key 27), v1–v2: append the markers that end transactions to partitions that this node leads.

Brokers send it to each other, and tools to end a transaction that nobody else ends (`kafka-transactions.sh abort`). The
coordinators here need it not: see `transactions/markers.py`. v1 is flexible, v2 adds transaction_version (KIP-1228).

Errors, for each partition: UNKNOWN_TOPIC_OR_PARTITION, also where this node holds no replica or its log is offline;
NOT_LEADER_OR_FOLLOWER, also while the groups of a partition of __consumer_offsets are not coordinated here;
NOT_ENOUGH_REPLICAS; INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED where the partition has seen a later one;
KAFKA_STORAGE_ERROR where the write fails; UNKNOWN_SERVER_ERROR where a partition of __consumer_offsets is told of a
producer without id or epoch. Any other partition that is told of such a one has the whole request fail with that error:
it and those after it are not written, those before it are. On all of them CLUSTER_AUTHORIZATION_FAILED.
Kafka: KafkaApis.handleWriteTxnMarkersRequest, ReplicaManager.onlinePartition, CoordinatorRuntime.completeTransaction.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.transactions.markers import write_marker
from ottla.cluster.partition_access import find_partition, holds_replica
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.transactions.transaction import TopicPartition
from ottla.log.transaction_marker import EndedTransaction, TransactionMarker
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

_Result = WriteTxnMarkersResponse.WritableTxnMarkerResult
_Topic = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
_Partition = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult


def handle(request: WriteTxnMarkersRequest, call: Call) -> WriteTxnMarkersResponse:
    errors: dict[int, dict[TopicPartition, int]] = {}
    for marker in paced(request.markers):
        ended = EndedTransaction(
            marker.producer_id,
            marker.producer_epoch,
            TransactionMarker(marker.transaction_result, marker.coordinator_epoch),
            marker.transaction_version,
        )
        of_producer = errors.setdefault(marker.producer_id, {})
        written: set[TopicPartition] = set()
        for topic in paced(marker.topics):
            for index in paced(topic.partition_indexes):
                place = topic.name, index
                if place in written:
                    continue
                written.add(place)
                if ended.is_of_nobody and topic.name != GROUP_TOPIC and _is_here(place, call):
                    return refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)  # an exception there
                of_producer[place] = _write(place, ended, call)
    return _answer(errors)


def _is_here(place: TopicPartition, call: Call) -> bool:
    topic = call.node.cluster.topics.get(place[0])
    log = find_partition(topic, place[1])
    if topic is None or log is None or log.is_offline:
        return False
    return holds_replica(call.node, topic.placements[place[1]])


def _write(place: TopicPartition, ended: EndedTransaction, call: Call) -> ErrorCode:
    node = call.node
    if not _is_here(place, call):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return write_marker(node.cluster, lambda: node.group_coordination, node.node_id, place, ended)


def _answer(errors: dict[int, dict[TopicPartition, int]]) -> WriteTxnMarkersResponse:
    """Producers are named once, as are their topics."""
    results = []
    for producer_id, of_producer in paced(errors.items()):
        topics: dict[str, WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = {}
        for (name, index), error in paced(of_producer.items()):
            topics.setdefault(name, _Topic(name, [])).partitions.append(_Partition(index, error))
        results.append(_Result(producer_id, list(topics.values())))
    return WriteTxnMarkersResponse(results)


def refuse(request: WriteTxnMarkersRequest, error_code: int) -> WriteTxnMarkersResponse:
    return _answer(
        {
            marker.producer_id: {
                (topic.name, index): error_code
                for topic in paced(marker.topics)
                for index in paced(topic.partition_indexes)
            }
            for marker in paced(request.markers)
        }
    )
