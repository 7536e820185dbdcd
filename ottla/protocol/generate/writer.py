"""Emits the body of a writer: it appends the parts of one struct in one version to a list of buffers.

For HeartbeatResponse v1 (int32, int16) that is one line:

    parts.append(pack_ih(message.throttle_time_ms, message.error_code))

Records are appended as they are, so a fetched megabyte is never copied here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ottla.protocol.generate.layouts import FIXED, Layouts, default_expression, is_nullable
from ottla.protocol.generate.schema import Field, Schema, Struct


@dataclass(slots=True)
class _Body:
    """Lines so far, and a run of fixed-size values not yet written. Tagged fields go to a list of their own."""

    layouts: Layouts
    flexible: bool
    parts: str = "parts"
    in_tags: bool = False
    indent: int = 4
    lines: list[str] = field(default_factory=list)
    _run: list[tuple[str, str]] = field(default_factory=list)

    def line(self, text: str, deeper: int = 0) -> None:
        self.lines.append(" " * (self.indent + deeper) + text)

    def fixed(self, expression: str, character: str) -> None:
        self._run.append((expression, character))

    def flush(self) -> None:
        """Write the run with one call."""
        if self._run:
            values = ", ".join(expression for expression, _ in self._run)
            pack = self.layouts.imports.pack("".join(character for _, character in self._run))
            self.line(f"{self.parts}.append({pack}({values}))")
            self._run.clear()

    def length(self, expression: str, character: str, null_if: str | None, compact: bool) -> None:
        """Write a length: in the run when classic, as a varint of length + 1 when compact."""
        if compact:
            self.flush()
            value = f"{expression} + 1" if null_if is None else f"0 if {null_if} else {expression} + 1"
            varint = "string_length" if character == "h" else "unsigned_varint"
            self.line(f"{self.parts}.append({varint}({value}))")
        else:
            self.fixed(expression if null_if is None else f"-1 if {null_if} else {expression}", character)
            self.flush()


def emit_writer(struct: Struct, version: int, layouts: Layouts) -> list[str]:
    """The whole body, from the first field to the tag section."""
    body = _Body(layouts, layouts.schema.is_flexible(version))
    for f in struct.layout(version):
        _emit_field(f, version, body)
    body.flush()
    if body.flexible:
        _emit_tags(struct, version, body)
    if not body.lines:
        body.line("pass")
    return body.lines


def _emit_field(f: Field, version: int, body: _Body) -> None:
    value = f"message.{f.name}"
    nullable = version in f.nullable_versions
    if f.nullable_versions.last >= 0 and not nullable:
        body.line(f"assert {value} is not None")
    if f.is_array:
        _emit_array(f, value, nullable, version, body)
    elif f.struct:
        _emit_struct(f, value, nullable, version, body)
    elif f.element_type in FIXED:
        body.fixed(value, FIXED[f.element_type][0])
    else:
        _emit_sized(value, f.element_type, nullable, body.flexible and version in f.compact_versions, body)


def _emit_sized(value: str, element_type: str, nullable: bool, compact: bool, body: _Body) -> None:
    """A string, bytes or records."""
    is_null = f"{value} is None" if nullable else None
    source = f"{value}.encode()" if element_type == "string" else value
    encoded = "_text" if element_type == "string" else "_bytes"
    if element_type == "records":
        encoded, is_null = "_records", f"{value} is None"
    body.line(f"{encoded} = {source}" if is_null is None else f'{encoded} = b"" if {is_null} else {source}')
    body.length(f"len({encoded})", "h" if element_type == "string" else "i", is_null, compact)
    body.line(f"{body.parts}.append({encoded})")


def _emit_array(f: Field, value: str, nullable: bool, version: int, body: _Body) -> None:
    is_looped = f.element_type not in FIXED and f.element_type != "uuid"
    length = f"(_n := len({value}))" if is_looped else f"len({value})"
    body.length(length, "i", f"{value} is None" if nullable else None, body.flexible)
    items = f"{value} or ()" if nullable else value
    if f.element_type == "uuid":
        body.line(f"{body.parts}.extend({items})")
    elif f.element_type in FIXED:
        character = FIXED[f.element_type][0]
        body.line(f"if {value}:")
        body.line(f'{body.parts}.append(struct.pack(f">{{len({value})}}{character}", *{value}))', 4)
    else:
        item = f"_{f.name}_item"
        few = f"not {value} or _n <= FEW" if nullable else "_n <= FEW"
        body.line(f"for {item} in {items} if {few} else all_of({value}, {body.parts}):")
        body.indent += 4
        if f.struct:
            body.line(f"{body.layouts.function(f.struct, version)}({item}, {body.parts})")
        else:
            _emit_sized(item, f.element_type, False, body.flexible, body)
        body.indent -= 4


def _emit_struct(f: Field, value: str, nullable: bool, version: int, body: _Body) -> None:
    """A struct; where it may be null a byte before it says so: 1 for present, for null -1, or 0 in a tag."""
    assert f.struct
    write = f"{body.layouts.function(f.struct, version)}({value}, {body.parts})"
    body.flush()
    if not nullable:
        body.line(write)
        return
    body.line(f"if {value} is None:")
    body.line(f'{body.parts}.append(b"\\x{"00" if body.in_tags else "ff"}")', 4)
    body.line("else:")
    body.line(f'{body.parts}.append(b"\\x01")', 4)
    body.line(write, 4)


def _emit_tags(struct: Struct, version: int, body: _Body) -> None:
    """The tag section: known fields that differ from their defaults, and what is kept of unknown ones."""
    known = struct.tagged(version)
    is_empty = "message.unknown_tagged_fields is None"
    if known:
        body.line("tagged: list[tuple[int, list[Buffer]]] = []")
        is_empty += " and not tagged"
    for f in known:
        body.line(f"if {_differs(f'message.{f.name}', f, body.layouts.schema)}:")
        inner = _Body(body.layouts, flexible=True, parts="_tag", in_tags=True, indent=body.indent + 4)
        inner.line("_tag: list[Buffer] = []" if f is known[0] else "_tag = []")
        _emit_field(f, version, inner)
        inner.flush()
        inner.line(f"tagged.append(({f.tag}, _tag))")
        body.lines += inner.lines
    body.line(f"if {is_empty}:")
    body.line(f'{body.parts}.append(b"\\x00")', 4)
    body.line("else:")
    tagged = "tagged" if known else "[]"
    body.line(f"write_tagged_fields({tagged}, message.unknown_tagged_fields, {body.parts})", 4)


def _differs(value: str, f: Field, schema: Schema) -> str:
    """An expression that is true unless the field has its default. A struct is compared field by field, in place."""
    default = default_expression(f, schema)
    if default in ("False", "True"):
        return value if default == "False" else f"not {value}"
    if default == "None":
        return f"{value} is not None"
    if not f.struct or f.is_array:
        return f"{value} != {default}"
    differences = [f"{value} is None"] if is_nullable(f) else []
    differences += [_differs(f"{value}.{inner.name}", inner, schema) for inner in f.struct.fields]
    return " or ".join([*differences, f"{value}.unknown_tagged_fields"])
