"""Apache Kafka's message schemas as values: what a message looks like in one of its versions.

A schema file is JSON with comments. It describes a message once for all its versions: every field names the versions
it is part of, those in which it may be null, and those in which it travels as a tagged field. This module reads such a
file and answers the one question a codec asks: which fields, in which order and form, make up this struct in version v?

    schema = parse_schema(text)
    schema.root.layout(4)     # the fields of version 4, in wire order
    schema.is_flexible(4)     # compact lengths and tag sections?

Only names, types, versions and defaults are kept; the schemas' prose is not.
Kafka: generator/src/main/java/org/apache/kafka/message/{MessageSpec,FieldSpec,StructRegistry}.java.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

#: "3+" is 3 to this: a version is an int16.
VERSION_MAX: Final = 32767


def snake_case(name: str) -> str:
    """`ThrottleTimeMs` -> `throttle_time_ms`; the names Kafka's documentation uses, in Python's spelling."""
    return _WORD_START.sub("_", name).lower()


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions; empty when `first > last`."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    def __str__(self) -> str:
        """In Kafka's notation; empty when there are none."""
        if self.last < self.first:
            return ""
        if self.last == VERSION_MAX:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    @classmethod
    def parse(cls, text: str | None) -> Versions:
        """Read Kafka's notation: "3", "0-4", "2+", "none"; a missing entry counts as "none"."""
        if text is None or text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return cls(int(text[:-1]), VERSION_MAX)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))


NO_VERSIONS: Final = Versions(0, -1)


@dataclass(slots=True)
class Field:
    """One field over all versions. `element_type` is the type itself, or that of an array's elements.

    `compact_versions` are those in which it may be compact if its message is flexible: all, but for a client's id in
    the request header.
    """

    name: str
    element_type: str
    is_array: bool
    versions: Versions
    nullable_versions: Versions
    tagged_versions: Versions
    compact_versions: Versions
    tag: int
    default: Any
    struct: Struct | None

    @property
    def default_is_null(self) -> bool:
        return bool(self.default == "null")


@dataclass(slots=True)
class Struct:
    """A named group of fields: the message itself, or one nested in it."""

    name: str
    fields: list[Field]

    def layout(self, version: int) -> list[Field]:
        """The fields that travel in their place in this version."""
        return [f for f in self.fields if version in f.versions and version not in f.tagged_versions]

    def tagged(self, version: int) -> list[Field]:
        """The fields that travel in the tag section in this version, by ascending tag."""
        return sorted((f for f in self.fields if version in f.tagged_versions), key=lambda f: f.tag)

    def tags_of_other_versions(self, version: int) -> list[int]:
        """The tags that other versions know and this one does not."""
        return sorted(f.tag for f in self.fields if f.tag >= 0 and version not in f.tagged_versions)


@dataclass(slots=True)
class Schema:
    """One schema file. `api_key` is None for what is not a request or response."""

    name: str
    kind: str
    api_key: int | None
    versions: Versions
    flexible_versions: Versions
    listeners: list[str]
    latest_version_unstable: bool
    root: Struct
    structs: list[Struct] = field(default_factory=list)

    def is_flexible(self, version: int) -> bool:
        return version in self.flexible_versions


def parse_schema(text: str) -> Schema:
    """Parse the text of one of Kafka's schema files."""
    spec = json.loads(_COMMENT.sub("", text))
    versions = Versions.parse(spec["validVersions"])
    structs: dict[str, Struct] = {}
    for common in spec.get("commonStructs", ()):
        structs[common["name"]] = Struct(common["name"], [])
    for common in spec.get("commonStructs", ()):
        structs[common["name"]].fields.extend(_fields(common["fields"], structs, versions))
    root = Struct(spec["name"], _fields(spec.get("fields", ()), structs, versions))
    return Schema(
        name=spec["name"],
        kind=spec["type"],
        api_key=spec.get("apiKey") if spec["type"] in ("request", "response") else None,
        versions=versions,
        flexible_versions=Versions.parse(spec.get("flexibleVersions")),
        listeners=spec.get("listeners", []),
        latest_version_unstable=bool(spec.get("latestVersionUnstable", False)),
        root=root,
        structs=list(structs.values()),
    )


def _fields(specs: list[dict[str, Any]], structs: dict[str, Struct], valid: Versions) -> list[Field]:
    """The fields that any valid version has; some schemas keep those of versions no longer served."""
    fields = [_field(spec, structs, valid) for spec in specs]
    return [f for f in fields if f.versions.first <= valid.last and f.versions.last >= valid.first]


def _field(spec: dict[str, Any], structs: dict[str, Struct], valid: Versions) -> Field:
    kind: str = spec["type"]
    element_type = kind.removeprefix("[]")
    struct = structs.get(element_type)
    if "fields" in spec and struct is None:
        # Registered before its own fields, so that structs stand in the order in which a reader meets them.
        struct = structs[element_type] = Struct(element_type, [])
        struct.fields.extend(_fields(spec["fields"], structs, valid))
    tagged = Versions.parse(spec.get("taggedVersions"))
    return Field(
        name=snake_case(spec["name"]),
        element_type=element_type,
        is_array=kind.startswith("[]"),
        versions=Versions.parse(spec.get("versions")) if "versions" in spec else tagged,
        nullable_versions=Versions.parse(spec.get("nullableVersions")),
        tagged_versions=tagged,
        compact_versions=Versions.parse(spec.get("flexibleVersions", "0+")),
        tag=spec.get("tag", -1),
        default=spec.get("default"),
        struct=struct,
    )
