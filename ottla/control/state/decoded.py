"""A message of Kafka's as JSON that a person can read, with Kafka's names for its fields.

    JoinGroupResponse  ->  {"error_code": "NONE (0)", "generation_id": 3, "members": [{"metadata": {"topics": …}}]}

Only fields that its version has are there. What is opaque to the broker is opened where somebody knows it: records,
and what consumers tell each other in JoinGroup and SyncGroup. How much of a long one is shown is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from ottla.cluster.uuids import uuid_text
from ottla.protocol.batch_error import BatchError
from ottla.protocol.consumer import read_assignment, read_subscription
from ottla.protocol.errors import error_name
from ottla.protocol.primitives import Buffer, DecodeError, Message
from ottla.protocol.record_reading import read_records
from ottla.protocol.records import BATCH_OVERHEAD, batch_spans, read_header

#: What JSON can say.
Json: TypeAlias = Any
ELEMENTS_MAX: Final = 200
RECORDS_MAX: Final = 100
TEXT_CHARACTERS_MAX: Final = 2_000
#: What nobody is to find in a file that is passed around.
_SECRETS: Final = ("auth_bytes", "salted_password")
_HIDDEN: Final = "(not shown)"
_MAGIC: Final = 2
_OPENED: Final = {"metadata": read_subscription, "assignment": read_assignment}


def as_json(message: object, version: int) -> Json:
    """A message of this version; None of none."""
    return _struct(message, version) if isinstance(message, Message) else None


def _struct(message: Message, version: int) -> dict[str, Json]:
    shown = {}
    for layout in message.LAYOUT:
        name, kind, versions, *_ = layout.split()
        value = getattr(message, name)
        if kind == "tags" or not _has(versions, version):
            continue
        shown[name] = _HIDDEN if name in _SECRETS else _value(name, kind, value, version)
    return shown


def _has(versions: str, version: int) -> bool:
    """Whether 3+, 0-2 or 4 is said of this version."""
    first, _, last = versions.partition("-")
    if first.endswith("+"):
        return version >= int(first[:-1])
    return int(first) <= version <= int(last or first)


def _value(name: str, kind: str, value: Any, version: int) -> Json:
    if value is None:
        return None
    if kind.startswith("[]"):
        return _array(name, kind[2:], value, version)
    if isinstance(value, Message):
        return _struct(value, version)
    if kind == "uuid":
        return uuid_text(value)
    if kind == "records":
        return records_as_json(value)
    if kind == "bytes":
        return _opened(name, bytes(value))
    if kind == "int16" and name.endswith("error_code"):
        return f"{error_name(value)} ({value})"
    return value


def _array(name: str, kind: str, values: Iterable[Any], version: int) -> Json:
    items = list(values)
    shown = [_value(name, kind, value, version) for value in items[:ELEMENTS_MAX]]
    return [*shown, f"… and {len(items) - ELEMENTS_MAX} more"] if len(items) > ELEMENTS_MAX else shown


def _opened(name: str, blob: bytes) -> Json:
    """Opaque bytes: what is in them, if they are what consumers say there, or the bytes."""
    read = _OPENED.get(name)
    if read is not None and blob:
        try:
            return _struct(read(blob), int.from_bytes(blob[:2]))
        except DecodeError:
            pass  # another protocol's
    return bytes_as_text(blob)


def records_as_json(records: Buffer) -> Json:
    """The batches of a Produce or of a Fetch's answer, with their records as far as they can be read."""
    view = memoryview(records)
    try:
        return [_batch(view[span.position : span.position + span.size_bytes]) for span in batch_spans(view)]
    except BatchError as error:
        return f"{len(view)} bytes that are no batches: {error}"


def _batch(batch: memoryview) -> Json:
    if len(batch) < BATCH_OVERHEAD or batch[16] != _MAGIC:
        return f"a batch of {len(batch)} bytes, cut short or of an older form"
    header = read_header(batch)
    shown: dict[str, Json] = {"base_offset": header.base_offset, "records_count": header.records_count}
    if header.producer_id >= 0:
        shown |= {"producer_id": header.producer_id, "producer_epoch": header.producer_epoch}
        shown |= {"base_sequence": header.base_sequence, "is_transactional": header.is_transactional}
    if header.is_control:
        return {**shown, "is_control": True}
    try:
        shown["records"] = [_record(record) for record in islice(read_records(batch, header), RECORDS_MAX)]
    except BatchError as error:
        shown["records"] = f"cannot be read: {error}"
    if header.records_count > RECORDS_MAX:
        shown["records_left_out"] = header.records_count - RECORDS_MAX
    return shown


def _record(record: Any) -> Mapping[str, Json]:
    shown = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else bytes_as_text(record.key),
        "value": None if record.value is None else bytes_as_text(record.value),
    }
    if record.headers:
        shown["headers"] = [[name, None if value is None else bytes_as_text(value)] for name, value in record.headers]
    return shown


def bytes_as_text(blob: bytes) -> str:
    """As text where it is UTF-8, else in hexadecimal; cut if it is long."""
    cut = blob[:TEXT_CHARACTERS_MAX]
    try:
        text = blob.decode()[:TEXT_CHARACTERS_MAX]
        is_cut = len(text) < len(blob.decode())
    except UnicodeDecodeError:
        text, is_cut = f"0x{cut.hex()}", len(cut) < len(blob)
    return f"{text}… ({len(blob)} bytes)" if is_cut else text
