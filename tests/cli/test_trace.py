"""`ottla trace`: pages of journals and of events."""

from __future__ import annotations

import json
from pathlib import Path

from ottla.testing.trace.of_file import read_traces
from tests.cli.stage import create, join
from tests.cli.terminal import only_line, ottla, serving
from tests.support.client import Client
from tests.testing.trace.test_of_file import LINE, TOLD


def test_page_of_a_journal(tmp_path: Path) -> None:
    """Beside it, with every event it has."""
    journal = tmp_path / "broker.jsonl"
    options = ("--journal", str(journal), "--set", "group.initial.rebalance.delay.ms=0")
    with serving(*options) as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 1)
        join(client, "billing", "orders", [0])
        assert broker.stop() == 0
    ended = ottla("trace", str(journal))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert only_line(ended.stdout) == str(tmp_path / "broker.html")
    (trace,) = read_traces(tmp_path / "broker.html")
    written = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
    assert [event["kind"] for event in trace["events"]] == written
    assert trace["note"] == ""


def test_two_files_are_compared(tmp_path: Path) -> None:
    """Of whatever kind each is, in one page; a page can be one of them."""
    (tmp_path / "events.txt").write_text(f"id: 9\ndata: {json.dumps(TOLD)}\n\n")
    (tmp_path / "journal.jsonl").write_text(json.dumps(LINE) + "\n")
    ended = ottla("trace", "events.txt", "--out", "a.html", cwd=tmp_path)
    assert only_line(ended.stdout) == "a.html"
    ended = ottla("trace", "a.html", "journal.jsonl", cwd=tmp_path)
    assert only_line(ended.stdout) == "a.compared.html"
    assert [trace["title"] for trace in read_traces(tmp_path / "a.compared.html")] == ["events.txt", "journal.jsonl"]


def test_what_cannot_be_done_is_said_in_a_line(tmp_path: Path) -> None:
    """No such file, no trace in it, a page over what it is made of, nowhere to write."""
    (tmp_path / "empty").write_text("")
    (tmp_path / "letter").write_text("Dear all,\n\nthis is a letter.\n")
    none = "ottla: no trace can be made of "
    (tmp_path / "journal.html").write_text(json.dumps(LINE))
    for arguments, exit_code, said in (
        (["none"], 1, "ottla: cannot read none: No such file or directory"),
        (["empty"], 2, f"{none}empty: nothing is in it yet; the first event in a group makes the first line"),
        (
            ["letter"],
            2,
            f"{none}letter: none of its lines (2) is of `ottla serve --journal FILE` or an event from GET /events",
        ),
        (["journal.html"], 2, "ottla: journal.html would be written over; say another one with --out"),
        (["journal.html", "--out", "empty/page.html"], 1, "ottla: cannot write empty/page.html: File exists"),
    ):
        ended = ottla("trace", *arguments, cwd=tmp_path)
        assert (ended.returncode, ended.stdout, only_line(ended.stderr)) == (exit_code, "", said)
