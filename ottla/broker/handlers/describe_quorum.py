"""DescribeQuorum (api key 55), v0–v2: the nodes that vote on the cluster's metadata, and how far each is (KIP-595).

There is no such quorum here: all nodes share what they know. What is shown is what a Kafka shows whose nodes are
controllers too: the controller leads, every node is a voter, and those that are up have all there is. The metadata log
of a Kafka that rests grows by a record every half second, and so does the offset shown here.

v1 adds the times of replicas, v2 their directories, the nodes' addresses and error messages. A node is shown with its
address on the client's listener.

Errors: CLUSTER_AUTHORIZATION_FAILED; UNKNOWN_TOPIC_OR_PARTITION for all that is listed, unless that is partition 0 of
__cluster_metadata and nothing else. Kafka: ControllerApis.handleDescribeQuorum,
KafkaRaftClient.handleDescribeQuorumRequest.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from ottla.broker.network.call import Call
from ottla.cluster.topic_names import METADATA_TOPIC
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse

_LEADER_EPOCH: Final = 1
#: Kafka: metadata.max.idle.interval.ms.
_MS_PER_RECORD: Final = 500
#: Of a replica that is away.
_UNKNOWN: Final = -1
_UUID_BYTES: Final = 16

_Topic = DescribeQuorumResponse.TopicData
_Partition = DescribeQuorumResponse.PartitionData


def handle(request: DescribeQuorumRequest, call: Call) -> DescribeQuorumResponse:
    if [(topic.topic_name, [p.partition_index for p in topic.partitions]) for topic in paced(request.topics)] != [
        (METADATA_TOPIC, [0])
    ]:
        return _refuse_partitions(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    cluster = call.node.cluster
    end_offset = 1 + call.node.clock.now_ms() // _MS_PER_RECORD
    partition = _Partition(
        partition_index=0,
        leader_id=cluster.controller_id,
        leader_epoch=_LEADER_EPOCH,
        high_watermark=end_offset,
        current_voters=[_voter(call, node_id, end_offset) for node_id in cluster.all_nodes],
    )
    return DescribeQuorumResponse(topics=[_Topic(METADATA_TOPIC, [partition])], nodes=_nodes(call))


def refuse(request: DescribeQuorumRequest, error_code: ErrorCode) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error_code, error_message=error_code.meaning)


def _refuse_partitions(request: DescribeQuorumRequest, error_code: ErrorCode) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            _Topic(
                topic.topic_name,
                [
                    _Partition(partition.partition_index, error_code, error_code.meaning)
                    for partition in paced(topic.partitions)
                ],
            )
            for topic in paced(request.topics)
        ]
    )


def _voter(call: Call, node_id: int, end_offset: int) -> DescribeQuorumResponse.ReplicaState:
    cluster = call.node.cluster
    is_up = node_id in cluster.nodes
    now_ms = cluster.wall_ms() if is_up else _UNKNOWN
    directory_id = sha256(f"{cluster.cluster_id}/{node_id}".encode()).digest()[:_UUID_BYTES]
    return DescribeQuorumResponse.ReplicaState(node_id, directory_id, end_offset if is_up else _UNKNOWN, now_ms, now_ms)


def _nodes(call: Call) -> list[DescribeQuorumResponse.Node]:
    return [
        DescribeQuorumResponse.Node(
            node.node_id, [DescribeQuorumResponse.Listener(call.listener_name, address.host, address.port)]
        )
        for node in call.node.cluster.all_nodes.values()
        if (address := node.addresses.get(call.listener_name)) is not None
    ]
