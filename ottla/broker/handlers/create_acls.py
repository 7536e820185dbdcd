"""CreateAcls (api key 30), v1–v3: give the authorizer new rules.

There are none here, see `acl_rules`. v1 has patterns of names (KIP-290), v2 is flexible, v3 has users as resources
(KIP-373).

Errors, for each rule: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED. Kafka: AclApis.handleCreateAcls.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.acl_rules import refusal
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from ottla.security.authorizer import AclOperation


def handle(request: CreateAclsRequest, call: Call) -> CreateAclsResponse:
    rules = (
        (rule.resource_type, rule.resource_pattern_type, rule.operation, rule.permission_type)
        for rule in paced(request.creations)
    )
    return refuse(request, refusal(call, AclOperation.ALTER, rules))


def refuse(request: CreateAclsRequest, error_code: ErrorCode) -> CreateAclsResponse:
    result = CreateAclsResponse.AclCreationResult(error_code, error_code.meaning)
    return CreateAclsResponse(results=[result] * len(request.creations))
