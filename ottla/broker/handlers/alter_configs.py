"""AlterConfigs (api key 33), v0–v2: let resources say exactly these configs; what they said before and is not listed
is gone.

Two clients that do so at the same time undo each other's work, which is why KIP-339 put IncrementalAlterConfigs in its
place; older tools still send this one. All configs of one resource are taken, or none; resources don't depend on each
other. With validate_only everything is checked and nothing changed.

v2 is flexible.

Errors, by resource: INVALID_REQUEST for a resource listed twice (on each), a key listed twice, a null value, a
resource type that is none or is a logger, another broker's id, or a broker setting that can't be changed or doesn't
fit; INVALID_CONFIG for an unknown name or a value that doesn't fit elsewhere; UNKNOWN_TOPIC_OR_PARTITION,
INVALID_TOPIC_EXCEPTION; TOPIC_, GROUP_ or CLUSTER_AUTHORIZATION_FAILED, before what is wrong with a name or a value.
Kafka: ConfigAdminManager.preprocess, ConfigurationControlManager.legacyAlterConfigs.
"""

from __future__ import annotations

from ottla.broker.configs.changes import change_each, check_keys, check_may
from ottla.broker.configs.resource import ResourceType
from ottla.broker.configs.resources import find_resource
from ottla.broker.network.call import Call
from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from ottla.security.authorizer import AclOperation

_Result = AlterConfigsResponse.AlterConfigsResourceResponse


def handle(request: AlterConfigsRequest, call: Call) -> AlterConfigsResponse:
    def change(asked: AlterConfigsRequest.AlterConfigsResource) -> None:
        _replace(asked, call, validate_only=request.validate_only)

    return AlterConfigsResponse(responses=change_each(request.resources, change, _Result))


def refuse(request: AlterConfigsRequest, error_code: ErrorCode) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[_Result(error_code, None, r.resource_type, r.resource_name) for r in request.resources]
    )


def _replace(asked: AlterConfigsRequest.AlterConfigsResource, call: Call, *, validate_only: bool) -> None:
    null = [config.name for config in asked.configs if config.value is None]
    check_keys((config.name for config in asked.configs), null)
    if asked.resource_type == ResourceType.BROKER_LOGGER:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {asked.resource_type}")
    check_may(call, AclOperation.ALTER_CONFIGS, asked.resource_type, asked.resource_name)
    resource = find_resource(asked.resource_type, asked.resource_name, call.node)
    texts = {config.name: config.value for config in asked.configs if config.value is not None}
    resource.check(texts)
    if not validate_only:
        resource.apply(texts)
