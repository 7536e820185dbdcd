"""Traces of files: journals, saved events, pages."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from ottla.testing.trace.of_file import NoTrace, read_traces, trace_of_lines
from ottla.testing.trace.page import OWN, page_of
from ottla.viewer.page import SCRIPTS, STYLES, as_text
from tests.testing.trace.scenes import HOSTILE, kitchen

LINE = {
    "v": 1,
    "line": 5,
    "t": 1_000,
    "group": "kitchen",
    "seq": 2,
    "event": "group.rebalance.started",
    "generation": 1,
}
TOLD = {"sequence": 9, "now_ms": 500, "wall_ms": 10_500, "node_id": 2, "kind": "node.missed", "details": {}}


def test_journal_becomes_a_trace() -> None:
    """Times count from its first line; lines that cannot be read are counted."""
    lines = [
        json.dumps({**LINE, "cause": "member_joined", "member_id": "ana-1"}),
        json.dumps({**LINE, "t": 1_250, "event": "group.rebalance.joined", "member_ids": ["ana-1"], "leader": "ana-1"}),
        '{"v":1,"line":7,"t":13',
        json.dumps({**LINE, "event": "group.from.the.future"}),
        json.dumps({**LINE, "t": "noon"}),
    ]
    trace = trace_of_lines(lines, "broker.jsonl")
    assert (trace.source, trace.title, trace.began_wall_ms) == ("journal", "broker.jsonl", 1_000)
    first, second = trace.events
    assert (first.broker_ms, first.real_ms, first.group_id, first.member_id) == (0, None, "kitchen", "ana-1")
    assert first.said == "rebalance started: member_joined"
    assert (second.broker_ms, second.said[:26]) == (250, "generation 1: 1 member, le")
    assert trace.note == "3 lines could not be read."


@pytest.mark.parametrize("prefix", ["", "data: "], ids=["a line each", "server-sent"])
def test_events_become_a_trace(prefix: str) -> None:
    """As GET /events sends them, and with requests if they were asked for."""
    asked = {"api": "Heartbeat", "api_version": 4, "client_id": "ana", "client_host": "/127.0.0.1", "duration_ms": 0.5}
    handled = {**TOLD, "sequence": 10, "now_ms": 620, "kind": "request.handled", "details": asked}
    lines = ["id: 9", "event: node.missed", f"{prefix}{json.dumps(TOLD)}", "", f"{prefix}{json.dumps(handled)}"]
    trace = trace_of_lines(lines, "events")
    (missed,), (beat,) = trace.events, trace.requests
    assert (missed.kind, missed.node_id, missed.broker_ms, missed.level) == ("node.missed", 2, 0, "warning")
    assert (beat.api, beat.client_id, beat.broker_ms, beat.took_ms, beat.request) == (
        "Heartbeat",
        "ana",
        120,
        0.5,
        None,
    )
    assert trace.note == ""


@pytest.mark.parametrize("text", ["", "what?\n", "[1]\n", '{"event": "no.such"}\n', "<!doctype html><p>", "{" * 5000])
def test_what_is_no_trace_is_said_so(tmp_path: Path, text: str) -> None:
    """Whatever it is."""
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(NoTrace):
        read_traces(path)


def test_page_is_read_back(tmp_path: Path) -> None:
    """What was written, whatever names are in it; one of another version is refused."""
    trace = {**kitchen().as_json(), "title": HOSTILE}
    path = tmp_path / "page.html"
    path.write_text(page_of([trace], "kitchen"))
    assert read_traces(path) == [trace]
    path.write_text(page_of([{**trace, "ottla_trace": 2}], "kitchen"))
    with pytest.raises(NoTrace, match="of version 2, and only 1 can be read"):
        read_traces(path)


def test_page_has_all_of_the_viewer() -> None:
    """Each of its files, once; a file that no page has is no part of it."""
    own = {file.name for file in (files("ottla.testing.trace") / "viewer").iterdir()}
    assert own == {*OWN, "trace.html"}
    shared = {file.name for file in files("ottla.viewer").iterdir() if file.name.endswith((".js", ".css"))}
    assert shared == {*SCRIPTS, *STYLES}
    page = page_of([], "none")
    assert page.count("class Lanes {") == page.count("--gen-a: #bfe3d8") == page.count('id="lanes"') == 1


def test_document_can_stand_in_a_page() -> None:
    """No name in it ends the element it is in."""
    text = as_text([{**kitchen().as_json(), "title": HOSTILE}])
    assert not set("<>&") & set(text)
    assert json.loads(text)[0]["title"] == HOSTILE
