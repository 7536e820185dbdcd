"""DescribeAcls (api key 29), v1–v3: which rules the authorizer has. Tools ask to learn whether there is one.

There are no rules here: Ottla's authorizers decide by themselves (`authorizer`). So the answer is that of a Kafka
without authorizer.class.name. v1 has patterns of names (KIP-290), v2 is flexible, v3 has users as resources (KIP-373).

Errors: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED. A filter by a type, a pattern, an operation or a permission of
the number 0 closes the connection. Kafka: AclApis.handleDescribeAcls, DescribeAclsRequest.normalizeAndValidate.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.access import allows_on_cluster
from ottla.broker.authorizer import AclOperation
from ottla.broker.network.call import Call, CloseConnection
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_UNKNOWN: Final = 0


def handle(request: DescribeAclsRequest, call: Call) -> DescribeAclsResponse:
    if _UNKNOWN in (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    ):
        raise CloseConnection("DescribeAcls asks for a kind of rule that there is not")
    if not allows_on_cluster(call, AclOperation.DESCRIBE):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return refuse(request, ErrorCode.SECURITY_DISABLED)


def refuse(_request: DescribeAclsRequest, error_code: ErrorCode) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error_code, error_message=error_code.meaning)
