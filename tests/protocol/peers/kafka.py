"""Apache Kafka's own generated classes, run by a small Java program beside the tests.

It reads a frame and tells the values it found as Kafka's own JSON, what it left over, and the bytes it writes for the
same message. One process serves a whole test run; a question and its answer take about a tenth of a millisecond.
"""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from ottla.protocol.generate.schema import snake_case
from ottla.protocol.messages import APIS
from ottla.protocol.primitives import Message
from tests.protocol.strategies import FieldLayout, Kind, layout, struct_class

_CLIENTS: Final = "org.apache.kafka.common.message"
_COORDINATOR: Final = "org.apache.kafka.coordinator"
_INT: Final = struct.Struct(">i")
_API_MODULES: Final = {row[2] for row in APIS}


@dataclass(frozen=True, slots=True)
class Reading:
    """A frame that Kafka understood. `written` is None where Kafka can't write again what it read."""

    values: dict[str, Any]
    bytes_left: int
    written: bytes | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A frame that Kafka did not understand, and why; a broker would close the connection."""

    reason: str


class KafkaCodec:
    """Asks the Java process. Not for use from several threads."""

    def __init__(self, questions: IO[bytes], answers: IO[bytes], log: IO[bytes]) -> None:
        self._questions = questions
        self._answers = answers
        self._log = log

    def read(self, kind: Kind, version: int, frame: bytes) -> Reading | Refusal:
        """What Kafka makes of these bytes."""
        name = java_class(kind).encode()
        self._questions.write(_INT.pack(len(name)) + name + struct.pack(">hi", version, len(frame)) + frame)
        self._questions.flush()
        if self._exactly(1) == b"\0":
            return Refusal(self._bytes().decode())
        values = json.loads(self._bytes())
        bytes_left = self._int()
        written_bytes = self._int()
        return Reading(values, bytes_left, None if written_bytes < 0 else self._exactly(written_bytes))

    def _bytes(self) -> bytes:
        return self._exactly(self._int())

    def _int(self) -> int:
        (number,) = _INT.unpack(self._exactly(_INT.size))
        return int(number)

    def _exactly(self, count: int) -> bytes:
        data = self._answers.read(count)
        if len(data) < count:
            self._log.seek(0)
            raise RuntimeError(f"the Java process has ended:\n{self._log.read().decode()}")
        return data


@contextmanager
def kafka_codec(class_path: str) -> Iterator[KafkaCodec]:
    """The Java process, for the length of the `with`."""
    command = _command(class_path, "KafkaCodec")
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        assert process.stdin
        assert process.stdout
        yield KafkaCodec(process.stdin, process.stdout, log)
        process.stdin.close()


def error_codes(class_path: str) -> set[tuple[int, str, bool]]:
    """Kafka's `Errors`: number, name, retriable."""
    printed = subprocess.run(_command(class_path, "KafkaErrors"), capture_output=True, text=True, check=True).stdout
    lines = (line.split() for line in printed.splitlines())
    return {(int(number), name, retriable == "true") for number, name, retriable in lines}


def _command(class_path: str, program: str) -> list[str]:
    """Java compiles the file in passing."""
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path, str(Path(__file__).with_name(f"{program}.java"))]


def java_class(kind: Kind) -> str:
    """The name of Kafka's class for one of our messages."""
    module, name = kind.__module__.rpartition(".")[2], kind.__name__
    if module in _API_MODULES or name in {"RequestHeader", "ResponseHeader"}:
        return f"{_CLIENTS}.{name}Data"
    if name.endswith(("Key", "Value")):
        return f"{_COORDINATOR}.{'transaction' if name.startswith('Transaction') else 'group'}.generated.{name}"
    return f"{_CLIENTS}.{name}"


def assert_same_values(message: Message, version: int, values: dict[str, Any]) -> None:
    """Every field Kafka names has the value it has here, and what it doesn't name has its default here."""
    _assert_same_struct(type(message), message, version, values)


def _assert_same_struct(kind: Kind, struct: Message, version: int, values: dict[str, Any]) -> None:
    theirs = {snake_case(name.removesuffix("SizeInBytes")): value for name, value in values.items()}
    fields = {f.name: f for f in layout(type(struct), version)}
    assert theirs.keys() <= fields.keys()
    fresh = type(struct)()
    for name, field in fields.items():
        ours = getattr(struct, name)
        if name not in theirs:  # Kafka leaves out tagged fields that have their default
            assert version in field.tagged_versions
            assert ours == getattr(fresh, name)
        elif field.is_array and ours is not None:
            for item, their_item in zip(ours, theirs[name], strict=True):
                _assert_same_value(kind, field, version, item, their_item)
        else:
            _assert_same_value(kind, field, version, ours, theirs[name])


def _assert_same_value(kind: Kind, field: FieldLayout, version: int, ours: Any, theirs: Any) -> None:
    if ours is None:
        assert theirs is None, field.name
    elif struct_class(kind, field):
        _assert_same_struct(kind, ours, version, theirs)
    elif field.type == "uuid":
        assert ours == base64.urlsafe_b64decode(theirs + "=="), field.name
    elif field.type == "bytes":
        assert ours == base64.b64decode(theirs), field.name
    elif field.type == "records":
        assert len(ours) == theirs, field.name
    else:
        assert ours == (float(theirs) if field.type == "float64" else theirs), field.name
