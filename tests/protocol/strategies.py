"""Messages of every kind and version, made by Hypothesis from what each generated class says of itself (`LAYOUT`).

    kinds()                     every message class there is: requests, responses, and the data schemas
    messages(kind, version)     a strategy for messages that this version can carry in full
    extreme_messages(…)         the corners, deterministic: lowest and highest numbers, long texts, nulls
    plain_message(…)            one short example with all that the layout has

A field the version does not have keeps its default, so `decode(encode(message)) == message` must hold.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, cast

from hypothesis import strategies as st

from ottla.protocol import messages as messages_package
from ottla.protocol.generate.schema import NO_VERSIONS, Versions
from ottla.protocol.primitives import ZERO_UUID, Message

Kind: TypeAlias = type[Message]

#: The ints of the protocol: lowest and highest.
INTS: Final = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

#: Above every tag a schema defines, so none of these is known.
UNKNOWN_TAG_FIRST: Final = 1_000
TAG_LAST: Final = 2**31 - 2  # Kafka takes the highest int32 for "no further tag" and refuses to write it

_SIMPLE: Final[dict[str, st.SearchStrategy[Any]]] = {
    **{name: st.integers(*bounds) for name, bounds in INTS.items()},
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),  # a NaN equals nothing, not even itself
    "uuid": st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    "bytes": st.binary(max_size=12),
    "records": st.binary(max_size=24),
}
_UNKNOWN_TAGS: Final = st.none() | st.dictionaries(
    st.integers(UNKNOWN_TAG_FIRST, TAG_LAST), st.binary(max_size=4), min_size=1, max_size=2
)


Function = TypeVar("Function", bound=Callable[..., Any])


def remembered(function: Function) -> Function:
    """`functools.cache`, under the function's own type: mypy takes classes for unhashable."""
    return cast(Function, cache(function))


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """One entry of `LAYOUT`. `type` is that of the elements if the field is an array."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable_versions: Versions
    tag: int | None
    tagged_versions: Versions

    @classmethod
    def parse(cls, entry: str) -> FieldLayout:
        """Read "name type versions [nullable versions] [tag number versions]"."""
        name, kind, versions, *rest = entry.split()
        nullable = rest[rest.index("nullable") + 1] if "nullable" in rest else None
        tag, tagged = rest[rest.index("tag") + 1 :] if "tag" in rest else (None, None)
        return cls(
            name,
            kind.removeprefix("[]"),
            kind.startswith("[]"),
            Versions.parse(versions),
            Versions.parse(nullable),
            None if tag is None else int(tag),
            NO_VERSIONS if tagged is None else Versions.parse(tagged),
        )


@remembered
def layout(struct: Kind, version: int) -> tuple[FieldLayout, ...]:
    """The fields this message or struct has in this version, in the schema's order; without the unknown tags."""
    fields = (FieldLayout.parse(entry) for entry in struct.LAYOUT)
    return tuple(f for f in fields if f.type != "tags" and version in f.versions)


def is_flexible(struct: Kind, version: int) -> bool:
    """Has this version tag sections?"""
    return any(f.type == "tags" and version in f.versions for f in map(FieldLayout.parse, struct.LAYOUT))


def struct_class(kind: Kind, field: FieldLayout) -> Kind | None:
    """The class of a field that is a struct or an array of them: nested in that of the message. None for the rest."""
    found: Kind | None = getattr(kind, field.type, None)
    return found


@remembered
def kinds() -> tuple[Kind, ...]:
    """Every message class of the package, by module."""
    return tuple(_kinds())


def _kinds() -> Iterator[Kind]:
    for info in pkgutil.iter_modules(messages_package.__path__):
        module = importlib.import_module(f"{messages_package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and "READERS" in vars(value):
                yield value


def kinds_and_versions() -> list[tuple[Kind, int]]:
    """Every message class with every version it has."""
    return [(kind, version) for kind in kinds() for version in kind.READERS]


@remembered
def messages(kind: Kind, version: int, *, unknown_tags: bool = True) -> st.SearchStrategy[Message]:
    """Messages of this kind that this version can carry; with tags nobody knows, unless they are not wanted."""
    return _structs(kind, kind, version, unknown_tags and is_flexible(kind, version))


def _structs(kind: Kind, struct: Kind, version: int, unknown_tags: bool) -> st.SearchStrategy[Message]:
    fields = {f.name: _values(kind, f, version, unknown_tags) for f in layout(struct, version)}
    without_tags = st.builds(struct, **fields)
    return st.builds(_with_unknown_tags, without_tags, _UNKNOWN_TAGS) if unknown_tags else without_tags


def _with_unknown_tags(message: Any, tags: dict[int, bytes] | None) -> Any:
    message.unknown_tagged_fields = tags
    return message


def _values(kind: Kind, field: FieldLayout, version: int, unknown_tags: bool) -> st.SearchStrategy[Any]:
    nested = struct_class(kind, field)
    element = _SIMPLE[field.type] if nested is None else _structs(kind, nested, version, unknown_tags)
    values = st.lists(element, max_size=2) if field.is_array else element
    return st.none() | values if version in field.nullable_versions else values


def extreme_messages(kind: Kind, version: int) -> list[Message]:
    """All numbers at their lowest, all at their highest with long texts and arrays, everything null that may be."""
    return [_example(kind, kind, version, corner) for corner in ("lowest", "highest", "null")]


def plain_message(kind: Kind, version: int) -> Message:
    """A short message with one element in every array, so that nothing of its layout is left out."""
    return _example(kind, kind, version, "plain")


def _example(kind: Kind, struct: Kind, version: int, corner: str) -> Message:
    values: dict[str, Any] = {}
    for field in layout(struct, version):
        nested = struct_class(kind, field)
        if corner == "null" and version in field.nullable_versions:
            values[field.name] = None
            continue
        value = _EXAMPLES[corner][field.type] if nested is None else _example(kind, nested, version, corner)
        values[field.name] = [value] * _element_count(field, corner) if field.is_array else value
    message = struct(**values)
    if corner == "highest" and is_flexible(kind, version):
        _with_unknown_tags(message, {UNKNOWN_TAG_FIRST: bytes(300), TAG_LAST: b""})
    return message


def _element_count(field: FieldLayout, corner: str) -> int:
    if corner == "highest":
        return 200 if field.type in INTS else 2
    return 0 if corner == "lowest" else 1


_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "plain": dict.fromkeys(INTS, 1)
    | {
        "bool": True,
        "float64": 1.5,
        "uuid": bytes(range(16)),
        "string": "text",
        "bytes": b"bytes",
        "records": b"batch",
    },
    "lowest": {name: low for name, (low, _) in INTS.items()}
    | {"bool": False, "float64": 5e-324, "uuid": ZERO_UUID, "string": "", "bytes": b"", "records": b""},
    "highest": {name: high for name, (_, high) in INTS.items()}
    | {
        "bool": True,
        "float64": float("inf"),
        "uuid": b"\xff" * 16,
        "string": "\U0010ffff" * 8_191,  # 32,764 bytes; an int16 can say 32,767
        "bytes": bytes(70_000),
        "records": bytes(70_000),
    },
}
_EXAMPLES["null"] = _EXAMPLES["plain"]
