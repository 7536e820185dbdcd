"""Record batches built by hand, right or wrong: every header field can be told to lie.

Independent of the code under test on purpose: the layout is written down here once more, from Kafka's
`DefaultRecordBatch` and `DefaultRecord`. Timestamps default to a fixed day, so the same call gives the same bytes.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from typing import Final

from fastcrc.crc32 import iscsi

#: 14 November 2023, within every broker's limits and far from now.
TIMESTAMP: Final = 1_700_000_000_000

_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_PREFIX: Final = struct.Struct(">qiibI")

#: (key, value)
KeyValue = tuple[bytes | None, bytes | None]


def batch(
    records: Sequence[KeyValue] = ((b"k", b"v"),),
    *,
    timestamps: Sequence[int] | None = None,
    payload: bytes | None = None,
    base_offset: int = 0,
    length_added: int = 0,
    leader_epoch: int = -1,
    magic: int = 2,
    crc_added: int = 0,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = TIMESTAMP,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    count: int | None = None,
) -> bytes:
    """One batch v2. `payload` replaces the encoded records; `…_added` shifts a computed field away from the truth."""
    times = list(timestamps or [base_timestamp] * len(records))
    if payload is None:
        payload = b"".join(
            record(key, value, offset_delta=index, timestamp_delta=times[index] - base_timestamp)
            for index, (key, value) in enumerate(records)
        )
    after_crc = (
        _AFTER_CRC.pack(
            attributes,
            len(records) - 1 if last_offset_delta is None else last_offset_delta,
            base_timestamp,
            max(times, default=base_timestamp) if max_timestamp is None else max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            len(records) if count is None else count,
        )
        + payload
    )
    crc = (iscsi(after_crc) + crc_added) & 0xFFFFFFFF
    length = len(after_crc) + 9 + length_added
    return _PREFIX.pack(base_offset, length, leader_epoch, magic, crc) + after_crc


def record(
    key: bytes | None,
    value: bytes | None,
    *,
    offset_delta: int = 0,
    timestamp_delta: int = 0,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
    length_added: int = 0,
) -> bytes:
    """One record of a batch, with its length before it."""
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + _sized(key) + _sized(value)
    body += varint(len(headers)) + b"".join(_sized(name) + _sized(content) for name, content in headers)
    return varint(len(body) + length_added) + body


def stored(codec: int, payload: bytes) -> bytes:
    """`payload` in the container of a codec (1 gzip, 2 snappy, 3 lz4, 4 zstd), stored without making it smaller."""
    size = len(payload)
    match codec:
        case 1:
            return gzip.compress(payload, mtime=0)
        case 2:  # one literal, its length in two bytes
            return _unsigned_varint(size) + b"\xf4" + (size - 1).to_bytes(2, "little") + payload
        case 3:  # frame header with independent blocks of up to 64 KiB, one uncompressed block, end mark
            return b"\x04\x22\x4d\x18\x60\x40\x82" + (size | 1 << 31).to_bytes(4, "little") + payload + bytes(4)
        case 4:  # frame of one segment, its size in four bytes, one raw block which is the last
            return (
                b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little") + (size << 3 | 1).to_bytes(3, "little") + payload
            )
    raise ValueError(f"there is no codec {codec}")


def varint(value: int) -> bytes:
    """A zig-zag varint."""
    return _unsigned_varint(value << 1 ^ value >> 63)


def _unsigned_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data
