"""The trace of a broker in this process: its timeline, and the requests it has recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ottla.control.state.decoded import as_json
from ottla.events.kind import KINDS
from ottla.testing.trace.document import Trace, TracedEvent, TracedRequest

if TYPE_CHECKING:
    from ottla.control.state.requests import ReceivedRequest, RequestRecorder
    from ottla.control.state.timeline import History, Moment


def trace_of(
    history: History,
    recorder: RequestRecorder | None,
    *,
    title: str,
    outcome: Literal["passed", "failed"] | None = None,
) -> Trace:
    """All that is kept. recorder: None if requests were not recorded."""
    timeline = history.timeline()
    requests = [] if recorder is None else recorder.requests()
    has_all = recorder is None or recorder.has_all_since(history.began_ns)
    return Trace(
        title=title,
        source="broker",
        began_wall_ms=timeline[0].wall_ms - int(timeline[0].broker_s * 1000) if timeline else 0,
        events=[_event(moment) for moment in timeline],
        requests=[_request(received, history) for received in requests],
        outcome=outcome,
        has_requests=recorder is not None,
        lost=timeline.lost,
        note="" if has_all else "So many requests have come that the first were not kept.",
    )


def _event(moment: Moment) -> TracedEvent:
    return TracedEvent(
        moment.sequence,
        round(moment.real_s * 1000, 3),
        round(moment.broker_s * 1000),
        moment.kind,
        KINDS[moment.kind].level,
        moment.node_id,
        moment.group_id,
        moment.member_id,
        moment.said,
        moment.details,
    )


def _request(received: ReceivedRequest, history: History) -> TracedRequest:
    took_ms = received.answered_after_ms
    return TracedRequest(
        round((received.at_ns - history.began_ns) / 1e6, 3),
        received.now_ms - history.began_ms,
        None if took_ms is None else round(took_ms, 3),
        received.api,
        received.api_version,
        received.client_id,
        received.client_host,
        received.node_id,
        received.group_id,
        _member_id(received),
        received.errors,
        received.is_answered,
        as_json(received.request, received.api_version),
        as_json(received.answer, received.api_version),
    )


def _member_id(received: ReceivedRequest) -> str | None:
    """The member that sent it. A member without an id gets it in the answer."""
    return getattr(received.request, "member_id", None) or getattr(received.answer, "member_id", None) or None
