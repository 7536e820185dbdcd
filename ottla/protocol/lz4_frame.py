"""LZ4 frames as Kafka reads and writes them: a strict subset of the format, with its own tolerances.

    04 22 4D 18 │ FLG │ BD │ content size? (8) │ header checksum │ block… │ 00 00 00 00 │ content checksum? (4)

Kafka reads one frame of version 1 with independent blocks, verifies the checksums of the header and of the blocks, and
ignores the content's size and checksum and whatever follows the frame.

So the header is checked here, and the library gets a new one without the optional fields: then it ignores what Kafka
ignores. What is written has blocks of 64 KiB and no checksum but the header's.

Kafka: Lz4BlockInputStream, Lz4BlockOutputStream.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ottla.protocol.batch_error import DecompressionError
from ottla.protocol.primitives import Buffer
from ottla.protocol.unpacked import STEP_BYTES, Unpacked

_MAGIC: Final = b"\x04\x22\x4d\x18"
#: Kafka's default, and its sign for the fast compressor; any other level means the slow one with that level.
LEVEL_DEFAULT: Final = 9
_LEVEL_FAST: Final = 0
_LEVEL_SLOW_MIN: Final = 3
_CHECKSUM_BYTES: Final = 4


def decompress_frame(data: memoryview, limit_bytes: int) -> bytearray:
    """Unpack the first frame in `data`, to `limit_bytes` at most."""
    import lz4.frame  # the library loads when the first such batch comes

    header, position, has_content_checksum = _plain_header(data)
    context = lz4.frame.create_decompression_context()
    unpacked = Unpacked(limit_bytes)
    try:
        lz4.frame.decompress_chunk(context, header)
        is_end = False
        while not is_end:
            # The library allocates all of max_length at once, so it gets small steps.
            piece = data[position : position + STEP_BYTES]
            part, consumed, is_end = lz4.frame.decompress_chunk(context, piece, max_length=STEP_BYTES)
            if not part and not consumed:
                raise DecompressionError("the lz4 frame is cut short")
            unpacked.add(part)
            position += consumed
    except RuntimeError as error:
        raise DecompressionError(f"the lz4 data can't be decompressed: {error}") from None
    if has_content_checksum and len(data) - position < _CHECKSUM_BYTES:
        raise DecompressionError("the lz4 frame's checksum is cut short")
    return unpacked.data


def compress_frame(data: Buffer, level: int = LEVEL_DEFAULT) -> bytes:
    """Pack `data` into one frame. `level` is Kafka's 1–17."""
    import lz4.frame

    packed: bytes = lz4.frame.compress(
        data,
        compression_level=_LEVEL_FAST if level == LEVEL_DEFAULT else max(level, _LEVEL_SLOW_MIN),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return packed


def _plain_header(data: memoryview) -> tuple[bytes, int, bool]:
    """Check the header as Kafka does.

    Returns (the same header without optional fields, where the blocks begin, whether a checksum follows them).
    """
    if bytes(data[:4]) != _MAGIC or len(data) < 7:
        raise DecompressionError("not an lz4 frame")
    flags, block_descriptor = data[4], data[5]
    # Version 1 and independent blocks set, reserved bits clear. Free: checksums (0x14), the content's size (0x08).
    if flags & 0b1110_0011 != 0b0110_0000:
        raise DecompressionError(f"lz4 frame flags {flags:#04x}: Kafka reads version 1 with independent blocks")
    if block_descriptor not in (0x40, 0x50, 0x60, 0x70):
        raise DecompressionError(f"lz4 block descriptor {block_descriptor:#04x} is not allowed")
    checksum_at = 14 if flags & 0x08 else 6
    if len(data) <= checksum_at:
        raise DecompressionError("the lz4 frame header is cut short")
    if data[checksum_at] != _header_checksum(bytes(data[4:checksum_at])):
        raise DecompressionError("the lz4 frame header fails its checksum")
    descriptor = bytes((flags & 0b1111_0000, block_descriptor))
    header = _MAGIC + descriptor + bytes((_header_checksum(descriptor),))
    return header, checksum_at + 1, bool(flags & 0x04)


@lru_cache(maxsize=64)  # without the content's size there are only 32 descriptors
def _header_checksum(descriptor: bytes) -> int:
    """The second byte of XXH32 with seed 0, for the 2 or 10 bytes that a frame descriptor has."""
    mask = 0xFFFFFFFF
    digest = 374761393 + len(descriptor)
    words = len(descriptor) // 4 * 4
    for at in range(0, words, 4):
        digest = digest + int.from_bytes(descriptor[at : at + 4], "little") * 3266489917 & mask
        digest = (digest << 17 | digest >> 15) * 668265263 & mask
    for byte in descriptor[words:]:
        digest = digest + byte * 374761393 & mask
        digest = (digest << 11 | digest >> 21) * 2654435761 & mask
    digest = (digest ^ digest >> 15) * 2246822519 & mask
    digest = (digest ^ digest >> 13) * 3266489917 & mask
    return (digest ^ digest >> 16) >> 8 & 0xFF
