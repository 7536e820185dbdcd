"""CreateAcls (api key 30), v1–v3: give the authorizer new rules.

There are none here, see `describe_acls`. v1 has patterns of names (KIP-290), v2 is flexible, v3 has users as resources
(KIP-373).

Errors, for each rule: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED. A rule with a type, a pattern, an operation or a
permission of the number 0 closes the connection. Kafka: AclApis.handleCreateAcls, CreateAclsRequest.validate.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.access import allows_on_cluster
from ottla.broker.authorizer import AclOperation
from ottla.broker.network.call import Call, CloseConnection
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse

_UNKNOWN: Final = 0


def handle(request: CreateAclsRequest, call: Call) -> CreateAclsResponse:
    for rule in paced(request.creations):
        if _UNKNOWN in (rule.resource_type, rule.resource_pattern_type, rule.operation, rule.permission_type):
            raise CloseConnection("CreateAcls has a kind of rule that there is not")
    if not allows_on_cluster(call, AclOperation.ALTER):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return refuse(request, ErrorCode.SECURITY_DISABLED)


def refuse(request: CreateAclsRequest, error_code: ErrorCode) -> CreateAclsResponse:
    result = CreateAclsResponse.AclCreationResult(error_code, error_code.meaning)
    return CreateAclsResponse(results=[result] * len(request.creations))
