"""The trace as a document: what is in it, as JSON has it.

Times are milliseconds since the first thing that is told. There are two: *real* is the machine's, and unknown where a
file has not kept it; *broker* is the broker's own, which stands still or jumps where its clock is virtual.

Names and reasons in it come from clients, so nothing in it is trusted: a page shows it as text and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from ottla.control.state.decoded import Json

#: Of the document. New fields may come without it growing.
VERSION: Final = 1
#: The element of a page that has them.
TRACES: Final = "traces"

Source: TypeAlias = Literal["broker", "journal", "events"]


@dataclass(frozen=True, slots=True)
class TracedEvent:
    """Something that happened."""

    sequence: int
    real_ms: float | None
    broker_ms: float
    kind: str
    level: str | None
    """How bad: debug, info, warning, error; None: it is not logged."""
    node_id: int | None
    group_id: str | None
    member_id: str | None
    said: str
    """What happened, as a sentence."""
    details: Mapping[str, Json]

    def as_json(self) -> dict[str, Json]:
        return {**_fields(self), "details": dict(self.details)}


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """A request, and what it was answered."""

    real_ms: float | None
    broker_ms: float
    took_ms: float | None
    """In real time. None: it has no answer, or the time is not known."""
    api: str
    api_version: int
    client_id: str
    client_host: str
    node_id: int | None
    group_id: str | None
    member_id: str | None
    errors: list[str]
    """The names of all errors in its answer."""
    is_answered: bool
    request: Json = None
    """Decoded; None: only that it came is known."""
    answer: Json = None

    def as_json(self) -> dict[str, Json]:
        return _fields(self)


@dataclass(frozen=True, slots=True)
class Trace:
    """What a broker saw."""

    title: str
    source: Source
    began_wall_ms: int
    """When the first thing was, as the broker's date."""
    events: list[TracedEvent]
    requests: list[TracedRequest] = field(default_factory=list)
    outcome: Literal["passed", "failed"] | None = None
    """How the traced test ended."""
    has_requests: bool = False
    """Whether requests were recorded."""
    lost: int = 0
    """How many earlier events were dropped."""
    note: str = ""
    """A remark for the reader of the page."""

    def as_json(self) -> dict[str, Json]:
        return {
            "ottla_trace": VERSION,
            **_fields(self),
            "events": [event.as_json() for event in self.events],
            "requests": [request.as_json() for request in self.requests],
        }


def _fields(value: TracedEvent | TracedRequest | Trace) -> dict[str, Json]:
    return {name: getattr(value, name) for name in value.__slots__}
