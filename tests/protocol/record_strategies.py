"""What the tests of record batches draw: records as clients send them, and bytes with something wrong in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from hypothesis import strategies as st

from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import Record
from tests.support import batches

NOW_MS: Final = 1_700_000_100_000

#: How records are refused that can't be read; Kafka has no code for some of it.
REFUSALS: Final = {ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR}

Result = TypeVar("Result")

#: Short ones, empty ones, null, and some whose length takes two and three bytes.
payloads = st.one_of(
    st.none(),
    st.binary(max_size=20),
    st.builds(bytes.__mul__, st.binary(min_size=1, max_size=3), st.sampled_from([60, 100, 3_000])),
)
header_lists = st.lists(st.tuples(st.text(max_size=8), payloads), max_size=3).map(tuple)
timestamps = st.one_of(
    st.integers(NOW_MS - 100, NOW_MS + 100),
    st.integers(0, NOW_MS * 2),
    st.just(-1),
)


@st.composite
def record_lists(draw: st.DrawFn, *, base_offset: int = 0, with_gaps: bool = False) -> list[Record]:
    """Records at offsets that count up from `base_offset`, or with gaps, as compaction leaves them."""
    count = draw(st.integers(1, 8))
    steps = draw(st.lists(st.integers(1, 200), min_size=count, max_size=count)) if with_gaps else [1] * count
    offset = base_offset - 1
    records = []
    for step in steps:
        offset += step
        records.append(Record(offset, draw(timestamps), draw(payloads), draw(payloads), draw(header_lists)))
    return records


@st.composite
def alike_payloads(draw: st.DrawFn) -> tuple[bytes, int]:
    """Encoded records most of which have one shape, with deltas that now and then change theirs, and their count."""
    key, value = draw(payloads), draw(payloads)
    count = draw(st.integers(1, 150))
    odd_ones = draw(st.dictionaries(st.integers(0, count - 1), st.tuples(payloads, payloads, header_lists), max_size=3))
    step = draw(st.sampled_from([0, 1, 50, 1_000]))
    jumps = draw(st.dictionaries(st.integers(0, count - 1), st.integers(-(10**6), 10**6), max_size=3))
    encoded = []
    timestamp_delta = 0
    for index in range(count):
        timestamp_delta += jumps.get(index, step)
        own_key, own_value, headers = odd_ones.get(index, (key, value, ()))
        encoded.append(
            batches.record(
                own_key,
                own_value,
                offset_delta=index,
                timestamp_delta=timestamp_delta,
                headers=[(name.encode(), content) for name, content in headers],
            )
        )
    return b"".join(encoded), count


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with up to three bytes changed, dropped or put in, or its end cut off."""
    wrong = bytearray(data)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(wrong)))
        match draw(st.sampled_from(["change", "drop", "insert", "cut"])):
            case "change":
                wrong[at : at + 1] = draw(st.sampled_from([b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\x05"]))
            case "drop":
                del wrong[at : at + draw(st.integers(1, 5))]
            case "insert":
                wrong[at:at] = draw(
                    st.sampled_from([b"\x80" * 5, b"\xff" * 9 + b"\1", b"\xff\xff\xff\xff\x7f", b"\0\1"])
                )
            case "cut":
                del wrong[at:]
    return bytes(wrong)


@st.composite
def doubtful_batches(draw: st.DrawFn) -> bytes:
    """A produced batch whose checksum is right, and anything else may be wrong."""
    payload, count = draw(alike_payloads())
    payload = draw(damaged(payload))
    codec = draw(st.sampled_from(CompressionType))
    payload = draw(damaged(compress(codec, payload))) if codec else payload
    flags = draw(st.sampled_from([0] * 12 + [0x08, 0x10, 0x20, 0x40, 0x80, 0x4000]))
    producer_id, base_sequence = draw(st.sampled_from([(-1, -1)] * 4 + [(9, 0), (9, -1), (-2, 5)]))
    wrong_count = draw(st.sampled_from([None] * 12 + [0, -1, count + 1, 2**31 - 1]))
    return batches.batch(
        payload=payload,
        attributes=codec | flags,
        count=count if wrong_count is None else wrong_count,
        last_offset_delta=draw(st.sampled_from([count - 1] * 12 + [0, -1, count, 2**31 - 1])),
        base_offset=draw(st.sampled_from([0] * 12 + [5])),
        base_timestamp=draw(st.sampled_from([NOW_MS] * 12 + [-1, 0, 2**63 - 1, -(2**63)])),
        max_timestamp=draw(st.sampled_from([NOW_MS, -1, 0])),
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=base_sequence,
    )


def outcome(attempt: Callable[[bytes], Result], data: bytes) -> Result | ErrorCode:
    """What comes out for these bytes: a result, or the error code they are refused with."""
    try:
        return attempt(data)
    except BatchError as refused:
        return refused.error
