"""The codecs of record batches: gzip, snappy, lz4, zstd, each unpacked within a bound.

A compressed batch may be small and unpack to gigabytes, so `decompress` takes a limit in bytes. It never allocates by
a length it only read, and stops soon after the limit is passed. Kafka has no such limit, because it unpacks piece by
piece; what it accepts otherwise is accepted here: gzip members and zstd frames laid end to end, snappy framed or plain,
the lz4 subset told in `lz4_frame`. Rubbish after the end is ignored for gzip and lz4 and refused for zstd.

Libraries load at first use. gzip is the standard library's; zstd is the standard library's from Python 3.14 on and its
backport before, because of its bounded decompressor; cramjam has the blocks of snappy and lz4, and their frames are
read here.

Kafka: CompressionType, and GzipCompression, SnappyCompression, Lz4Compression, ZstdCompression.
"""

from __future__ import annotations

import sys
import zlib
from enum import IntEnum
from typing import Any, Final

from ottla.protocol import lz4_frame, xerial_snappy
from ottla.protocol.batch_error import BatchError, DecompressionError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Buffer
from ottla.protocol.unpacked import STEP_BYTES, Unpacked

#: What a batch may unpack to unless told otherwise: as much as a request may hold, socket.request.max.bytes.
DECOMPRESSED_BYTES_MAX: Final = 100 * 1024 * 1024
#: What a batch that is produced may: so much, or so many times its size if that is more, up to the above.
PRODUCED_BYTES_MAX: Final = 48 * 1024 * 1024
PRODUCED_TIMES_MAX: Final = 16
#: And to how many records: alike ones take no space, and each costs as long as any other. librdkafka's
#: batch.num.messages can't be more.
DECOMPRESSED_RECORDS_MAX: Final = 1_000_000

_GZIP: Final = 16 + zlib.MAX_WBITS
#: A gzip header and trailer with nothing between them. Kafka's reader looks for another member in nothing shorter.
_GZIP_OVERHEAD: Final = 18
_ZSTD_LEVEL_DEFAULT: Final = 3
#: Input goes in by pieces of this size, so that thousands of tiny members or frames don't copy the rest each time.
_INPUT_BYTES: Final = 16 * 1024


class CompressionType(IntEnum):
    """The codec's number in a batch's attributes. 5–7 are unassigned."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def of(cls, attributes: int) -> CompressionType:
        """The codec these attributes name. An unassigned number is an error that Kafka has no code for."""
        number = attributes & 0x07
        if number >= len(_ASSIGNED):
            raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression type {number} is unknown")
        return _ASSIGNED[number]


_ASSIGNED: Final = tuple(CompressionType)


def decompress(compression_type: int, data: Buffer, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> Buffer:
    """Unpack the records of one batch.

    Other requests run in between. Raises `DecompressionError` for bytes that aren't what the codec says,
    `DecompressionLimitError` past `limit_bytes`, `RequestLimitError` past what the whole request may unpack to.
    """
    view = memoryview(data)
    match CompressionType.of(compression_type):
        case CompressionType.NONE:
            return data
        case CompressionType.GZIP:
            return _decompress_gzip(view, limit_bytes)
        case CompressionType.SNAPPY:
            return xerial_snappy.decompress_stream(view, limit_bytes)
        case CompressionType.LZ4:
            return lz4_frame.decompress_frame(view, limit_bytes)
        case CompressionType.ZSTD:
            return _decompress_zstd(view, limit_bytes)


def compress(compression_type: CompressionType, data: Buffer, level: int | None = None) -> bytes:
    """Pack the records of one batch. `level` is in the codec's own scale, as in Kafka's compression.*.level; `None`
    is Kafka's default. Snappy has no levels."""
    match compression_type:
        case CompressionType.NONE:
            return bytes(data)
        case CompressionType.GZIP:
            return zlib.compress(data, zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=_GZIP)
        case CompressionType.SNAPPY:
            return xerial_snappy.compress_stream(data)
        case CompressionType.LZ4:
            return lz4_frame.compress_frame(data, lz4_frame.LEVEL_DEFAULT if level is None else level)
        case CompressionType.ZSTD:
            packed: bytes = _zstd().compress(data, level=_ZSTD_LEVEL_DEFAULT if level is None else level)
            return packed


def _decompress_gzip(data: memoryview, limit_bytes: int) -> bytearray:
    unpacked = Unpacked(limit_bytes)
    position = 0
    try:
        while True:
            position = _read_gzip_member(unpacked, data, position)
            if len(data) - position <= _GZIP_OVERHEAD or bytes(data[position : position + 3]) != b"\x1f\x8b\x08":
                return unpacked.data
    except zlib.error as error:
        raise DecompressionError(f"the gzip data can't be decompressed: {error}") from None


def _read_gzip_member(unpacked: Unpacked, data: memoryview, position: int) -> int:
    """Unpack one member that starts at `position`; returns the position after it."""
    member = zlib.decompressobj(_GZIP)
    while not member.eof:
        piece: bytes | memoryview = _next_piece(data, position)
        position += len(piece)
        while True:
            part = member.decompress(piece, STEP_BYTES)
            unpacked.add(part)
            if member.eof or len(part) < STEP_BYTES:
                break
            piece = member.unconsumed_tail
    return position - len(member.unused_data)


def _decompress_zstd(data: memoryview, limit_bytes: int) -> bytearray:
    zstd = _zstd()
    unpacked = Unpacked(limit_bytes)
    position = 0
    try:
        while position < len(data):
            frame = zstd.ZstdDecompressor()
            while not frame.eof:
                piece = _next_piece(data, position) if frame.needs_input else b""
                position += len(piece)
                unpacked.add(frame.decompress(piece, STEP_BYTES))
            position -= len(frame.unused_data)
    except zstd.ZstdError as error:
        raise DecompressionError(f"the zstd data can't be decompressed: {error}") from None
    return unpacked.data


def _next_piece(data: memoryview, position: int) -> memoryview:
    piece = data[position : position + _INPUT_BYTES]
    if not piece:
        raise DecompressionError("the compressed records are cut short")
    return piece


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
