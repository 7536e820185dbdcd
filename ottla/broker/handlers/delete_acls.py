"""DeleteAcls (api key 31), v1–v3: take rules from the authorizer, by filters.

There are none here, see `acl_rules`. v1 has patterns of names (KIP-290), v2 is flexible, v3 has users as resources
(KIP-373).

Errors, for each filter: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED. Kafka: AclApis.handleDeleteAcls.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.acl_rules import refusal
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from ottla.security.authorizer import AclOperation


def handle(request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    rules = (
        (rules.resource_type_filter, rules.pattern_type_filter, rules.operation, rules.permission_type)
        for rules in paced(request.filters)
    )
    return refuse(request, refusal(call, AclOperation.ALTER, rules))


def refuse(request: DeleteAclsRequest, error_code: ErrorCode) -> DeleteAclsResponse:
    result = DeleteAclsResponse.DeleteAclsFilterResult(error_code, error_code.meaning)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
