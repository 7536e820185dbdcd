"""What a fetch brought."""

from __future__ import annotations

from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.records import batch_spans, read_header


def records_in(fetched: bytes) -> list[Record]:
    """The records of all its batches, in order. The first may begin before the offset that was asked for."""
    whole = [bytes(fetched[span.position : span.position + span.size_bytes]) for span in batch_spans(fetched)]
    return [record for batch in whole for record in read_records(batch, read_header(batch))]
