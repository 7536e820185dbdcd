"""ListConfigResources (api key 74), v0–v1: the names of what has configs (KIP-1142).

v0, then called ListClientMetricsResources, lists subscriptions to clients' metrics and nothing else; v1 has
resource_types, of which an empty list means all: topics, nodes, their loggers, groups and subscriptions. Of groups and
subscriptions those are listed for which something is set. Nodes without an address on the client's listener are left
out.

Errors: CLUSTER_AUTHORIZATION_FAILED; UNSUPPORTED_VERSION, with nothing listed, if a type is none of these.
Kafka: KafkaApis.handleListConfigResources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ottla.broker.configs.resource import RESOURCE_TYPES, ResourceType
from ottla.broker.network.call import Call
from ottla.broker.security.access import allows_on_cluster
from ottla.pacing import paced_each
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from ottla.security.authorizer import AclOperation

#: By version.
_TYPES: Final = {0: frozenset((ResourceType.CLIENT_METRICS,)), 1: RESOURCE_TYPES}
#: In the order of the answer.
_ORDER: Final = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)


def handle(request: ListConfigResourcesRequest, call: Call) -> ListConfigResourcesResponse:
    if not allows_on_cluster(call, AclOperation.DESCRIBE_CONFIGS):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    known = _TYPES[call.api_version]
    asked = set(request.resource_types) or known
    if not asked <= known:
        return refuse(request, ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ListConfigResourcesResponse.ConfigResource(name, resource_type)
            for resource_type in _ORDER
            if resource_type in asked
            for name in paced_each(_names(resource_type, call))
        ]
    )


def refuse(request: ListConfigResourcesRequest, error_code: ErrorCode) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=error_code)


def _names(resource_type: ResourceType, call: Call) -> Iterable[str]:
    cluster = call.node.cluster
    match resource_type:
        case ResourceType.GROUP:
            return list(cluster.group_configs)
        case ResourceType.CLIENT_METRICS:
            return list(cluster.client_metrics_configs)
        case ResourceType.TOPIC:
            return list(cluster.topics)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return _node_ids(call)


def _node_ids(call: Call) -> Iterator[str]:
    """Of all nodes, be they up or not."""
    for node in call.node.cluster.all_nodes.values():
        if call.listener_name in node.addresses:
            yield str(node.node_id)
