"""Requests about the authorizer's rules, of which there are none: Ottla's authorizers decide by themselves.

DescribeAcls, CreateAcls and DeleteAcls are answered as by a Kafka without authorizer.class.name. A rule, or a filter of
rules, names a kind of resource, of pattern, of operation and of permission; one of the number 0 is of no kind, and
closes the connection. Then it is asked whether the client may do this at all.

Kafka: AclApis; DescribeAclsRequest.normalizeAndValidate, CreateAclsRequest.validate,
DeleteAclsRequest.normalizeAndValidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.broker.network.call import CloseConnection
from ottla.broker.security.access import allows_on_cluster
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.security.authorizer import AclOperation

#: Of a rule: the numbers of its resource type, pattern type, operation and permission type.
Kinds: TypeAlias = tuple[int, int, int, int]

_UNKNOWN: Final = 0


def refusal(call: Call, operation: AclOperation, rules: Iterable[Kinds]) -> ErrorCode:
    """Why nothing comes of a request that does this to the rules. Raises `CloseConnection`."""
    for kinds in rules:
        if _UNKNOWN in kinds:
            raise CloseConnection("an ACL, or a filter of ACLs, is of a kind that there is not")
    return ErrorCode.SECURITY_DISABLED if allows_on_cluster(call, operation) else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
