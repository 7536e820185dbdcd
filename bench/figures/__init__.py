"""The figures, in the order of the table."""

from __future__ import annotations

from bench.figures import (
    client,
    commits,
    crowds,
    fixture,
    heartbeats,
    holds,
    latency,
    records,
    restart,
    start,
    stored,
    tails,
    trace,
    transactions,
    versions,
    worst,
)
from bench.figures.figure import Figure, Row, Values

__all__ = ["ALL", "Figure", "Row", "Values"]

ALL: list[Figure] = [
    start.FIGURE,
    heartbeats.FIGURE,
    versions.FIGURE,
    commits.FIGURE,
    records.FIGURE,
    client.FIGURE,
    crowds.FIGURE,
    latency.FIGURE,
    tails.FIGURE,
    transactions.FIGURE,
    restart.FIGURE,
    holds.FIGURE,
    stored.FIGURE,
    worst.FIGURE,
    fixture.FIGURE,
    trace.FIGURE,
]
