"""Whether a client may do something: the authorizer is asked, in the order in which Kafka asks it.

Kafka: AuthHelper.authorize, authorizeClusterOperation, authorizeByResourceType.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.security.authorizer import CLUSTER_NAME, AclOperation, AclResourceType, AllowAll

if TYPE_CHECKING:
    from ottla.broker.network.call import Call


def allows(call: Call, operation: AclOperation, resource_type: AclResourceType, resource_name: str) -> bool:
    """Whether this client may do this to that resource."""
    return call.authorizer.allows(call.principal, call.client_host, operation, resource_type, resource_name)


def asks(call: Call) -> bool:
    """Whether the authorizer may say no: else a handler need not look at what each item is about."""
    return type(call.authorizer) is not AllowAll


def allows_on_cluster(call: Call, operation: AclOperation) -> bool:
    """Whether this client may do this to the cluster as a whole."""
    return allows(call, operation, AclResourceType.CLUSTER, CLUSTER_NAME)


def allows_on_some_topic(call: Call, operation: AclOperation) -> bool:
    """Whether there is a topic, or may be one, to which this client may do this."""
    return call.authorizer.allows_on_some(call.principal, call.client_host, operation, AclResourceType.TOPIC)
