"""Two transcripts, step by step: what was asked, what Kafka answered and what this broker did, where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from ottla.conformance import golden
from ottla.conformance.golden import Transcript
from ottla.conformance.script import Exempt
from ottla.conformance.transcript import Json

#: Stands where one of the two has nothing.
NOTHING: Final = "(nothing)"


@dataclass(frozen=True, slots=True)
class Field:
    """A place in the answer where the two are not the same."""

    path: str
    expected: Json
    got: Json


@dataclass(frozen=True, slots=True)
class StepDifference:
    """One step that is not the same. `step` counts from 0."""

    step: int
    said: str
    asked: Json
    expected: Json
    got: Json
    fields: tuple[Field, ...]


def compare(expected: Transcript, got: Transcript, exempt: Iterable[Exempt] = ()) -> list[StepDifference]:
    """The steps that differ in what is not exempt; what follows on the first may be its consequence."""
    fields = {exemption.field for exemption in exempt}
    pairs = zip_longest(golden.without(expected, fields), golden.without(got, fields))
    return [_differ(step, before, after) for step, (before, after) in enumerate(pairs) if before != after]


def _differ(step: int, expected: Json, got: Json) -> StepDifference:
    said, asked, kafkas = _parts(expected)
    said_here, asked_here, heard = _parts(got)
    if expected is None:
        said, asked = said_here, asked_here
    elif got is not None and (said, asked) != (said_here, asked_here):  # it was led elsewhere by what it heard before
        kafkas = {"who": said, "request": asked, "answer": kafkas}
        heard = {"who": said_here, "request": asked_here, "answer": heard}
        said, asked = "asked otherwise, by what was heard before", NOTHING
    return StepDifference(step, said, asked, kafkas, heard, tuple(_fields(kafkas, heard)))


def _parts(step: Json) -> tuple[str, Json, Json]:
    if isinstance(step, list):
        said, asked, heard = step
        return str(said), asked, heard
    return NOTHING, NOTHING, NOTHING


def _fields(expected: Json, got: Json, path: str = "") -> Iterator[Field]:
    """Where two values differ, as deep as they have the same shape."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in [*expected, *(name for name in got if name not in expected)]:
            inner = f"{path}.{name}" if path else name
            yield from _fields(expected.get(name, NOTHING), got.get(name, NOTHING), inner)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for index, (before, after) in enumerate(zip(expected, got, strict=True)):
            yield from _fields(before, after, f"{path}[{index}]")
    elif expected != got:
        yield Field(path or "answer", expected, got)
