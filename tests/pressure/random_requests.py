"""Requests that nobody in his right mind would send, drawn from what each generated class says of itself.

Two kinds: messages that can be read, with values from the corners and with names that exist, so that they get past the
first check of a handler; and valid frames with bytes flipped, cut, lied over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any, Final, cast

from ottla.protocol.primitives import ZERO_UUID, Message
from tests.protocol.hostile import LIES
from tests.protocol.strategies import INTS, UNKNOWN_TAG_FIRST, FieldLayout, Kind, is_flexible, layout, struct_class
from tests.support.batches import batch

_STRINGS: Final = (
    "consumer", "range", "", "x", "1", "-1", "retention.ms", "cleanup.policy", "__consumer_offsets", "a b", ".",
    "topic\0", "é\U0001f600", "z" * 249, "z" * 32_767,
)  # fmt: skip
_SMALL: Final = (-2, -1, 0, 1, 2, 3, 4, 8, 16, 100, 6_000, 10_000)
_CORNERS: Final[dict[str, tuple[Any, ...]]] = {
    "bool": (False, True),
    "float64": (0.0, -1.0, float("inf"), float("nan")),
    "bytes": (b"", b"\0", b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff", b"\x7f\xff\xff\xff", bytes(1_000)),
}
#: Longer than anybody of these waits, sessions included.
LONGEST_WAIT_MS: Final = 1_800_000
_INT32_MAX: Final = 2**31 - 1
#: What leads deeper into a handler than the corners do, by the names of fields.
_LIKELY: Final[dict[str, tuple[int, ...]]] = {
    "acks": (-1, -1, 1, 1, 0, 2),
    "current_leader_epoch": (-1, -1, -1, 0, 1),
    "fetch_offset": (0, 0, 0, 0, -1, 1, 2**63 - 1),
    "generation_id": (-2, -1, 1, 2, 3, _INT32_MAX),
    "isolation_level": (0, 0, 1, 1, 2),
    "last_fetched_epoch": (-1, -1, -1, 0, 1),
    "max_bytes": (-1, 0, 10_000, _INT32_MAX),
    "max_wait_ms": (-1, 0, 1, 500, LONGEST_WAIT_MS),
    "min_bytes": (-1, 0, 1, 1, 10_000, _INT32_MAX),
    "partition": (0, 0, 0, 1, _INT32_MAX),
    "partition_index": (0, 0, 0, -1, _INT32_MAX),
    "partition_max_bytes": (-1, 0, 10_000, _INT32_MAX),
    "rebalance_timeout_ms": (-_INT32_MAX, -1, 0, 1, 60_000, LONGEST_WAIT_MS),
    "replica_id": (-1, -1, -1, -3, 0, 1),
    "session_epoch": (-1, -1, -1, 0, 1),
    "session_id": (0, 0, 0, 1),
    "session_timeout_ms": (0, 6_000, 60_000, LONGEST_WAIT_MS, _INT32_MAX),
}
_RECORDS: Final = (batch(), batch(magic=1), batch(crc_added=1), batch(attributes=0x13), b"", b"\0" * 61, b"\xff" * 70)


class RandomRequests:
    """Draws messages. Most of the topics they name are the one given, most members one of `member_ids`."""

    def __init__(self, draw: Random, *, topic: str, group_id: str) -> None:
        self.member_ids: deque[str] = deque([""], maxlen=4)
        self._draw = draw
        self._strings: dict[str, Sequence[str]] = {
            "group_id": (group_id, group_id, "another"),
            "member_id": self.member_ids,
            "name": (topic, group_id, "range"),
            "protocol_type": ("consumer",),
            "topic": (topic,),
        }
        self.topic_id = ZERO_UUID

    def message(self, kind: Kind, version: int) -> Message:
        """A message that this version can carry."""
        return self._struct(kind, kind, version)

    def _struct(self, kind: Kind, struct: Kind, version: int) -> Message:
        made: Any = struct(**{field.name: self._field(kind, field, version) for field in layout(struct, version)})
        if is_flexible(kind, version) and self._draw.random() < 0.1:
            made.unknown_tagged_fields = {UNKNOWN_TAG_FIRST: self._draw.randbytes(5)}
        return cast(Message, made)

    def _field(self, kind: Kind, field: FieldLayout, version: int) -> Any:
        if version in field.nullable_versions and self._draw.random() < 0.2:
            return None
        if not field.is_array:
            return self._value(kind, field, version)
        return [self._value(kind, field, version) for _ in range(self._draw.choice((0, 1, 1, 1, 2, 3)))]

    def _value(self, kind: Kind, field: FieldLayout, version: int) -> Any:
        draw = self._draw
        nested = struct_class(kind, field)
        if nested is not None:
            return self._struct(kind, nested, version)
        if field.name in _LIKELY:
            return draw.choice(_LIKELY[field.name])
        if field.type in INTS:
            low, high = INTS[field.type]
            number = draw.choice(_SMALL) if draw.random() < 0.8 else draw.choice((low, low + 1, high - 1, high))
            return min(max(low, number), high)
        if field.type == "records":
            return damaged(draw, draw.choice(_RECORDS)) if draw.random() < 0.3 else draw.choice(_RECORDS)
        if field.type == "string":
            return draw.choice(self._strings.get(field.name, _STRINGS) if draw.random() < 0.8 else _STRINGS)
        if field.type == "uuid":
            return draw.choice((self.topic_id, self.topic_id, ZERO_UUID, b"\xff" * 16))
        return draw.choice(_CORNERS[field.type])


def damaged(draw: Random, data: bytes) -> bytes:
    """The same bytes with one thing wrong: a bit, a lie over or between them, or their end missing."""
    at = draw.randrange(len(data) + 1)
    lie = draw.choice(LIES)
    match draw.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + lie + data[at:]
        case 2 if at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
    return data[:at] + lie + data[at + len(lie) :]
