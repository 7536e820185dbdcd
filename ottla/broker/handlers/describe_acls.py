"""DescribeAcls (api key 29), v1–v3: which rules the authorizer has. Tools ask to learn whether there is one.

There are no rules here, see `acl_rules`. v1 has patterns of names (KIP-290), v2 is flexible, v3 has users as resources
(KIP-373).

Errors: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED. Kafka: AclApis.handleDescribeAcls.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.acl_rules import refusal
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from ottla.security.authorizer import AclOperation


def handle(request: DescribeAclsRequest, call: Call) -> DescribeAclsResponse:
    kinds = (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    )
    return refuse(request, refusal(call, AclOperation.DESCRIBE, [kinds]))


def refuse(_request: DescribeAclsRequest, error_code: ErrorCode) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error_code, error_message=error_code.meaning)
