"""IncrementalAlterConfigs (api key 44), v0–v1: change some configs of resources, and leave the others alone (KIP-339).

Each config comes with what to do: set (0), delete (1), so that it is as if it had never been set, or, for lists,
append (2) or subtract (3) items. All changes to one resource are made, or none; resources don't depend on each other.
With validate_only everything is checked and nothing changed.

v1 is flexible.

Errors, by resource: as AlterConfigs has them; besides, INVALID_CONFIG for appending to what is no list,
INVALID_REQUEST for an operation that is none (for topics and groups UNKNOWN_SERVER_ERROR, since Kafka fails
there).
Kafka: ConfigAdminManager.preprocess, ConfigurationControlManager.incrementalAlterConfigs.
"""

from __future__ import annotations

from ottla.broker.configs.changes import change_each, changed, check_keys, check_may
from ottla.broker.configs.resource import Operation
from ottla.broker.configs.resources import find_resource
from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.security.authorizer import AclOperation

_Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


def handle(request: IncrementalAlterConfigsRequest, call: Call) -> IncrementalAlterConfigsResponse:
    def change(asked: IncrementalAlterConfigsRequest.AlterConfigsResource) -> None:
        _change(asked, call, validate_only=request.validate_only)

    return IncrementalAlterConfigsResponse(responses=change_each(request.resources, change, _Result))


def refuse(request: IncrementalAlterConfigsRequest, error_code: ErrorCode) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_Result(error_code, None, r.resource_type, r.resource_name) for r in request.resources]
    )


def _change(asked: IncrementalAlterConfigsRequest.AlterConfigsResource, call: Call, *, validate_only: bool) -> None:
    null = [
        config.name for config in asked.configs if config.value is None and config.config_operation != Operation.DELETE
    ]
    check_keys((config.name for config in asked.configs), null)
    check_may(call, AclOperation.ALTER_CONFIGS, asked.resource_type, asked.resource_name)
    resource = find_resource(asked.resource_type, asked.resource_name, call.node)
    changes = [(config.name, config.config_operation, config.value or "") for config in asked.configs]
    texts = changed(resource, changes)
    resource.check(texts)
    if not validate_only:
        resource.apply(texts)
