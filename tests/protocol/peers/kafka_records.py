"""Apache Kafka's own judgement of what a producer sends, by a small Java program beside the tests.

It runs the classes a broker runs before it appends (ProduceRequest.validateRecords, LogValidator) and answers with the
batch as the log would keep it, or with the error code and the indexes of refused records.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

from ottla.protocol.record_validation import AppendRules
from tests.support.kafka_process import class_path

_PROGRAM: Final = Path(__file__).with_name("KafkaRecords.java")
_QUESTION: Final = struct.Struct(">?hii?qq?bqiqi")


class Appended(NamedTuple):
    """What would go into the log."""

    max_timestamp: int
    last_offset: int
    data: bytes


class Refused(NamedTuple):
    """The error code a client gets, and which records it is about."""

    error: int
    faults: tuple[int, ...] = ()


@dataclass(slots=True)
class Append:
    """The place and the moment of an append, and the Produce version it came with."""

    version: int = 9
    base_offset: int = 0
    partition_leader_epoch: int = 0
    now_ms: int = 0


class KafkaRecords:
    """Asks the Java process. Not for use from several threads."""

    def __init__(self, questions: IO[bytes], answers: IO[bytes]) -> None:
        self._questions = questions
        self._answers = answers

    def judge(self, records: bytes, rules: AppendRules, append: Append) -> Appended | Refused:
        """What Kafka makes of a partition's records."""
        question = _QUESTION.pack(
            True,
            append.version,
            rules.max_message_bytes,
            rules.max_decompressed_message_bytes,
            bool(rules.message_timestamp_type),
            rules.message_timestamp_before_max_ms,
            rules.message_timestamp_after_max_ms,
            rules.is_compacted,
            -1 if rules.compression is None else rules.compression,
            append.base_offset,
            append.partition_leader_epoch,
            append.now_ms,
            len(records),
        )
        self._questions.write(question + records)
        self._questions.flush()
        if self._take(">?")[0]:
            max_timestamp, last_offset, size_bytes = self._take(">qqi")
            return Appended(max_timestamp, last_offset, self._answers.read(size_bytes))
        error, count = self._take(">hi")
        return Refused(error, self._take(f">{count}i"))

    def _take(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self._answers.read(struct.calcsize(layout)))


@contextmanager
def kafka_records() -> Iterator[KafkaRecords]:
    """The Java process, for the length of the `with`."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(), str(_PROGRAM)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin
    assert process.stdout
    with process:
        yield KafkaRecords(process.stdin, process.stdout)
        process.stdin.write(b"\0")
        process.stdin.close()
