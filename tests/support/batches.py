"""The conformance suite's record batches, right or wrong, independent of the code under test."""

from ottla.conformance.batches import TIMESTAMP, KeyValue, batch, record, stored, varint

__all__ = ["TIMESTAMP", "KeyValue", "batch", "place", "record", "stored", "varint"]


def place(data: bytearray, base_offset: int, leader_epoch: int) -> None:
    """Give a batch its place in a log."""
    data[:8] = base_offset.to_bytes(8, "big")
    data[12:16] = leader_epoch.to_bytes(4, "big")
