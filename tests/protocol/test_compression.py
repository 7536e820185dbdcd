"""The codecs: what comes out is what went in, within a bound, and what Kafka's readers tolerate is tolerated."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any, Final

import aiokafka.codec
import cramjam
import kafka.codec
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.batch_error import BatchError, DecompressionError, DecompressionLimitError
from ottla.protocol.compression import CompressionType, compress, decompress
from ottla.protocol.errors import ErrorCode
from tests.protocol.record_strategies import damaged, outcome
from tests.support import batches

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CODECS = list(CompressionType)
COMPRESSED = CODECS[1:]
GZIP, SNAPPY, LZ4, ZSTD = COMPRESSED
MIB: Final = 1024 * 1024

#: Text, zeros and noise, across the block sizes of every codec.
SAMPLES: Final = {
    "empty": b"",
    "one byte": b"a",
    "short": b"hello " * 20,
    "over a snappy chunk": b"0123456789abcdef" * 2_500,
    "over an lz4 block": random.Random(1).randbytes(1_000) * 200,
    "noise": random.Random(2).randbytes(150_000),
    "zeros": bytes(MIB),
}

PEERS: Final[dict[str, Any]] = {"aiokafka": aiokafka.codec, "kafka-python": kafka.codec}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("codec", CODECS)
def test_what_goes_in_comes_out(codec: CompressionType, sample: str) -> None:
    """Any size, from any kind of buffer."""
    data = SAMPLES[sample]
    for kind in (bytes, bytearray, memoryview):
        packed = compress(codec, kind(data))
        assert bytes(decompress(codec, kind(packed))) == data


@pytest.mark.parametrize("codec", CODECS)
@given(st.binary(max_size=500))
def test_any_bytes_come_out_again(codec: CompressionType, data: bytes) -> None:
    """As the test before, with bytes nobody thought of."""
    assert bytes(decompress(codec, compress(codec, data))) == data


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("sample", sorted(SAMPLES.keys() - {"empty"}))  # a snappy stream of nothing confuses both
@pytest.mark.parametrize("codec", COMPRESSED)
def test_clients_and_this_code_unpack_each_other(codec: CompressionType, sample: str, peer: str) -> None:
    """aiokafka's and kafka-python's codecs, both ways. aiokafka's lz4 has checksums on its blocks."""
    data, name, module = SAMPLES[sample], codec.name.lower(), PEERS[peer]
    assert bytes(getattr(module, f"{name}_decode")(compress(codec, data))) == data
    assert decompress(codec, getattr(module, f"{name}_encode")(data)) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_stored_without_compression_is_unpacked(codec: CompressionType) -> None:
    """Containers written by hand, whose content is stored as it is."""
    data = bytes(range(256)) * 20
    assert decompress(codec, batches.stored(int(codec), data)) == data


@pytest.mark.parametrize(("codec", "levels"), [(GZIP, (1, 9)), (LZ4, (1, 9, 17)), (ZSTD, (-5, 3, 19))])
def test_levels_are_heeded(codec: CompressionType, levels: tuple[int, ...]) -> None:
    """A topic's compression.*.level changes the size, never the content. 9 is lz4's sign for fast, not for small."""
    data = b"".join(b"%d, %d; " % (index * index, index % 7) for index in range(5_000))
    packed = {level: compress(codec, data, level) for level in levels}
    assert all(decompress(codec, each) == data for each in packed.values())
    smallest = max(levels)
    assert len(packed[smallest]) == min(len(each) for each in packed.values())
    assert len(packed[smallest]) < max(len(each) for each in packed.values())


def test_unassigned_codecs_have_no_error_code() -> None:
    """Numbers 5 to 7: Kafka throws, and answers UNKNOWN_SERVER_ERROR. Other attribute bits don't matter."""
    for number in (5, 6, 7):
        with pytest.raises(BatchError, match=f"compression type {number} is unknown") as caught:
            CompressionType.of(number)
        assert caught.value.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert CompressionType.of(0x7FF8 | 4) is ZSTD


# What Kafka's readers make of unusual but readable bytes. `None`: refused.
XERIAL_HEADER: Final = b"\x82SNAPPY\0" + bytes((0, 0, 0, 1)) * 2
TEXT: Final = batches.record(None, b"hello " * 20)  # a record, so that a broker can be asked about these, too
CHUNK: Final = bytes(cramjam.snappy.compress_raw(TEXT))
SIZED_CHUNK: Final = len(CHUNK).to_bytes(4, "big") + CHUNK


def lz4_frame(**options: Any) -> bytes:
    packed: bytes = lz4.frame.compress(TEXT, **{"block_linked": False, "store_size": False, **options})
    return packed


