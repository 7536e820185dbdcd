"""The page of `ottla rebalances --html`, in a real Chromium: what a person sees of it, and does with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.journals import EMPTY, PREPARING, Journal, walk
from tests.cli.test_rebalances import kitchen, rebalances
from tests.support.browser import Chromium, Page
from tests.testing.trace.scenes import HOSTILE

SIZE_MAX = 1_000_000
_CELLS = "[...document.querySelectorAll('#rebalances tbody tr:nth-child(%d) td')].map((cell) => cell.textContent)"
_VIEW = "[ottlaTimeline.axis.from, ottlaTimeline.axis.to]"


@contextmanager
def opened(chromium: Chromium, folder: Path, journal: Journal, *, dark: bool = False) -> Iterator[Page]:
    """The page of this journal. In the end its console has no error, and it asked nobody for anything."""
    path, page_path = folder / "broker.jsonl", folder / "page.html"
    path.write_text(journal.text)
    assert rebalances(path, "--html", page_path) == f"{page_path}\n"
    with chromium.open(page_path, dark=dark) as page:
        page.until("document.querySelector('#timeline svg')")
        yield page
        assert page.errors == []
        assert page.requested == [page_path.as_uri()]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_tells_what_happened(chromium: Chromium, tmp_path: Path, dark: bool) -> None:
    """A conclusion, where it is from, each rebalance with who and how long, a lane for each group, the words used."""
    with opened(chromium, tmp_path, kitchen(), dark=dark) as page:
        text = page.evaluate("document.body.innerText")
        assert "In kitchen some partitions had no reader for 45.0 s; rebalancing itself took 31 ms." in text
        assert "broker.jsonl" in text
        assert "1970-01-01 00:00:00.000 to 1970-01-01 00:01:30.000 UTC, 1 min 30 s" in text
        when, *what = page.evaluate(_CELLS % 3)
        assert when == "1970-01-01 00:01:20.000"
        assert what == ["kitchen", "session_expired", "bo's app at 10.0.0.7", "21", "45,021", "completed"]
        assert page.evaluate("document.querySelectorAll('#timeline path.mark').length") == 3
        assert "a member was silent for its whole session timeout" in page.evaluate(
            "[...document.querySelectorAll('.terms dd')].map((term) => term.textContent)"
        )
        red = "parseInt(getComputedStyle(document.body).backgroundColor.slice(4))"
        assert (page.evaluate(red) < 128) == dark


def test_time_without_a_reader_is_drawn(chromium: Chromium, tmp_path: Path) -> None:
    """Below the states, from the last sign of life to the end of the rebalance: half of the journal's time."""
    with opened(chromium, tmp_path, kitchen()) as page:
        widths = page.evaluate(
            "document.querySelector('path.unread').getAttribute('d').match(/(?<=h)[0-9.]+/g).map(Number)"
        )
        assert widths[2] == pytest.approx(45_021 / 90_000 / 1.02 * page.evaluate("ottlaTimeline.width"), rel=0.01)


def test_a_rebalance_is_found_in_the_timeline_and_in_the_list(chromium: Chromium, tmp_path: Path) -> None:
    """A click on one shows the other; buttons zoom, and go back to all of it."""
    with opened(chromium, tmp_path, kitchen()) as page:
        whole = page.evaluate(_VIEW)
        page.evaluate("document.querySelectorAll('#rebalances tbody tr')[1].click()")
        since, until = page.evaluate(_VIEW)
        assert since < 20_000
        assert until > 20_005
        assert until - since < 100
        assert page.evaluate("document.querySelectorAll('.mark.chosen').length") == 1
        page.evaluate("document.getElementById('fit').click()")
        assert page.evaluate(_VIEW) == whole
        page.evaluate("document.querySelectorAll('#timeline path.mark')[2].dispatchEvent(new MouseEvent('click'))")
        assert page.evaluate("document.querySelector('#rebalances tr.chosen').rowIndex") == 3
        page.evaluate("document.getElementById('zoom-in').click()")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(_VIEW) == whole


def test_names_of_strangers_are_text(chromium: Chromium, tmp_path: Path) -> None:
    """Whatever a group, a client or a cause is called: it is shown, and nothing of it runs."""
    journal = Journal().add(1, "group.created", EMPTY, HOSTILE)
    about = {"member_id": HOSTILE, "client_id": HOSTILE, "client_host": HOSTILE, "cause": HOSTILE}
    journal.add(2, "group.member.joined", EMPTY, HOSTILE, **about)
    journal.add(3, "group.rebalance.started", PREPARING, HOSTILE, **about)
    journal.add(9, "group.emptied", EMPTY, HOSTILE)
    with opened(chromium, tmp_path, journal) as page:
        assert HOSTILE in page.evaluate("document.querySelector('#rebalances').textContent")
        assert HOSTILE in page.evaluate("document.querySelector('#timeline title').textContent")
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("window.pwned === undefined")


def test_half_a_character_in_a_journal_is_shown_as_a_question_mark(tmp_path: Path) -> None:
    """JSON can say it; a file of UTF-8 can't."""
    path, page = tmp_path / "broker.jsonl", tmp_path / "page.html"
    path.write_text(Journal().add(1, "group.created", EMPTY, "kit\ud800chen").text)
    rebalances(path, "--html", page)
    assert "kit?chen" in page.read_text()


def test_page_stays_small(tmp_path: Path) -> None:
    """Of more rebalances than anybody looks at it has the longest, and says so."""
    path, page = tmp_path / "broker.jsonl", tmp_path / "page.html"
    path.write_text(walk(seed=2, lines=20_000, groups=25).text)
    rebalances(path, "--html", page)
    html = page.read_text()
    assert len(html) < SIZE_MAX
    assert html.count("<tr>") > 1_000
    assert "Each rebalance (the 1,000 longest of " in html
