"""docs/testing-reference.md: what a test may do with a broker, from signatures and docstrings of `ottla.testing`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from ottla import testing
from ottla.testing.async_broker import AsyncBroker, AsyncBrokerNode
from ottla.testing.async_kafka import AsyncKafka
from ottla.testing.barriers import HeldRequest, Hold
from ottla.testing.broker import Broker, BrokerNode
from ottla.testing.case import KafkaTestCase
from ottla.testing.faults import Fault, Faults
from ottla.testing.groups import Group
from ottla.testing.topics import Topic
from ottla.testing.transactions import Transaction

_HEAD: Final = """\
<!-- Printed from the docstrings of ottla.testing by `make docs`; change it there. -->

# `ottla.testing`, name by name

[testing.md](testing.md) shows how to use these, task by task. The pytest fixtures `kafka`, `ottla_broker` and
`kafka_session` are a [`Broker`](#broker); `async_kafka` is an [`AsyncKafka`](#asynckafka). The marker `kafka` takes
the arguments of `Broker`.

"""
#: What a name is reached by, in the order of the page.
_CLASSES: Final[tuple[tuple[type, str], ...]] = (
    (Broker, "`from ottla.testing import Broker`, or the fixture `kafka`"),
    (BrokerNode, "`kafka.node(1)`"),
    (Group, '`kafka.group("kitchen")`'),
    (Topic, '`kafka.topic("orders")`'),
    (Transaction, '`kafka.transaction("till")`'),
    (Fault, '`kafka.fault("Produce", topic="orders")`; [faults.md](faults.md) has the words of the aim'),
    (Faults, "`kafka.faults`"),
    (Hold, '`kafka.hold("SyncGroup", group="kitchen")`; [faults.md](faults.md#barriers) tells how it is used'),
    (HeldRequest, "what `hold.wait()` returns"),
    (AsyncKafka, "the fixture `async_kafka`"),
    (AsyncBroker, "`kafka.aio`"),
    (AsyncBrokerNode, "`kafka.aio.node(1)`"),
    (KafkaTestCase, "`from ottla.testing import KafkaTestCase`"),
)


class _Bare:
    """An annotation as it was written, where `inspect` would put quotes around it."""

    def __init__(self, text: object) -> None:
        self._text = text if isinstance(text, str) else getattr(text, "__name__", str(text))

    def __repr__(self) -> str:
        return self._text


def testing_page() -> str:
    """The whole page."""
    sections = [_class(kind, reached_by) for kind, reached_by in _CLASSES]
    simulated = ["## simulated", "", _code(testing.simulated, "simulated"), _told(testing.simulated), ""]
    simulation = ["## Simulation", "", _told(testing.Simulation), "", *_members(testing.Simulation)]
    return _HEAD + "\n".join([*sections, *simulated, *simulation, *_errors()])


def _class(kind: type, reached_by: str) -> str:
    lines = [f"## {kind.__name__}", "", f"Reached by {reached_by}.", "", _told(kind), ""]
    if kind is Broker:
        lines += [_code(Broker, "Broker"), _told(Broker.__init__), ""]
    return "\n".join([*lines, *_members(kind)])


def _members(kind: type) -> Iterator[str]:
    """Methods and properties that have a docstring, in the order of their names."""
    for name, member in sorted(inspect.getmembers(kind), key=lambda pair: pair[0]):
        if name.startswith("_") or not _is_ours(member):
            continue
        yield f"### {kind.__name__}.{name}"
        yield ""
        if not isinstance(member, property):
            yield _code(member, name)
        yield _told(member)
        yield ""


def _is_ours(member: Any) -> bool:
    """Whether it is a method or property of ours: what a test case inherits of unittest is told elsewhere."""
    function = member.fget if isinstance(member, property) else member
    return inspect.isfunction(function) and function.__module__.startswith("ottla.") and bool(inspect.getdoc(member))


def _errors() -> Iterator[str]:
    yield "## Errors"
    yield ""
    for name in sorted(testing.__all__):
        kind = getattr(testing, name)
        if isinstance(kind, type) and issubclass(kind, BaseException):
            yield f"- `{name}`: {_told(kind)}"


def _code(called: Any, name: str) -> str:
    """How it is called, without `self`."""
    signature = inspect.signature(called)
    given = [
        parameter.replace(
            annotation=parameter.annotation if parameter.annotation is inspect._empty else _Bare(parameter.annotation)
        )
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    returns = signature.return_annotation
    bare = signature.replace(
        parameters=given, return_annotation=returns if returns in (inspect._empty, None, "None") else _Bare(returns)
    )
    text = f"{name}{bare}".removesuffix(" -> 'None'").removesuffix(" -> None")
    before = "async " if inspect.iscoroutinefunction(called) else ""
    if len(text) > 100 and given:
        inside = ",\n".join(f"    {part}" for part in _parts(bare.replace(return_annotation=inspect._empty)))
        text = f"{name}(\n{inside},\n){text.rpartition(')')[2]}"
    return f"```python\n{before}{text}\n```\n"


def _parts(signature: inspect.Signature) -> list[str]:
    """Its parameters, with the star before those that are given by name."""
    parts, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        parts.append(str(parameter))
    return parts


def _told(thing: Any) -> str:
    """Its docstring as Markdown: indented examples are code; a line "name: what it is" begins a list's item."""
    text = inspect.getdoc(thing) or ""
    paragraphs = re.split(r"\n\s*\n", text)
    told = "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs if paragraph.strip())
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", told)


def _paragraph(text: str) -> str:
    if text.startswith("    "):
        return f"```python\n{inspect.cleandoc(text)}\n```"
    lines = text.splitlines()
    items = [re.sub(r"^(\w+): ", r"- `\1`: ", line) for line in lines]
    if all(item != line or line.startswith(" ") for item, line in zip(items, lines, strict=True)):
        # A list of parameters: what is indented goes on with its item.
        return "\n".join(f"  {line.strip()}" if line.startswith(" ") else line for line in items)
    return "\n".join(line.rstrip() for line in lines)
