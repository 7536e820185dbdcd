"""What a client may do, for the answers that tell it: of each operation that a resource knows, the authorizer is asked.

The answer is a bit field: the bit of an operation is its number in Kafka's AclOperation.

Kafka: AuthHelper.authorizedOperations, AclEntry.supportedOperations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.broker.security.access import allows, allows_on_cluster
from ottla.security.authorizer import CLUSTER_NAME, AclOperation, AclResourceType

if TYPE_CHECKING:
    from ottla.broker.network.call import Call


#: What the field says when nobody asked.
NOT_ASKED: Final = -(2**31)

SUPPORTED_OPERATIONS: Final[Mapping[AclResourceType, tuple[AclOperation, ...]]] = {
    AclResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
    AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.TWO_PHASE_COMMIT),
}


def authorized_operations(call: Call, resource_type: AclResourceType, resource_name: str) -> int:
    """What the client may do to this resource, as a bit field."""
    return sum(
        1 << operation
        for operation in SUPPORTED_OPERATIONS[resource_type]
        if allows(call, operation, resource_type, resource_name)
    )


def authorized_cluster_operations(call: Call) -> int:
    """What the client may do to the cluster; nothing if it may not even look at it."""
    if not allows_on_cluster(call, AclOperation.DESCRIBE):
        return 0
    return authorized_operations(call, AclResourceType.CLUSTER, CLUSTER_NAME)
