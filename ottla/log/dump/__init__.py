"""The contents of a log's files as lines: `ottla log dump`.

    values.py     records of the internal topics as JSON
    batches.py    the batches of a .log file, and their records
    committed.py  which of them a reader of committed records sees
    indexes.py    the files beside it, and whether they fit it

The lines are those of Kafka's own tool, so scripts for it work; only damage is described in more detail. Whatever the
bytes are, the lines come to an end: an unreadable part is reported with its place and the reason.
Kafka: org.apache.kafka.tools.DumpLogSegments.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: Marks the lines that report damage; no other line has it.
DAMAGED: Final = "damaged"


class DumpLine(NamedTuple):
    """A line to print. `is_complaint`: it reports damage."""

    text: str
    is_complaint: bool = False
