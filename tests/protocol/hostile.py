"""Frames that lie: valid ones with lengths, counts, varints and tags made wrong, and plain garbage."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from tests.protocol.strategies import Kind, messages

#: What is put over, or between, the bytes of a valid frame.
LIES: Final = (
    b"\0",
    b"\1",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\x7f\xff",  # the highest int16, then the lowest, then -1, -2
    b"\x80\0",
    b"\xff\xff",
    b"\xff\xfe",
    b"\x7f\xff\xff\xff",  # the same as int32
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xfe",
    b"\xff\xff\xff\xff\x07",  # as varints: the highest int32, -1, the lowest, one with bits beyond the 32nd
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x08",
    b"\xff\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x00",  # zero, in five bytes; then varints that don't end
    b"\x80\x80\x80\x80\x80\x01",
    b"\xff" * 12,
    b"\x81\x80\x02",  # the compact lengths of strings of 32,768 and 32,767 bytes
    b"\x80\x80\x02",
    b"\x02\x00\x00\x00\x00",  # tag sections: tag 0 twice, tags out of order, a tag longer than the frame
    b"\x02\x05\x01a\x03\x01b",
    b"\x01\x00\x7f",
    b"\xc3\x28\xed\xa0\x80\xf5",  # not UTF-8
)


@st.composite
def mutated(draw: st.DrawFn, frames: st.SearchStrategy[bytes]) -> bytes:
    """A frame with one to three changes: something written over it, put in, taken out, or the end cut off."""
    frame = draw(frames)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(frame)))
        change = draw(st.sampled_from(("over", "in", "out", "cut")))
        lie = b"" if change in ("out", "cut") else draw(st.sampled_from(LIES))
        resume = {"over": at + len(lie), "in": at, "out": at + draw(st.integers(1, 4)), "cut": len(frame)}[change]
        frame = frame[:at] + lie + frame[resume:]
    return frame


def frames(kind: Kind, version: int) -> st.SearchStrategy[bytes]:
    """Valid frames of this message and version."""
    return messages(kind, version).map(lambda message: message.encode(version))


def hostile_frames(kind: Kind, version: int) -> st.SearchStrategy[bytes]:
    """What a careless or malicious peer might send for this message and version."""
    return mutated(frames(kind, version)) | st.binary(max_size=60)
