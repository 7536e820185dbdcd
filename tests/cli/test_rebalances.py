"""`ottla rebalances`: what a journal says, in tables, as JSON, as a page; and what is said of other files."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from ottla.cli import main
from tests.rebalances.journals import EMPTY, PREPARING, STABLE, Journal, walk


def rebalances(*arguments: object) -> Any:
    """What the command prints with `--json`; else its text."""
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["rebalances", *map(str, arguments)]) == 0
    return json.loads(out.getvalue()) if "--json" in arguments else out.getvalue()


def kitchen() -> Journal:
    """Ana reads alone, bo comes, bo is killed."""
    journal = Journal().add(0, "group.created", EMPTY, "kitchen", cause="join")
    for t, member in ((1_000, "ana"), (20_000, "bo")):
        about = {"member_id": member, "client_id": f"{member}'s app", "client_host": "/10.0.0.7"}
        journal.add(t, "group.member.joined", EMPTY if t == 1_000 else STABLE, "kitchen", **about)
        journal.add(t, "group.rebalance.started", PREPARING, "kitchen", member_id=member, cause="member_joined")
        journal.add(t + 5, "group.rebalance.completed", STABLE, "kitchen", cause="member_joined")
    journal.killed(80_000, silent_ms=45_000, took_ms=21, group="kitchen")
    return journal.add(90_000, "group.member.rejoined", STABLE, "kitchen", member_id="ana")


def test_tables_for_people(tmp_path: Path) -> None:
    """A sentence, each rebalance with because of whom, and sums: 21 ms of unrest were 45 seconds without a reader."""
    journal = tmp_path / "broker.jsonl"
    journal.write_text(kitchen().text)
    said = rebalances(journal).splitlines()
    assert said[0] == (
        "1 group, 3 rebalances in 1 min 30 s. In kitchen some partitions had no reader for 45.0 s; rebalancing "
        "itself took 31 ms. What cost most: a member was silent for its whole session timeout (1 time, "
        "45.0 s unread), the longest because of bo's app at 10.0.0.7."
    )
    assert said[2:6] == [
        "STARTED (UTC)            GROUP    CAUSE            BECAUSE OF             UNSTABLE MS  UNREAD MS  OUTCOME",
        "1970-01-01 00:00:01.000  kitchen  member_joined    ana's app at 10.0.0.7            5          5  completed",
        "1970-01-01 00:00:20.000  kitchen  member_joined    bo's app at 10.0.0.7             5          5  completed",
        "1970-01-01 00:01:20.000  kitchen  session_expired  bo's app at 10.0.0.7            21      45021  completed",
    ]
    assert [line.split()[0] for line in said if line[:6] in ("GROUP ", "CAUSE ", "MEMBER")] == [
        "GROUP", "CAUSE", "MEMBER",
    ]  # fmt: skip


def test_a_group_that_the_journal_does_not_have_is_told_from_one_in_which_nothing_happened(tmp_path: Path) -> None:
    """A misspelt name is not an answer; also beside lines that cannot be read."""
    journal = tmp_path / "broker.jsonl"
    journal.write_text(kitchen().text + "torn\n")
    said = "No line of the journal is of a group that --group names. Without --group all groups are shown."
    assert rebalances(journal, "--group", "another") == f"{said}\n"
    rebalances(journal, "--group", "another", "--html", tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()


def test_a_journal_in_pieces_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order they are named, packed, in a folder, twice, or from stdin; and two brokers' are merged."""
    journal = walk(seed=1, lines=400)
    whole = tmp_path / "whole.jsonl"
    whole.write_text(journal.text)
    lines = journal.text.splitlines(keepends=True)
    rotated, merged = tmp_path / "rotated", tmp_path / "merged"
    for folder, pieces in ((rotated, (lines[:150], lines[150:])), (merged, (lines[::2], lines[1::2]))):
        folder.mkdir()
        (folder / "z.jsonl").write_text("".join(pieces[0]))
        (folder / "a.jsonl.gz").write_bytes(gzip.compress("".join(pieces[1]).encode()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(journal.text.encode())))
    expected = rebalances(whole, "--json")
    for arguments in ([rotated], [merged], [whole, whole], [rotated / "z.jsonl", rotated / "a.jsonl.gz"], ["-"]):
        assert {**rebalances(*arguments, "--json"), "sources": ["whole.jsonl"]} == expected


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A torn last line, a later version, and what is no journal's: passed over with a word."""
    journal = tmp_path / "broker.jsonl"
    others = [b"\xff\xfe", b"7", b'{"v":2}', b'{"v":1,"t":"x"}', b"[" * 100_000, b'{"v":1,"t":9,"gro']
    journal.write_bytes(kitchen().text.encode() + b"\n\n" + b"\n".join(others))
    found = rebalances(journal, "--json")
    assert (found["lines"], found["passed_over"], found["rebalance_count"]) == (17, 6, 3)
    assert capsys.readouterr().err == "ottla: 6 of 17 lines were passed over: they could not be read\n"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["none"], 1, "there is no journal none; `ottla serve --journal FILE` writes one"),
        (["empty-folder"], 1, "there is no journal in empty-folder; `ottla serve --journal FILE` writes one"),
        (["letter"], 1, "is no journal: none of its lines (2) is JSON as `ottla serve --journal FILE` writes it"),
        (["good", "letter"], 1, "is no journal: none of its lines (2) is JSON as"),
        (["letter.gz"], 1, "cannot read"),
        (["good", "--html", "good"], 2, "--html good would be written over a journal; name another file"),
        (["good", "--html", "none/page.html"], 1, "cannot write none/page.html: No such file or directory"),
        (["good", "--top", "-1"], 2, "--top -1 is below 0; it is how many groups to show"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str],
    exit_code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good").write_text(kitchen().text)
    Path("letter").write_text("Dear all,\n\nthis is a letter.\n")
    Path("letter.gz").write_text("and this is not packed")
    Path("empty-folder").mkdir()
    assert main(["rebalances", *arguments]) == exit_code
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1


def test_an_empty_journal_is_one(tmp_path: Path) -> None:
    """Nothing has happened yet: tables, JSON and the page say so."""
    journal, page = tmp_path / "broker.jsonl", tmp_path / "page.html"
    journal.write_text("")
    assert rebalances(journal) == "Nothing happened in any group.\n"
    assert rebalances(journal, "--json")["groups"] == []
    rebalances(journal, "--html", page)
    assert "Nothing happened in any group." in page.read_text()
