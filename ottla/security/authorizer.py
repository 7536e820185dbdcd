"""Who a client is, and what it may do.

Every connection has a principal: ANONYMOUS, for no listener asks clients who they are. What a principal may do is the
broker's authorizer's to say; the one that is there when the user brings none allows all.

What is asked for each request is a table: `ottla.broker.security.guards`.

Kafka: KafkaPrincipal, server/authorizer/Authorizer.java.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a client is. As text it is what Kafka writes: `User:ANONYMOUS`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


#: Who comes without saying who it is.
ANONYMOUS: Final = Principal("User", "ANONYMOUS")


class AclResourceType(IntEnum):
    """What is guarded. Kafka: ResourceType."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class AclOperation(IntEnum):
    """What may be done to it. Kafka: AclOperation."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    TWO_PHASE_COMMIT = 15


#: The name of the one resource of type CLUSTER.
CLUSTER_NAME: Final = "kafka-cluster"


class Authorizer(Protocol):
    """Decides what is allowed. Asked from the event loop, so it answers at once."""

    def allows(
        self,
        principal: Principal,
        client_host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        resource_name: str,
    ) -> bool:
        """Whether this principal, coming from there, may do this to that resource."""

    def allows_on_some(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """Whether there may be a resource of this type to which it may do this."""


class AllowAll:
    """Everybody may do everything, as in a Kafka without authorizer.class.name."""

    def allows(
        self,
        principal: Principal,
        client_host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        resource_name: str,
    ) -> bool:
        return True

    def allows_on_some(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        return True
