"""What a request's body asks for, read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ottla.control.api.http_refused import HttpRefused


def read_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object in a body; None: there is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or a thousand brackets
        return None
    return value if isinstance(value, dict) else None


def read_body(
    body: bytes, example: str, required: Mapping[str, type], optional: Mapping[str, type] | None = None
) -> dict[str, Any]:
    """What a body asks for: these keys, each of its type, and no other. Raises `HttpRefused`, with the example."""
    refusal = f"the body says what is wanted, such as {example}, and nothing else"
    return read_typed(body, required, optional or {}, refusal)


def read_typed(body: bytes, required: Mapping[str, type], optional: Mapping[str, type], refusal: str) -> dict[str, Any]:
    """The same, refused with this text."""
    types = {**required, **optional}
    asked = read_object(body)
    is_whole = asked is not None and required.keys() <= asked.keys()
    if asked is None or not is_whole or any(type(value) is not types.get(key) for key, value in asked.items()):
        raise HttpRefused(HTTPStatus.BAD_REQUEST, refusal)
    return asked
