"""docs/openapi.yaml describes the control API as it is: its routes, what they take, and what they answer.

A route that is added to the code and not to the page fails here, and so does a key that an answer has and the page
doesn't. Each operation that takes a body has an example, which is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from ottla.control.api.clock_verbs import ADVANCE_MS_MAX
from ottla.control.api.control import ROUTES
from ottla.control.api.route import WAIT_MS_MAX
from ottla.control.faults.specification import AIM_WORDS, TIMES_WORDS
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from tests.cli.script import Script
from tests.cli.stage import begin_transaction, create, join
from tests.cli.terminal import Serving, serving
from tests.support.client import Client

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final[Mapping[str, Any]] = yaml.safe_load((DOCS / "openapi.yaml").read_text())
OPERATIONS: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    (method.upper(), path): operation
    for path, methods in PAGE["paths"].items()
    for method, operation in methods.items()
}
#: What JSON Schema calls what `json` makes of it.
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def resolved(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the page, or what it refers to."""
    if "$ref" not in part:
        return part
    found: Any = PAGE
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return resolved(found)


def check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    """The value is what the schema says, and has no key that it does not name."""
    schema = resolved(schema)
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    kinds = schema.get("type")
    if kinds is not None:
        kinds = [kinds] if isinstance(kinds, str) else kinds
        assert any(isinstance(value, _TYPES[kind]) for kind in kinds), f"{where}: {value!r} is none of {kinds}"
    if isinstance(value, list):
        for number, item in enumerate(value):
            check(item, schema["items"], f"{where}[{number}]")
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        assert set(schema.get("required", ())) <= value.keys(), where
        if not isinstance(others, Mapping) and others is not True:
            assert value.keys() <= properties.keys(), f"{where} has {value.keys() - properties.keys()}"
        for key, item in value.items():
            described = properties.get(key, others)
            if isinstance(described, Mapping):
                check(item, described, f"{where}.{key}")


@pytest.fixture(scope="module")
def script() -> Iterator[Script[Serving]]:
    """A broker with something to tell of everything: a group that has rebalanced, a transaction, a timer, a fault that
    has happened and a hold that holds something.
    """
    options = ("--control", "127.0.0.1:0", "--clock", "virtual", "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options, "--record-requests") as broker, Client(broker.bootstrap, client_id="ana") as client:
        create(client, "orders", 1)
        begin_transaction(client, "bills", "orders")
        join(client, "kitchen", "orders", [0])
        for group_id in ("office", "pantry"):
            join(client, group_id, "orders", [0])
        script = Script(broker)
        fault = {"api": "ListGroups", "throttle": 1}
        for path, wish in (("/faults", fault), ("/holds", {"api": "Metadata", "client_id": "held"})):
            assert script.ask("POST", path, json.dumps(wish).encode())[0] == 200
        assert script.ask("POST", "/snapshot", b"{}") == (200, {"snapshot": 1})
        client.ask(ListGroupsRequest(), 1)
        with ExitStack() as clients:
            for _ in range(3):
                held = clients.enter_context(Client(broker.bootstrap, client_id="held"))
                held.send(MetadataRequest(None, False), 4)
            yield script


def test_page_has_the_routes_of_the_code() -> None:
    """Each of them, and no other."""
    assert set(OPERATIONS) == {(route.method, route.path) for route in ROUTES}
    assert len(OPERATIONS) == len(ROUTES)


def test_page_and_prose_have_the_same_routes() -> None:
    """docs/control.md lists them in a table."""
    table = re.findall(r"^\| `([A-Z]+) (\S+)` \|", (DOCS / "control.md").read_text(), re.MULTILINE)
    assert table == [(route.method, route.path) for route in ROUTES]


def test_every_operation_has_a_name_of_its_own() -> None:
    """From which generators of clients make functions."""
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("method", "path"), [(route.method, route.path) for route in ROUTES], ids=lambda word: word.replace("/", "-")
)
def test_answers_are_as_described(script: Script[Serving], method: str, path: str) -> None:
    """What comes of the page's own example has the keys and the types that the page says, and no others."""
    operation = OPERATIONS[method, path]
    content = resolved(operation["responses"]["200"])["content"]
    if "text/event-stream" in content:
        pytest.skip("it never ends: test_control_events.py")
    body, example = operation.get("requestBody"), None
    if body is not None:
        asked = body["content"]["application/json"]
        example = json.dumps(asked["example"]).encode()
        check(asked["example"], asked["schema"], "the example")
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["example"]))
    status, answer = script.ask(method, path, example)
    assert status == 200, answer
    check(answer, content["application/json"]["schema"], "the answer")


def test_refusals_are_as_described(script: Script[Serving]) -> None:
    """What makes no sense gets a sentence."""
    for method, path in OPERATIONS:
        if method == "POST":
            status, answer = script.ask(method, path, b"[]")
            assert status == 400
            schema = resolved(OPERATIONS[method, path]["responses"]["default"])["content"]["application/json"]["schema"]
            check(answer, schema, path)


def test_bounds_are_those_of_the_code() -> None:
    """How far the clock can be moved at once, and how long an answer may wait."""
    asked = OPERATIONS["POST", "/clock/advance"]["requestBody"]["content"]["application/json"]["schema"]
    assert asked["properties"]["ms"]["maximum"] == ADVANCE_MS_MAX
    waiting = OPERATIONS["POST", "/wait"]["requestBody"]["content"]["application/json"]["schema"]
    assert waiting["properties"]["timeout_ms"]["maximum"] == WAIT_MS_MAX
    assert PAGE["components"]["schemas"]["Wait"]["properties"]["timeout_ms"]["maximum"] == WAIT_MS_MAX


def test_words_of_faults_are_those_of_the_code() -> None:
    """All that says at what and how often; functions are for Python alone. What happens is any of the verbs."""
    described = PAGE["components"]["schemas"]["FaultWish"]["properties"].keys()
    assert set(described) == {*AIM_WORDS, *TIMES_WORDS, "seed", "may_not_fire"} - {"connection", "when"}
