"""What one request may cost, and has cost so far: elements, texts, what it unpacks to, bytes of its answer.

A request of a few kilobytes can ask for gigabytes, of memory and of an answer. Where something is read, unpacked or
written, it is counted first (`charges`), and what goes beyond a bound is `TooCostly`: the connection is closed with the
reason. Nothing here knows whose turn it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import filterfalse, groupby
from typing import Final, NoReturn, TypeAlias

Part: TypeAlias = bytes | bytearray | memoryview
#: What an answer is written to.
Parts: TypeAlias = list[Part]

#: `isinstance(part, memoryview)`, for loops that Python does not run.
_is_view: Final = memoryview.__instancecheck__
#: So many parts of an answer are made one.
JOINED_PARTS: Final = 512
#: A request that has had more elements than this is heavy: megabytes of it are in memory. Only one goes on.
HEAVY_ELEMENTS: Final = 10_000

MIB: Final = 1024 * 1024
#: Elements of arrays and tagged fields in one request; short arrays within others count as well. Each costs some
#: hundred bytes and some microseconds more than it has on the wire. Kafka 4.4 allows a million in each array.
REQUEST_ELEMENTS_MAX: Final = 100_000
#: What the texts in the longer arrays of one request take in memory: up to four bytes a letter, if one is rare enough.
TEXT_BYTES_MAX: Final = 24 * MIB
#: Elements of the longer arrays in one answer, which may tell of all there is.
ANSWER_ELEMENTS_MAX: Final = 500_000
#: Bytes of one answer, apart from records, which are views of the log. More than the largest request has: the leader of
#: a group is told all that its members have sent.
ANSWER_BYTES_MAX: Final = 128 * MIB
#: What the compressed batches of a request may unpack to, together: so much, or so many times its size if that is more.
UNPACKED_BYTES_MAX: Final = 100 * MIB
UNPACKED_TIMES_MAX: Final = 16
#: And to how many records. Alike ones take no space, and each costs as long as any other.
UNPACKED_RECORDS_MAX: Final = 1_000_000
BYTES_PER_RECORD: Final = 10
#: Records of a request that are named as refused, each with the reason.
FAULTS_MAX: Final = 10_000


class TooCostly(Exception):
    """A request or its answer goes beyond what one may cost; the text says what."""


class Costs:
    """What a request may still cost."""

    #: These hold until `begin`: not every fiber is made for a request.
    elements = elements_max = ANSWER_ELEMENTS_MAX
    faults = FAULTS_MAX
    text_bytes = TEXT_BYTES_MAX
    unpacked_bytes = UNPACKED_BYTES_MAX
    unpacked_records = UNPACKED_RECORDS_MAX
    #: Which parts the answer is written to; 0: it is not begun.
    answer_id = 0

    @property
    def is_heavy(self) -> bool:
        """Whether the request, or its answer once that is begun, takes much memory."""
        return self.elements_max - self.elements > HEAVY_ELEMENTS

    def begin(self, request_bytes: int) -> None:
        """A request of so many bytes is taken up."""
        self.elements = self.elements_max = REQUEST_ELEMENTS_MAX
        self.faults = FAULTS_MAX
        self.text_bytes = TEXT_BYTES_MAX
        self.unpacked_bytes = max(UNPACKED_BYTES_MAX, UNPACKED_TIMES_MAX * request_bytes)
        self.unpacked_records = max(UNPACKED_RECORDS_MAX, request_bytes // BYTES_PER_RECORD)

    def begin_answer(self, parts: Parts) -> None:
        """Its answer is about to be written, to these parts."""
        self.elements = self.elements_max = ANSWER_ELEMENTS_MAX
        self.answer_id = id(parts)
        #: What it may still have.
        self.answer_bytes = ANSWER_BYTES_MAX
        #: How many of its parts are counted, and how many are as few as they can be.
        self.parts_counted = self.parts_joined = len(parts)

    def count(self, parts: Parts) -> None:
        """Count what was written since the last time, and make few parts of it. Raises `TooCostly`.

        There may be a million of them: to go through all at the end would take as long as a slice may not.
        """
        if id(parts) != self.answer_id:
            return  # the inside of a tagged field, which becomes one part
        self.answer_bytes -= own_bytes(parts[self.parts_counted :])
        if self.answer_bytes < 0:
            fail_long_answer()
        if len(parts) - self.parts_joined >= JOINED_PARTS:
            parts[self.parts_joined :] = join_own(parts[self.parts_joined :])
            self.parts_joined = len(parts)
        self.parts_counted = len(parts)


def join_own(parts: Parts) -> Parts:
    """The same bytes in as few parts as may be: records, which are views of the log, are not copied."""
    if memoryview not in set(map(type, parts)):
        return [b"".join(parts)]
    joined: Parts = []
    for kind, group in groupby(parts, key=type):
        if kind is memoryview:
            joined += group
        else:
            joined.append(b"".join(group))
    return joined


def own_bytes(parts: Iterable[Part]) -> int:
    """How long these parts of an answer are together, without records: views of the log are not our own memory."""
    return sum(map(len, filterfalse(_is_view, parts)))


def fail_long_answer() -> NoReturn:
    raise TooCostly(f"it has more than {ANSWER_BYTES_MAX} bytes")
