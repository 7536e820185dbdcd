"""What is in the files of a log, for people: `ottla log dump`.

    values.py     records of the internal topics as JSON
    batches.py    the batches of a .log file, and their records
    committed.py  which of them a reader of committed records sees
    indexes.py    the files beside it, and whether they fit it

Everything yields lines. They are those of Kafka's own tool, so that eyes and scripts that know it know them; only what
is damaged is told in more words. Whatever the bytes are, the lines come to an end: what can't be read is said to be so,
with its place and the reason. Kafka: org.apache.kafka.tools.DumpLogSegments.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: In lines that say that something is wrong; no other line has it.
DAMAGED: Final = "damaged"


class Line(NamedTuple):
    """A line to print. `is_complaint`: it says that something is wrong."""

    text: str
    is_complaint: bool = False
