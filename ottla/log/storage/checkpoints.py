"""The little text files beside a log, in Kafka's format where Kafka has them: a version, and then what there is.

    leader-epoch-checkpoint     0 ⏎ 2 ⏎ 0 0 ⏎ 3 120 ⏎      the epochs and where they began
    log-start-offset            0 ⏎ 57 ⏎                    ours; Kafka has one file for all logs
    virtual-date                0 ⏎ 1700000000000 ⏎         the date that a virtual clock has reached, in ms
    partition.metadata          version: 0 ⏎ topic_id: …    whose log it is

    recovery-point-offset-checkpoint    0 ⏎ count ⏎ topic's id partition offset ⏎ …     one file for all logs
    cleaner-offset-checkpoint           the same                                        how far each was compacted

Each is replaced as a whole; epochs are written over as long as they become more, for that is done often. A
file that is missing, or makes no sense, is read as None.
Kafka: CheckpointFile, LeaderEpochCheckpointFile, PartitionMetadataFile, OffsetCheckpointFile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ottla.log.storage.contract import EpochStart

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
LOG_START: Final = "log-start-offset"
PARTITION_METADATA: Final = "partition.metadata"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
CLEANED_OFFSETS: Final = "cleaner-offset-checkpoint"
VIRTUAL_DATE: Final = "virtual-date"

_VERSION: Final = "0"


def encode_epochs(epochs: Iterable[EpochStart]) -> bytes:
    return _encode([f"{epoch} {start_offset}" for epoch, start_offset in epochs])


def decode_epochs(data: bytes | None) -> tuple[EpochStart, ...] | None:
    rows = _decode(data, 2)
    return None if rows is None else tuple(EpochStart(int(epoch), int(start_offset)) for epoch, start_offset in rows)


def encode_number(number: int) -> bytes:
    """A log's start, or a date."""
    return f"{_VERSION}\n{number}\n".encode()


def decode_number(data: bytes | None) -> int | None:
    lines = (data or b"").decode("ascii", "replace").splitlines()
    return int(lines[1]) if len(lines) == 2 and lines[0] == _VERSION and _is_number(lines[1]) else None


def encode_partition_metadata(topic_id: str) -> bytes:
    return f"version: {_VERSION}\ntopic_id: {topic_id}\n".encode()


def decode_partition_metadata(data: bytes | None) -> str | None:
    """The topic's id as text."""
    values = dict(line.split(": ", 1) for line in (data or b"").decode("ascii", "replace").splitlines() if ": " in line)
    return values.get("topic_id") if values.get("version") == _VERSION else None


def encode_offsets(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """A file for all logs, from offsets by (topic's id, partition)."""
    return _encode([f"{topic_id} {partition} {offset}" for (topic_id, partition), offset in offsets.items()])


def decode_offsets(data: bytes | None) -> dict[tuple[str, int], int] | None:
    rows = _decode(data, 3)
    if rows is None:
        return None
    return {(topic_id, int(partition)): int(offset) for topic_id, partition, offset in rows}


def _encode(rows: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_VERSION, len(rows), *rows)).encode()


def _decode(data: bytes | None, columns: int) -> list[list[str]] | None:
    """The rows of a file; all but a first column of three are numbers."""
    lines = (data or b"").decode("ascii", "replace").splitlines()
    if len(lines) < 2 or lines[0] != _VERSION or lines[1] != str(len(lines) - 2):
        return None
    rows = [line.split(" ") for line in lines[2:]]
    return rows if all(len(row) == columns and all(map(_is_number, row[columns - 2 :])) for row in rows) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20