def changed(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes((value,)) + data[at + 1 :]


SKIPPABLE_FRAME: Final = b"\x50\x2a\x4d\x18\x02\0\0\0xx"
TOLERANCES: dict[str, tuple[CompressionType, bytes, bytes | None]] = {
    "gzip: two members": (GZIP, gzip.compress(TEXT) * 2, TEXT * 2),
    "gzip: rubbish behind": (GZIP, gzip.compress(TEXT) + b"rubbish" * 9, TEXT),
    "gzip: rubbish that begins like a member": (GZIP, gzip.compress(TEXT) + b"\x1f\x8b\x08" + bytes(40), None),
    "gzip: a few bytes that begin like a member": (GZIP, gzip.compress(TEXT) + b"\x1f\x8b\x08" + bytes(15), TEXT),
    "gzip: zlib container": (GZIP, zlib.compress(TEXT), None),
    "gzip: wrong checksum": (GZIP, changed(gzip.compress(TEXT), -8 % len(gzip.compress(TEXT)), 0xAA), None),
    "gzip: cut before its checksum": (GZIP, gzip.compress(TEXT)[:-8], None),
    "gzip: nothing": (GZIP, b"", None),
    "snappy: plain block": (SNAPPY, CHUNK, TEXT),
    "snappy: framed": (SNAPPY, XERIAL_HEADER + SIZED_CHUNK, TEXT),
    "snappy: two chunks": (SNAPPY, XERIAL_HEADER + SIZED_CHUNK * 2, TEXT * 2),
    "snappy: header again": (SNAPPY, (XERIAL_HEADER + SIZED_CHUNK) * 2, TEXT * 2),
    "snappy: header and no chunk": (SNAPPY, XERIAL_HEADER, b""),
    "snappy: little-endian versions": (SNAPPY, b"\x82SNAPPY\0" + b"\1\0\0\0" * 2 + SIZED_CHUNK, TEXT),
    "snappy: header again with version 0": (
        SNAPPY,
        XERIAL_HEADER + SIZED_CHUNK + b"\x82SNAPPY\0" + bytes(8) + SIZED_CHUNK,
        None,
    ),
    "snappy: header again, cut": (SNAPPY, XERIAL_HEADER + SIZED_CHUNK + XERIAL_HEADER[:10], None),
    "snappy: three bytes behind": (SNAPPY, XERIAL_HEADER + SIZED_CHUNK + b"\0\0\1", TEXT),
    "snappy: chunk cut": (SNAPPY, XERIAL_HEADER + SIZED_CHUNK[:-1], None),
    "snappy: chunk of negative length": (SNAPPY, XERIAL_HEADER + b"\xff\xff\xff\xff" + CHUNK, None),
    "snappy: chunk of no bytes": (SNAPPY, XERIAL_HEADER + bytes(4), None),
    "snappy: 4 GiB claimed": (SNAPPY, b"\xff\xff\xff\xff\x0f" + CHUNK[1:], None),
    "snappy: nothing": (SNAPPY, b"", None),
    "lz4: content size": (LZ4, lz4_frame(store_size=True), TEXT),
    "lz4: block checksum": (LZ4, lz4_frame(block_checksum=True), TEXT),
    "lz4: wrong block checksum": (
        LZ4,
        changed(lz4_frame(block_checksum=True), len(lz4_frame(block_checksum=True)) - 5, 0),
        None,
    ),
    "lz4: content checksum": (LZ4, lz4_frame(content_checksum=True), TEXT),
    "lz4: wrong content checksum": (LZ4, lz4_frame(content_checksum=True)[:-4] + b"oops", TEXT),
    "lz4: content checksum cut": (LZ4, lz4_frame(content_checksum=True)[:-1], None),
    "lz4: blocks of 4 MiB": (LZ4, lz4_frame(block_size=lz4.frame.BLOCKSIZE_MAX4MB), TEXT),
    "lz4: linked blocks": (LZ4, lz4.frame.compress(TEXT * 1_000, block_linked=True), None),
    "lz4: rubbish behind": (LZ4, lz4_frame() + b"rubbish", TEXT),
    "lz4: second frame ignored": (LZ4, lz4_frame() * 2, TEXT),
    "lz4: skippable frame before": (LZ4, SKIPPABLE_FRAME + lz4_frame(), None),
    "lz4: no end mark": (LZ4, lz4_frame()[:-4], None),
    "lz4: wrong header checksum": (LZ4, changed(lz4_frame(), 6, 0), None),
    "lz4: version 2": (LZ4, changed(lz4_frame(), 4, 0xA0), None),
    "lz4: blocks of unknown size": (LZ4, changed(lz4_frame(), 5, 0x30), None),
    "lz4: header cut": (LZ4, lz4_frame(store_size=True)[:14], None),
    "lz4: nothing": (LZ4, b"", None),
    "zstd: content size": (ZSTD, zstd.compress(TEXT), TEXT),
    "zstd: checksum": (ZSTD, zstd.compress(TEXT, options={zstd.CompressionParameter.checksum_flag: 1}), TEXT),
    "zstd: two frames": (ZSTD, zstd.compress(TEXT) * 2, TEXT * 2),
    "zstd: skippable frame between": (ZSTD, zstd.compress(TEXT) + SKIPPABLE_FRAME + zstd.compress(TEXT), TEXT * 2),
    "zstd: rubbish behind": (ZSTD, zstd.compress(TEXT) + b"rubbish", None),
    "zstd: cut": (ZSTD, zstd.compress(TEXT)[:-1], None),
    "zstd: nothing": (ZSTD, b"", b""),
}


@pytest.mark.parametrize("case", TOLERANCES)
def test_unusual_bytes_are_taken_as_kafka_takes_them(case: str) -> None:
    """Tolerated or refused, each as Kafka's stream readers do; a refusal has no code of its own."""
    codec, packed, expected = TOLERANCES[case]
    if expected is not None:
        assert decompress(codec, packed) == expected
    else:
        with pytest.raises(DecompressionError) as caught:
            decompress(codec, packed)
        assert caught.value.error is ErrorCode.UNKNOWN_SERVER_ERROR


BOMB_BYTES: Final = 100 * MIB
LIMIT_BYTES: Final = MIB


def gzip_members() -> bytes:
    return gzip.compress(bytes(MIB)) * 100


#: Small in, 100 MiB out: in one piece, in many, and where a header only claims it.
BOMBS: dict[str, tuple[CompressionType, Callable[[], bytes]]] = {
    "gzip": (GZIP, lambda: gzip.compress(bytes(BOMB_BYTES))),
    "gzip members": (GZIP, gzip_members),
    "snappy": (SNAPPY, lambda: compress(SNAPPY, bytes(BOMB_BYTES))),
    "snappy in one block": (SNAPPY, lambda: bytes(cramjam.snappy.compress_raw(bytes(BOMB_BYTES)))),
    "lz4": (LZ4, lambda: compress(LZ4, bytes(BOMB_BYTES))),
    "lz4 in blocks of 4 MiB": (LZ4, lambda: lz4_frame_of_large_blocks(bytes(BOMB_BYTES))),
    "zstd": (ZSTD, lambda: compress(ZSTD, bytes(BOMB_BYTES))),
    "zstd frames": (ZSTD, lambda: zstd.compress(bytes(MIB)) * 100),
}


def lz4_frame_of_large_blocks(data: bytes) -> bytes:
    packed: bytes = lz4.frame.compress(data, block_linked=False, block_size=lz4.frame.BLOCKSIZE_MAX4MB)
    return packed


@pytest.mark.parametrize("bomb", BOMBS)
def test_bomb_stops_at_the_limit(bomb: str) -> None:
    """What would unpack to 100 MiB stops soon after 1 MiB: in memory too, and the error says which limit it was."""
    codec, make = BOMBS[bomb]
    packed = make()
    assert len(packed) < BOMB_BYTES / 10
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionLimitError, match=f"limit of {LIMIT_BYTES} bytes") as caught:
            decompress(codec, packed, LIMIT_BYTES)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.limit_bytes == LIMIT_BYTES
    assert caught.value.error is ErrorCode.MESSAGE_TOO_LARGE
    assert peak_bytes < 4 * LIMIT_BYTES


