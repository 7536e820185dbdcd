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
    """What happened, for people."""
    details: Mapping[str, Json]

    def as_json(self) -> dict[str, Json]:
        return {
            "sequence": self.sequence,
            "real_ms": self.real_ms,
            "broker_ms": self.broker_ms,
            "kind": self.kind,
            "level": self.level,
            "node_id": self.node_id,
            "group_id": self.group_id,
            "member_id": self.member_id,
            "said": self.said,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """A request, and what it was answered."""

    real_ms: float | None
    broker_ms: float
    took_ms: float | None
    """In real time; None: it has no answer, or nobody knows."""
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
        return {
            "real_ms": self.real_ms,
            "broker_ms": self.broker_ms,
            "took_ms": self.took_ms,
            "api": self.api,
            "api_version": self.api_version,
            "client_id": self.client_id,
            "client_host": self.client_host,
            "node_id": self.node_id,
            "group_id": self.group_id,
            "member_id": self.member_id,
            "errors": self.errors,
            "is_answered": self.is_answered,
            "request": self.request,
            "answer": self.answer,
        }


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
    """How the test ended whose trace it is."""
    has_requests: bool = False
    """Whether requests were recorded."""
    lost: int = 0
    """How many events were before the first, and are not known any more."""
    note: str = ""
    """What else a reader should know."""

    def as_json(self) -> dict[str, Json]:
        return {
            "ottla_trace": VERSION,
            "title": self.title,
            "source": self.source,
            "outcome": self.outcome,
            "began_wall_ms": self.began_wall_ms,
            "has_requests": self.has_requests,
            "lost": self.lost,
            "note": self.note,
            "events": [event.as_json() for event in self.events],
            "requests": [request.as_json() for request in self.requests],
        }
