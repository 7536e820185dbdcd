"""What is told on stderr while a command works: by a long check, and by a job on Spark."""

from __future__ import annotations

import io
import sys

import pytest

from ottla.pipeline.progress import Progress
from ottla.terminal import news


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_line_that_changes_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the next of its kind, and to one that stays; it is no longer than a line, and nothing in it is obeyed."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    news.tell_for_now("1 of 2")
    news.tell_for_now("2 of \x1b[2J" + "2" * 200)
    Progress("mirror").step("reading orders")
    news.tell("done")
    news.tell_for_now("")
    shown = (r"2 of \x1b[2J" + "2" * 200)[:100]
    lines = ["1 of 2", shown, "ottla mirror: reading orders\n", "ottla: done\n", ""]
    assert terminal.getvalue() == "".join(f"\r\x1b[K{line}" for line in lines)


def test_only_lines_that_stay_go_into_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    news.tell_for_now("1 of 2")
    Progress("mirror").step("reading orders")
    news.tell_for_now("")
    assert capsys.readouterr().err == "ottla mirror: reading orders\n"


def test_nobody_is_told_where_there_is_no_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under pythonw, or a service that has closed it."""
    monkeypatch.setattr(sys, "stderr", None)
    news.tell("done")
    news.tell_for_now("1 of 2")
    assert not news.is_live()
