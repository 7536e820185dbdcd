"""Emits the body of a reader: `(frame, pos) -> (message, pos)` for one struct in one version.

For HeartbeatRequest v0 (a string, an int32, a string) it comes out as

    (_n,) = unpack_h(frame, pos)
    pos += 2
    if _n < 0:
        fail_null("group_id")
    _end = pos + _n
    group_id = frame[pos:_end].decode("utf-8", "replace")
    pos = _end
    generation_id, _n = unpack_ih(frame, pos)
    ...

`primitives` says why no slice is checked on its own.

What is odd on the wire is judged as Kafka's generated classes judge it: any negative length is null, a bool is true
unless zero, bad UTF-8 is replaced, a compact string has at most 32,767 bytes, a known tag is read where it stands (its
size is not looked at), a tag that only other versions know is refused.
Kafka: generator/src/main/java/org/apache/kafka/message/MessageDataGenerator.java.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ottla.protocol.generate.layouts import (
    FIXED,
    Layouts,
    class_name,
    default_expression,
    least_bytes,
    python_type,
)
from ottla.protocol.generate.schema import Field, Struct


@dataclass(slots=True)
class _Body:
    """Lines so far, and a run of fixed-size values not yet read."""

    layouts: Layouts
    flexible: bool
    in_tags: bool = False
    indent: int = 4
    lines: list[str] = field(default_factory=list)
    _run: list[tuple[str, str, int]] = field(default_factory=list)

    def line(self, text: str, deeper: int = 0) -> None:
        self.lines.append(" " * (self.indent + deeper) + text)

    def fixed(self, target: str, character: str, size: int) -> None:
        self._run.append((target, character, size))

    def flush(self) -> None:
        """Read the run with one call."""
        if not self._run:
            return
        targets = ", ".join(target for target, _, _ in self._run)
        unpack = self.layouts.imports.unpack("".join(character for _, character, _ in self._run))
        left = f"({targets},)" if len(self._run) == 1 else targets
        self.line(f"{left} = {unpack}(frame, pos)")
        self.line(f"pos += {sum(size for _, _, size in self._run)}")
        self._run.clear()

    def length(self, character: str, size: int, compact: bool) -> str:
        """Read a length into `_n`; returns what `_n` is when there is nothing: below 0 classic, 0 compact."""
        if not compact:
            self.fixed("_n", character, size)
            self.flush()
            return "_n < 0"
        self.flush()
        self.line("_n = frame[pos]")
        self.line("if _n < 128:")
        self.line("pos += 1", 4)
        self.line("else:")
        self.line(f"_n, pos = {'read_string_length' if character == 'h' else 'read_length'}(frame, pos)", 4)
        return "_n <= 0"


def emit_reader(struct: Struct, version: int, layouts: Layouts) -> list[str]:
    """The whole body, from the first field to the return."""
    schema = layouts.schema
    body = _Body(layouts, schema.is_flexible(version))
    for f in struct.layout(version):
        _emit_field(f, version, body)
    body.flush()
    if body.flexible:
        _emit_tags(struct, version, body)
    present = [f for f in struct.fields if version in f.versions]
    last = max((struct.fields.index(f) for f in present), default=-1)
    arguments = [f.name if version in f.versions else default_expression(f, schema) for f in struct.fields[: last + 1]]
    call = f"{class_name(struct, schema)}({', '.join(arguments)})"
    if not body.flexible:
        body.line(f"return {call}, pos")
        return body.lines
    body.line(f"message = {call}")
    body.line("if unknown:")
    body.line("message.unknown_tagged_fields = unknown", 4)
    body.line("return message, pos")
    return body.lines


def _emit_field(f: Field, version: int, body: _Body) -> None:
    nullable = version in f.nullable_versions
    if f.is_array:
        _emit_array(f, nullable, version, body)
    elif f.struct:
        _emit_struct(f, nullable, version, body)
    elif f.element_type in FIXED:
        body.fixed(f.name, *FIXED[f.element_type])
    else:
        _emit_sized(f.name, f.element_type, nullable, body.flexible and version in f.compact_versions, body)


def _emit_sized(target: str, element_type: str, nullable: bool, compact: bool, body: _Body) -> None:
    """A string, bytes or records."""
    is_null = body.length(*(("h", 2) if element_type == "string" else ("i", 4)), compact)
    value = {
        "string": 'frame[pos:_end].decode("utf-8", "replace")',
        "bytes": "frame[pos:_end]",
        "records": "memoryview(frame)[pos:_end]",
    }[element_type]
    body.line(f"if {is_null}:")
    deeper = 4 if nullable else 0
    if nullable:
        body.line(f"{target} = None", 4)
        body.line("else:")
    else:
        body.line(f'fail_null("{target.removeprefix("_")}")', 4)
    body.line(f"_end = pos + {'_n - 1' if compact else '_n'}", deeper)
    body.line(f"{target} = {value}", deeper)
    body.line("pos = _end", deeper)


def _emit_array(f: Field, nullable: bool, version: int, body: _Body) -> None:
    is_null = body.length("i", 4, body.flexible)
    kind = python_type(f, body.layouts.schema)
    # Inside the tag section the variable has been given its type together with its default.
    declared = f.name if body.in_tags else f"{f.name}: {kind if nullable else kind.removesuffix(' | None')}"
    body.line(f"if {is_null}:")
    if nullable:
        body.line(f"{declared} = None", 4)
        body.line("else:")
        body.indent += 4
        declared = f.name
    else:
        body.line(f'fail_null("{f.name}")', 4)
    if body.flexible:
        body.line("_n -= 1")
    size = least_bytes(f, version, flexible=body.flexible)
    body.line(f"if {'_n' if size == 1 else f'_n * {size}'} > len(frame) - pos:")
    body.line(f'fail_count("{f.name}", _n)', 4)
    if f.element_type in FIXED:
        body.line("if _n > FEW:")
        body.line(f'count_elements("{f.name}", _n)', 4)
    _emit_elements(f, declared, version, body)
    if nullable:
        body.indent -= 4


def _emit_elements(f: Field, declared: str, version: int, body: _Body) -> None:
    if f.element_type == "uuid":
        body.line("_end = pos + 16 * _n")
        body.line(f"{declared} = [frame[_at : _at + 16] for _at in range(pos, _end, 16)]")
        body.line("pos = _end")
        return
    if f.element_type in FIXED:
        character, size = FIXED[f.element_type]
        body.line(f'{declared} = list(struct.unpack_from(f">{{_n}}{character}", frame, pos))')
        body.line(f"pos += {'_n' if size == 1 else f'{size} * _n'}")
        return
    item = f"_{f.name}_item"
    body.line(f"{declared} = []")
    is_counted = not f.struct or any(inner.is_array or inner.element_type == "string" for inner in f.struct.fields)
    counted = f", {f.name}" if is_counted else ""
    body.line(f'for _ in range(_n) if _n <= FEW else many("{f.name}", _n{counted}):')
    body.indent += 4
    if f.struct:
        body.line(f"{item}, pos = {body.layouts.function(f.struct, version)}(frame, pos)")
    else:
        _emit_sized(item, f.element_type, False, body.flexible, body)
    body.line(f"{f.name}.append({item})")
    body.indent -= 4


def _emit_struct(f: Field, nullable: bool, version: int, body: _Body) -> None:
    """A struct. Where it may be null a byte before it says so (negative: null), in a tag a varint (not above 0)."""
    assert f.struct
    read = f"{f.name}, pos = {body.layouts.function(f.struct, version)}(frame, pos)"
    body.flush()
    if not nullable:
        body.line(read)
        return
    if body.in_tags:
        body.line("_n, pos = read_unsigned_varint(frame, pos)")
        body.line("if _n <= 0:")
    else:
        body.fixed("_n", "b", 1)
        body.flush()
        body.line("if _n < 0:")
    body.line(f"{f.name} = None", 4)
    body.line("else:")
    body.line(read, 4)


def _emit_tags(struct: Struct, version: int, body: _Body) -> None:
    """The tag section, which nearly always is empty: a zero."""
    known = struct.tagged(version)
    foreign = struct.tags_of_other_versions(version)
    for f in known:
        kind = python_type(f, body.layouts.schema)
        body.line(f"{f.name}: {kind} = {default_expression(f, body.layouts.schema)}")
    body.line("if frame[pos]:")
    if known or foreign:
        body.line("_kept: TaggedFields = {}", 4)
        body.line("_tags, pos = read_tag_count(frame, pos)", 4)
        body.line("for _ in many_tags(_tags):", 4)
        body.line("_tag, _size, pos = read_tag(frame, pos)", 8)
        _emit_tag_cases(known, foreign, version, body)
        body.line("unknown: TaggedFields | None = _kept", 4)
    else:
        body.line("unknown, pos = read_tagged_fields(frame, pos)", 4)
    body.line("else:")
    body.line("pos += 1", 4)
    body.line("unknown = None", 4)


def _emit_tag_cases(known: list[Field], foreign: list[int], version: int, body: _Body) -> None:
    """What to do for each tag, inside the loop over the section."""
    case = "if"
    for f in known:
        body.line(f"{case} _tag == {f.tag}:", 8)
        inner = _Body(body.layouts, flexible=True, in_tags=True, indent=body.indent + 12)
        _emit_field(f, version, inner)
        inner.flush()
        body.lines += inner.lines
        case = "elif"
    if foreign:
        body.line(f"{case} _tag in {tuple(foreign)}:" if len(foreign) > 1 else f"{case} _tag == {foreign[0]}:", 8)
        body.line("fail_tag(_tag)", 12)
    body.line("else:", 8)
    body.line("_kept[_tag], pos = read_tag_bytes(frame, pos, _size)", 12)
