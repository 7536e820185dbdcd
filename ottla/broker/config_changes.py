"""What both APIs that alter configs share: the checks that come before a resource is asked, and the four operations.

An appended or subtracted list starts from what the resource says, or from the setting's own default; what the broker's
settings would make of it does not count. Items are compared as they are written, blanks included.

Kafka: ConfigAdminManager.preprocess, ConfigurationControlManager.incrementalAlterConfigResource.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

from ottla.broker.config_resources import ConfigResource
from ottla.broker.config_values import format_value
from ottla.broker.refused import Refused
from ottla.protocol.errors import ErrorCode

#: A value is written into Kafka's metadata log with an int16 length; only appending can make one longer.
_VALUE_LENGTH_MAX: Final = 0x7FFF


class Operation(IntEnum):
    """What to do with one config. Kafka: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def listed_twice(resources: Iterable[tuple[int, str]]) -> frozenset[tuple[int, str]]:
    """The (type, name) that are there more than once."""
    return frozenset(resource for resource, times in Counter(resources).items() if times > 1)


def check_keys(names: Iterable[str], null: Sequence[str]) -> None:
    """Raise `Refused` if a key is listed twice, or has no value where it needs one."""
    if any(times > 1 for times in Counter(names).values()):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if null:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(null)}")


def changed(resource: ConfigResource, changes: Iterable[tuple[str, int, str]]) -> dict[str, str]:
    """What the resource will say after these changes: (name, operation, value). Raises `Refused`."""
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
                code = resource.unknown_operation
                text = f"Unknown operations type {operation}" if code is ErrorCode.INVALID_REQUEST else None
                raise Refused(code, text)
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
