"""The trace of a file: a journal, a stream of events saved from GET /events, or a trace's page.

    {"v":1,"line":52,"t":…,"group":"orders","event":"group.rebalance.started",…}      a journal
    data: {"sequence":1041,"now_ms":9000,"kind":"node.missed",…}                       server-sent events
    {"sequence":1041,"now_ms":9000,"kind":"node.missed",…}                             the same without `data:`

Lines that are none of these are passed over: the last one of a journal may be cut off.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ottla.control.state.sentences import sentence
from ottla.events.kind import KINDS, Kind
from ottla.events.stream import Event
from ottla.testing.trace.document import TRACES, VERSION, Trace, TracedEvent, TracedRequest
from ottla.viewer.page import DATA_BEGIN, DATA_END

if TYPE_CHECKING:
    from ottla.control.state.decoded import Json

#: Of a line of the journal: what is not a detail of its event.
_LINE_KEYS: Final = ("v", "line", "t", "group", "seq", "event", "generation")


class NoTrace(ValueError):
    """A file that no trace can be made of; the text says why."""


def read_traces(path: Path) -> list[dict[str, Json]]:
    """The traces that are in this file, as JSON. Raises `NoTrace`, and `OSError`."""
    text = path.read_text("utf-8", errors="replace")
    if text.startswith("<!doctype html>"):
        return _of_page(text.partition(DATA_BEGIN.format(TRACES))[2].partition(DATA_END)[0])
    return [trace_of_lines(text.splitlines(), path.name).as_json()]


def _of_page(text: str) -> list[dict[str, Json]]:
    try:
        traces = json.loads(text)
    except ValueError:
        raise NoTrace("the page is not whole") from None
    if not isinstance(traces, list) or not all(isinstance(trace, dict) for trace in traces):
        raise NoTrace("there is no trace in it")
    for trace in traces:
        if trace.get("ottla_trace") != VERSION:
            raise NoTrace(f"its trace is of version {trace.get('ottla_trace')}, and only {VERSION} can be read")
    return traces


def trace_of_lines(lines: Iterable[str], title: str) -> Trace:
    """The trace of a journal, or of a stream of events. Raises `NoTrace`."""
    parsed, passed_over = [], 0
    for line in lines:
        value = _parsed(line)
        if value is None:
            passed_over += bool(line.strip()) and not line.startswith(("id:", "event:", ":"))
        else:
            parsed.append(value)
    is_journal = bool(parsed) and "event" in parsed[0]
    events, requests = [], []
    for told in map(_of_journal if is_journal else _of_stream, parsed):
        if told is None:
            passed_over += 1
        elif told.kind is Kind.REQUEST_HANDLED:
            requests.append(told)
        else:
            events.append(told)
    if not events and not requests:
        if not passed_over:
            raise NoTrace("nothing is in it yet; the first event in a group makes the first line")
        raise NoTrace(
            f"none of its lines ({passed_over:,}) is of `ottla serve --journal FILE` or an event from GET /events"
        )
    began = min((*events[:1], *requests[:1]), key=lambda event: event.now_ms)
    return Trace(
        title=title,
        source="journal" if is_journal else "events",
        began_wall_ms=began.wall_ms,
        events=[_traced(event, began.now_ms) for event in events],
        requests=[_traced_request(event, began.now_ms) for event in requests],
        has_requests=bool(requests),
        note=f"{passed_over} lines could not be read." if passed_over else "",
    )


def _parsed(line: str) -> dict[str, Any] | None:
    """The object in a line."""
    text = line.strip().removeprefix("data:").strip()
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _of_journal(line: dict[str, Any]) -> Event | None:
    kind = KINDS.get(str(line.get("event")))
    if kind is None or not _are_numbers(line, "t"):
        return None
    details = {key: value for key, value in line.items() if key not in _LINE_KEYS}
    details |= {"group_id": line.get("group"), "generation_id": line.get("generation")}
    if isinstance(members := line.get("member_ids"), list):
        details["members"] = len(members)
    return Event(line.get("line") or 0, line["t"], line["t"], None, kind, details)


def _of_stream(told: dict[str, Any]) -> Event | None:
    kind, details = KINDS.get(str(told.get("kind"))), told.get("details")
    if kind is None or not isinstance(details, dict) or not _are_numbers(told, "sequence", "now_ms", "wall_ms"):
        return None
    return Event(told["sequence"], told["now_ms"], told["wall_ms"], told.get("node_id"), kind, details)


def _are_numbers(values: dict[str, Any], *keys: str) -> bool:
    return all(isinstance(values.get(key), int) for key in keys)


def _traced(event: Event, began_ms: int) -> TracedEvent:
    return TracedEvent(
        event.sequence,
        None,
        event.now_ms - began_ms,
        event.kind.name,
        event.kind.level,
        event.node_id,
        _text(event.details.get("group_id")),
        _text(event.details.get("member_id")),
        _said(event),
        event.details,
    )


def _traced_request(event: Event, began_ms: int) -> TracedRequest:
    details = event.details
    return TracedRequest(
        real_ms=None,
        broker_ms=event.now_ms - began_ms,
        took_ms=details.get("duration_ms"),
        api=str(details.get("api")),
        api_version=details.get("api_version", 0),
        client_id=str(details.get("client_id")),
        client_host=str(details.get("client_host")),
        node_id=event.node_id,
        group_id=None,
        member_id=None,
        errors=[],
        is_answered=True,
    )


def _said(event: Event) -> str:
    try:
        return sentence(event)
    except (KeyError, TypeError):  # another program or an older version wrote the file
        return str(event.kind.name)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
