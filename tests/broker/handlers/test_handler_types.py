"""Each handler is written for the messages of its own API: mypy holds it to what it says, and this to what is true."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType, NoneType
from typing import Any, get_args, get_type_hints

import pytest

from ottla.broker.network.apis import SERVED
from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.registry import api


def handler_of(key: int) -> ModuleType:
    return import_module(f"ottla.broker.handlers.{api(key).module}")


def returned(function: Any) -> set[type]:
    """The types a function may return."""
    answer = get_type_hints(function)["return"]
    return set(get_args(answer)) or {answer}


def takes(declared: Any, given: type) -> bool:
    """Whether a parameter that is declared so takes what is given."""
    return isinstance(declared, type) and issubclass(given, declared)


@pytest.mark.parametrize("key", SERVED, ids=lambda key: api(key).name)
def test_handle_takes_the_request_and_gives_the_answer_of_its_api(key: int) -> None:
    """Or None, for an answer that comes later; nothing is left to Any."""
    handle = handler_of(key).handle
    request, call = [kind for name, kind in get_type_hints(handle).items() if name != "return"]
    assert request is api(key).request
    assert call is Call
    assert returned(handle) <= {api(key).response, NoneType}


@pytest.mark.parametrize("key", SERVED, ids=lambda key: api(key).name)
def test_refuse_gives_the_answer_of_its_api_for_any_error(key: int) -> None:
    refuse = handler_of(key).refuse
    request, error_code, *_more = [kind for name, kind in get_type_hints(refuse).items() if name != "return"]
    assert takes(request, api(key).request)
    assert takes(error_code, ErrorCode)
    assert returned(refuse) == {api(key).response}
