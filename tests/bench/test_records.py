"""The batches that the benchmark writes and reads."""

from __future__ import annotations

import time

import pytest

from bench.figures.records import BATCH_BYTES, batch_of
from ottla.protocol.records import read_header


@pytest.mark.parametrize("records", [16, 160])
def test_batches_have_the_size_and_are_of_today(records: int) -> None:
    """Retention goes by the time of the records: it would remove old ones before they are fetched."""
    before_ms = int(time.time() * 1000)
    batch = batch_of(records)
    header = read_header(batch)
    assert len(batch) == BATCH_BYTES
    assert header.last_offset_delta == records - 1
    assert before_ms <= header.max_timestamp <= int(time.time() * 1000)