@pytest.mark.parametrize("codec", COMPRESSED)
def test_limit_is_the_last_size_that_fits(codec: CompressionType) -> None:
    """Exactly the limit unpacks, one byte more does not."""
    packed = compress(codec, bytes(LIMIT_BYTES))
    assert decompress(codec, packed, LIMIT_BYTES) == bytes(LIMIT_BYTES)
    with pytest.raises(DecompressionLimitError):
        decompress(codec, packed, LIMIT_BYTES - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
@given(sample=st.sampled_from([b"hello " * 200, bytes(3_000)]), data=st.data())
def test_any_damage_ends_in_bytes_or_a_refusal(codec: CompressionType, sample: bytes, data: st.DataObject) -> None:
    """Whatever was changed, within the limit: never another exception."""
    doubtful = data.draw(damaged(compress(codec, sample)))
    seen = outcome(lambda packed: decompress(codec, packed, 10_000), doubtful)
    if isinstance(seen, ErrorCode):
        assert seen in {ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.MESSAGE_TOO_LARGE}
    else:
        assert len(bytes(seen)) <= 10_000


def test_no_codec_is_loaded_before_it_is_used() -> None:
    """Importing the module must not cost a start that never sees a compressed batch."""
    program = "import ottla.protocol.record_validation, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "ottla.protocol.compression" in loaded
    assert not {"cramjam", "lz4", "backports.zstd", "compression.zstd", "aiokafka"} & set(loaded)
