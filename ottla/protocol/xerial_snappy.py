"""Snappy as Kafka's Java client frames it, with the xerial library's stream format, and plain blocks.

    82 "SNAPPY" 00 │ version (4) │ compatible version (4) │ chunk: length (4, big-endian) │ snappy block │ …

A payload that doesn't start with these eight bytes is one plain block. Within a stream the header may come again
(streams laid end to end), and up to three bytes after the last chunk are ignored. The first header's versions aren't
looked at: some clients write them the wrong way round.

Kafka: SnappyCompression, by SnappyInputStream and SnappyOutputStream of snappy-java.
"""

from __future__ import annotations

import struct
from typing import Final

from ottla.protocol.batch_error import DecompressionError, DecompressionLimitError
from ottla.protocol.primitives import Buffer
from ottla.protocol.unpacked import Unpacked

_MAGIC: Final = b"\x82SNAPPY\x00"
_MAGIC_AS_LENGTH: Final = int.from_bytes(_MAGIC[:4], "big", signed=True)
_HEADER: Final = struct.Struct(">8sii")
_HEADER_WRITTEN: Final = _HEADER.pack(_MAGIC, 1, 1)
_LENGTH: Final = struct.Struct(">i")
_CHUNK_BYTES: Final = 32 * 1024
#: The densest element there is copies 64 bytes and takes 3.
_EXPANSION_MAX: Final = 22


def decompress_stream(data: memoryview, limit_bytes: int) -> bytearray:
    """Unpack a framed stream or a plain block. Raises `DecompressionError`, or `DecompressionLimitError`."""
    unpacked = Unpacked(limit_bytes)
    if len(data) < _HEADER.size or bytes(data[:8]) != _MAGIC:
        _decompress_block(data, unpacked)
        return unpacked.data
    position = _HEADER.size
    while position + 4 <= len(data):
        (length,) = _LENGTH.unpack_from(data, position)
        if length == _MAGIC_AS_LENGTH:
            _check_repeated_header(data, position)
            position += _HEADER.size
            continue
        position += 4
        chunk = data[position : position + length] if length > 0 else data[:0]
        if len(chunk) != length:
            raise DecompressionError(f"a snappy chunk of {length} bytes is cut short")
        position += length
        _decompress_block(chunk, unpacked)
    return unpacked.data


def _check_repeated_header(data: memoryview, position: int) -> None:
    if position + _HEADER.size > len(data):
        raise DecompressionError("a snappy header within the stream is cut short")
    magic, version, _ = _HEADER.unpack_from(data, position)
    if magic != _MAGIC or version < 1:
        raise DecompressionError("a snappy header within the stream is wrong")


def _decompress_block(block: memoryview, unpacked: Unpacked) -> None:
    import cramjam  # the library loads when the first compressed batch comes

    try:
        # The block begins with its own length, which is checked before anything is allocated by it.
        claimed_bytes = cramjam.snappy.decompress_raw_len(block)
        if claimed_bytes > len(block) * _EXPANSION_MAX:
            raise DecompressionError(f"a snappy block of {len(block)} bytes can't hold the {claimed_bytes} it claims")
        if claimed_bytes > unpacked.bytes_left:
            raise DecompressionLimitError(unpacked.limit_bytes)
        unpacked.add(memoryview(cramjam.snappy.decompress_raw(block)))
    except cramjam.DecompressionError as error:
        raise DecompressionError(f"a snappy block can't be decompressed: {error}") from None


def compress_stream(data: Buffer) -> bytes:
    """Pack `data` as a framed stream of chunks of 32 KiB, as the Java client does."""
    import cramjam

    view = memoryview(data)
    parts = [_HEADER_WRITTEN]
    for start in range(0, len(view), _CHUNK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _CHUNK_BYTES]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)
