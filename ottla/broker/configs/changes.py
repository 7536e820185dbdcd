"""What both APIs that alter configs share: one answer a resource, the checks that come before it is asked, and the
four operations.

A client that may not alter a resource hears that before it hears what is wrong with a value, as since 4.4; only that a
key is listed twice, or has no value, comes first.

An appended or subtracted list starts from what the resource says, or from the setting's own default; what the broker's
settings would make of it does not count. Items are compared as they are written, blanks included.

Kafka: ConfigAdminManager.preprocess, ControllerApis.authorizeAlterResource,
ConfigurationControlManager.incrementalAlterConfigResource.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ottla.broker.configs.resource import RESOURCE_TYPES, ConfigResource, Operation, ResourceType
from ottla.broker.network.call import Call
from ottla.cluster.refused import Refused
from ottla.pacing import paced_each
from ottla.protocol.errors import ErrorCode
from ottla.security.authorizer import CLUSTER_NAME, AclOperation, AclResourceType
from ottla.settings.values import format_value

#: A value is written into Kafka's metadata log with an int16 length; only appending can make one longer.
_VALUE_LENGTH_MAX: Final = 0x7FFF


def change_each(resources: Sequence[Any], change: Callable[[Any], None], result_class: Callable[..., Any]) -> list[Any]:
    """Change each resource of a request, unless it is listed twice; returns the results, with what `Refused` said."""
    times = Counter((asked.resource_type, asked.resource_name) for asked in resources)
    results = []
    for asked in paced_each(resources):
        result = result_class(0, None, asked.resource_type, asked.resource_name)
        try:
            if times[asked.resource_type, asked.resource_name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            change(asked)
        except Refused as refused:
            result.error_code, result.error_message = refused.error_code, refused.message
        results.append(result)
    return results


def check_keys(names: Iterable[str], null: Sequence[str]) -> None:
    """Raise `Refused` if a key is listed twice, or has no value where it needs one."""
    if any(times > 1 for times in Counter(names).values()):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if null:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(null)}")


#: What a client must be allowed to alter to alter the configs of a resource, and what it is told if it is not.
_GUARDS: Final = {
    ResourceType.TOPIC: (AclResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic"),
    ResourceType.BROKER: (AclResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster"),
    ResourceType.BROKER_LOGGER: (AclResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster"),
    ResourceType.CLIENT_METRICS: (AclResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster"),
    ResourceType.GROUP: (AclResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group"),
}


def check_may_alter(call: Call, resource_type: int, name: str) -> None:
    """Raise `Refused` if the client may not alter the configs of this resource. What is no resource guards nothing."""
    if resource_type not in RESOURCE_TYPES:
        return
    guard, error_code, word = _GUARDS[ResourceType(resource_type)]
    guarded = CLUSTER_NAME if guard is AclResourceType.CLUSTER else name
    if not call.authorizer.allows(call.principal, call.client_host, AclOperation.ALTER_CONFIGS, guard, guarded):
        raise Refused(error_code, f"{word} authorization failed.")


def changed(resource: ConfigResource, changes: Sequence[tuple[str, int, str]]) -> dict[str, str]:
    """What the resource will say after these changes: (name, operation, value). Raises `Refused`."""
    for name, operation, _ in changes:
        resource.check_operation(name, operation)
    texts = dict(resource.said)
    for name, operation, value in changes:
        match operation:
            case Operation.SET:
                texts[name] = value
            case Operation.DELETE:
                texts.pop(name, None)
            case Operation.APPEND | Operation.SUBTRACT:
                texts[name] = _changed_list(resource, name, texts.get(name), Operation(operation), value)
            case _:
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    for name, text in texts.items():
        if len(text) > _VALUE_LENGTH_MAX:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} would be longer than {_VALUE_LENGTH_MAX} characters.")
    return texts


def _changed_list(resource: ConfigResource, name: str, text: str | None, operation: Operation, value: str) -> str:
    setting = resource.setting(name)
    if setting is None or setting.kind != "list":
        raise Refused(ErrorCode.INVALID_CONFIG, f"Can't {operation.name} to key {name} because its type is not LIST.")
    if text is None:
        text = format_value(setting.default) or ""
    items = [item for item in text.split(",") if item]
    for item in value.split(","):
        if operation is Operation.APPEND and item not in items:
            items.append(item)
        elif operation is Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)
