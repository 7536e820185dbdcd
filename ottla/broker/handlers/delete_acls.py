"""DeleteAcls (api key 31), v1–v3: take rules from the authorizer, by filters.

There are none here, see `describe_acls`. v1 has patterns of names (KIP-290), v2 is flexible, v3 has users as resources
(KIP-373).

Errors, for each filter: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED. A filter by a type, a pattern, an operation or
a permission of the number 0 closes the connection. Kafka: AclApis.handleDeleteAcls,
DeleteAclsRequest.normalizeAndValidate.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.access import allows_on_cluster
from ottla.broker.authorizer import AclOperation
from ottla.broker.network.call import Call, CloseConnection
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse

_UNKNOWN: Final = 0


def handle(request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    for rules in paced(request.filters):
        if _UNKNOWN in (
            rules.resource_type_filter,
            rules.pattern_type_filter,
            rules.operation,
            rules.permission_type,
        ):
            raise CloseConnection("DeleteAcls asks for a kind of rule that there is not")
    if not allows_on_cluster(call, AclOperation.ALTER):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return refuse(request, ErrorCode.SECURITY_DISABLED)


def refuse(request: DeleteAclsRequest, error_code: ErrorCode) -> DeleteAclsResponse:
    result = DeleteAclsResponse.DeleteAclsFilterResult(error_code, error_code.meaning)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
