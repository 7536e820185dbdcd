"""Whether a client may do something to the cluster as a whole. Kafka: AuthHelper.authorizeClusterOperation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.authorizer import CLUSTER_NAME, AclOperation, AclResourceType

if TYPE_CHECKING:
    from ottla.broker.network.call import Call


def allows_on_cluster(call: Call, operation: AclOperation) -> bool:
    """Whether the authorizer allows this client this."""
    return call.authorizer.allows(call.principal, call.client_host, operation, AclResourceType.CLUSTER, CLUSTER_NAME)
