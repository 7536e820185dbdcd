"""Bytes from outside: every reader gives a message or a `DecodeError`, soon and in little memory, as Kafka would.

Where Java is, Kafka's own generated classes judge the same frames: what they refuse we refuse, what they read we read,
with the same values. `test_oddities` has the oddities worth knowing one by one.
"""

from __future__ import annotations

import os
import random
import re
import tracemalloc
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.primitives import DecodeError, Message
from tests.protocol.cases import every, every_kind, few_examples
from tests.protocol.hostile import LIES, hostile_frames
from tests.protocol.peers.kafka import KafkaCodec, Reading, Refusal, assert_same_values
from tests.protocol.strategies import Kind, kinds_and_versions, plain_message

#: Kept because they once found something, or to have some; a new one is drawn for each run.
SEEDS: Final = (
    1,
    2,
    3,
    pytest.param(int(os.environ.get("OTTLA_FUZZ_SEED", random.SystemRandom().randrange(2**32))), id="drawn"),
)

_REPLACEMENTS: Final = re.compile("\ufffd+")


@every()
@few_examples
@given(data=st.data())
def test_any_bytes_are_a_message_or_a_decode_error(kind: Kind, version: int, data: st.DataObject) -> None:
    """Lies about lengths, cut frames, garbage: no other exception, and what is read has every field."""
    message = _decode(kind, version, data.draw(hostile_frames(kind, version)))
    assert message is None or isinstance(message, kind)
    assert repr(message)


@every()
@few_examples
@given(data=st.data())
def test_kafka_judges_any_bytes_alike(kind: Kind, version: int, data: st.DataObject, apache_kafka: KafkaCodec) -> None:
    """Kafka refuses the same frames, and reads the same values from the others, to the same byte."""
    frame = data.draw(hostile_frames(kind, version))
    message = _decode(kind, version, frame)
    reading = apache_kafka.read(kind, version, frame)
    if message is None:
        assert isinstance(reading, Refusal)
        return
    assert isinstance(reading, Reading), reading
    assert kind.READERS[version](frame, 0)[1] == len(frame) - reading.bytes_left
    if "nan" not in repr(message):
        assert_same_values(_mend_text(message), version, _mend_text(reading.values))


@pytest.mark.parametrize("seed", SEEDS)
def test_fuzz_run_over_all_readers(seed: int) -> None:
    """Each reader in turn over damaged frames and noise; `OTTLA_FUZZ_SEED=<seed>` runs a failure again."""
    draw = random.Random(seed)
    read = 0
    for kind, version in kinds_and_versions():
        valid = plain_message(kind, version).encode(version)
        for _ in range(10):
            frame = _damaged(draw, valid) if draw.random() < 0.9 else draw.randbytes(draw.randrange(64))
            try:
                read += _decode(kind, version, frame) is not None
            except Exception as error:
                pytest.fail(f"seed {seed}: {kind.__name__} v{version} over {frame.hex()} gives {error!r}")
    assert read > 100  # the damage leaves some frames readable, or the run would prove little


def _damaged(draw: random.Random, frame: bytes) -> bytes:
    at = draw.randrange(len(frame) + 1)
    lie = draw.choice(LIES)
    return frame[:at] + lie + frame[at + draw.choice((0, len(lie), len(frame))) :]


@every_kind
def test_a_lie_about_a_length_costs_no_memory(kind: Kind) -> None:
    """Wherever a frame claims two thousand million elements or bytes, nothing of that order is allocated."""
    for version in kind.READERS:
        valid = plain_message(kind, version).encode(version)
        frames = [
            valid[:at] + lie + valid[at + len(lie) :]
            for at in range(len(valid) + 1)
            for lie in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08")
        ]
        tracemalloc.start()
        try:
            for frame in frames:
                _decode(kind, version, frame)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 100_000, version


def _decode(kind: Kind, version: int, frame: bytes) -> Message | None:
    try:
        return kind.decode(frame, version)
    except DecodeError as refusal:
        return None if str(refusal) else pytest.fail("a refusal says why")


def _mend_text(value: Any) -> Any:
    """The same values with each run of replacement characters as one.

    Java puts one for an encoded surrogate, Python three. Nobody sends those on purpose, and to copy Java would take a
    callback for each bad byte, which is what a malicious peer would like.
    """
    if isinstance(value, str):
        return _REPLACEMENTS.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mend_text(item) for item in value]
    if isinstance(value, dict):
        return {name: _mend_text(item) for name, item in value.items()}
    if isinstance(value, Message):
        for name in value.__slots__:
            setattr(value, name, _mend_text(getattr(value, name)))
    return value
