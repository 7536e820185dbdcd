"""DescribeCluster (api key 60), v0–v2: the nodes of the cluster (KIP-700).

v1 adds endpoint_type, by which a client says whether it thinks it talks to a broker (1) or a controller (2) (KIP-919);
v2 can show fenced brokers: nodes that are known to be down. Nodes that advertise no address on the client's listener
are left out.

Errors: MISMATCHED_ENDPOINT_TYPE for who wanted a controller, UNSUPPORTED_ENDPOINT_TYPE for other numbers.
Kafka: KafkaApis.handleDescribeCluster, AuthHelper.computeDescribeClusterResponse.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.network.call import Call
from ottla.broker.security.authorized_operations import NOT_ASKED, authorized_cluster_operations
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

_BROKER: Final = 1
_CONTROLLER: Final = 2


def handle(request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    if request.endpoint_type == _CONTROLLER:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE, error_message="This is a broker, not a controller."
        )
    if request.endpoint_type != _BROKER:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    cluster, listener_name = call.node.cluster, call.listener_name
    brokers = [
        DescribeClusterResponse.DescribeClusterBroker(
            node.node_id, address.host, address.port, node.rack, is_fenced=node.node_id not in cluster.nodes
        )
        for node in cluster.all_nodes.values()
        if (address := node.addresses.get(listener_name)) is not None
        and (request.include_fenced_brokers or node.node_id in cluster.nodes)
    ]
    return DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id if brokers else -1,
        brokers=brokers,
        cluster_authorized_operations=authorized_cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def refuse(request: DescribeClusterRequest, error_code: ErrorCode) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error_code)
