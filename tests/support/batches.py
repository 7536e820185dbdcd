"""The conformance suite's record batches, right or wrong, independent of the code under test."""

from ottla.conformance.batches import TIMESTAMP, KeyValue, batch, record, stored, varint

__all__ = ["TIMESTAMP", "KeyValue", "batch", "record", "stored", "varint"]
