"""What both emitters share: Python's types for Kafka's, function names, and which versions share a layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ottla.protocol.generate.schema import Field, Schema, Struct, snake_case

#: Types of fixed size: the format character of the `struct` module and the size in bytes.
FIXED: Final[dict[str, tuple[str, int]]] = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}

_PYTHON_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Buffer",
}

#: Names the generated code may import from `primitives`.
_SHARED: Final = (
    "FEW",
    "LEFT_OUT",
    "ZERO_UUID",
    "Buffer",
    "Message",
    "TaggedFields",
    "all_of",
    "count_elements",
    "fail_count",
    "fail_null",
    "fail_tag",
    "many",
    "many_tags",
    "read_length",
    "read_string_length",
    "read_tag",
    "read_tag_bytes",
    "read_tagged_fields",
    "read_unsigned_varint",
    "string_length",
    "unsigned_varint",
    "write_tagged_fields",
)

#: Emits the body of one function, indented by four.
Emit: TypeAlias = Callable[[Struct, int, "Layouts"], list[str]]


class Imports:
    """Collects the `struct` formats that a module uses, and prints its head."""

    def __init__(self) -> None:
        self._formats: set[str] = set()

    def unpack(self, characters: str) -> str:
        return "unpack_" + self._name(characters)

    def pack(self, characters: str) -> str:
        return "pack_" + self._name(characters)

    def _name(self, characters: str) -> str:
        self._formats.add(characters)
        return characters.replace("?", "o")

    def lines(self, body: list[str]) -> list[str]:
        """The import block and the structs, cut down to what the body names."""
        text = "\n".join(body)
        lines = [
            "from __future__ import annotations",
            "",
            "import struct",
            "",
            "from ottla.protocol.primitives import (",
        ]
        lines += [f"    {name}," for name in _SHARED if re.search(rf"\b{name}\b", text)]
        lines += [")", ""]
        for characters in sorted(self._formats):
            name = self._name(characters)
            lines.append(f'_{name} = struct.Struct(">{characters}")')
            lines += [f"unpack_{name} = _{name}.unpack_from"] if f"unpack_{name}(" in text else []
            lines += [f"pack_{name} = _{name}.pack"] if f"pack_{name}(" in text else []
        return lines


@dataclass(slots=True)
class Layouts:
    """Names the functions of one message, one for each distinct layout, and collects their text."""

    schema: Schema
    verb: str
    emit: Emit
    imports: Imports
    lines: list[str] = field(default_factory=list)
    _by_version: dict[tuple[str, int], str] = field(default_factory=dict)
    _by_body: dict[tuple[str, ...], str] = field(default_factory=dict)

    def function(self, struct: Struct, version: int) -> str:
        """The name of the function for this struct in this version; written on first use."""
        key = (struct.name, version)
        if key not in self._by_version:
            body = self.emit(struct, version, self)
            self._by_version[key] = self._by_body.setdefault((struct.name, *body), self._named(struct, version, body))
        return self._by_version[key]

    def _named(self, struct: Struct, version: int, body: list[str]) -> str:
        if (struct.name, *body) in self._by_body:
            return ""
        message = snake_case(self.schema.name)
        name = message if struct is self.schema.root else f"{message}_{snake_case(struct.name)}"
        function = f"_{self.verb}_{name}_v{version}"
        python_class = class_name(struct, self.schema)
        if self.verb == "read":
            signature = f"def {function}(frame: bytes, pos: int) -> tuple[{python_class}, int]:"
        else:
            signature = f"def {function}(message: {python_class}, parts: list[Buffer]) -> None:"
        self.lines += ["", "", signature, *body]
        return function


def class_name(struct: Struct, schema: Schema) -> str:
    """A message by its name, a struct nested in it as `Message.Struct`."""
    return schema.name if struct is schema.root else f"{schema.name}.{struct.name}"


def least_bytes(f: Field, version: int, *, flexible: bool) -> int:
    """How many bytes one element of this array takes at least; of any other field, how many that field does."""
    if f.element_type in FIXED:
        return FIXED[f.element_type][1]
    if f.struct is None:
        return 1 if flexible else 2 if f.element_type == "string" else 4
    fields = f.struct.layout(version)
    return max(1, sum(_least_field_bytes(inner, version, flexible=flexible) for inner in fields) + flexible)


def _least_field_bytes(f: Field, version: int, *, flexible: bool) -> int:
    if f.is_array:
        return 1 if flexible else 4
    if f.struct is not None and version in f.nullable_versions:
        return 1
    return least_bytes(f, version, flexible=flexible and version in f.compact_versions)


def is_nullable(f: Field) -> bool:
    """May the field be null in any version? Records always may: that is how Kafka treats what was not set."""
    return f.nullable_versions.last >= 0 or f.element_type == "records"


def python_type(f: Field, schema: Schema) -> str:
    """The annotation of the attribute."""
    element = class_name(f.struct, schema) if f.struct else _PYTHON_TYPES.get(f.element_type, "int")
    kind = f"list[{element}]" if f.is_array else element
    return f"{kind} | None" if is_nullable(f) else kind


def default_expression(f: Field, schema: Schema) -> str:
    """The field's value in versions that do not have it."""
    if f.default_is_null or f.element_type == "records":
        return "None"
    if f.is_array:
        return "[]"
    if f.struct:
        return f"{class_name(f.struct, schema)}()"
    if f.element_type == "string":
        return '"' + (f.default or "") + '"'
    if f.element_type == "bytes":
        return 'b""'
    if f.element_type == "uuid":
        return "ZERO_UUID"
    if f.element_type == "bool":
        return "True" if str(f.default).lower() == "true" else "False"
    if f.element_type == "float64":
        return repr(float(f.default or 0))
    return str(int(str(f.default or 0), 0))


@dataclass(slots=True)
class Constructor:
    """One field in `__init__`: the parameter's type and default, what is assigned, its annotation."""

    parameter_type: str
    default: str
    assigned: str
    annotation: str


def constructor(f: Field, schema: Schema) -> Constructor:
    """How `__init__` treats a field. A list or struct left out becomes a fresh one, unless its default is null.

    Null is what says that one was left out; only where it is a value as well, and not the default, something else must.
    """
    kind = python_type(f, schema)
    default = default_expression(f, schema)
    if default == "None" or not (f.is_array or f.struct):
        return Constructor(kind, default, f.name, "")
    left_out = "LEFT_OUT" if is_nullable(f) else "None"
    parameter_type = kind if is_nullable(f) else f"{kind} | None"
    return Constructor(parameter_type, left_out, f"{default} if {f.name} is {left_out} else {f.name}", f": {kind}")
