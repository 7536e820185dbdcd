"""The page of `ottla rebalances --html`, in a real Chromium: what a person sees of it, and does with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.test_rebalances import kitchen, rebalances
from tests.rebalances.journals import EMPTY, PREPARING, STABLE, Journal, walk
from tests.support.browser import Chromium, Page
from tests.testing.trace.scenes import HOSTILE

SIZE_MAX = 1_000_000
_CELLS = "[...document.querySelectorAll('#rebalances tbody tr:nth-child(%d) td')].map((cell) => cell.textContent)"
_VIEW = "[ottlaReport.axis.from, ottlaReport.axis.to]"
#: Where the mark of a rebalance is in the window.
_MARK = """(() => { const { lanes, axis, run } = ottlaReport, item = run.items[%d];
const box = lanes.canvas.getBoundingClientRect(), row = lanes.rows.find((one) => one.lane === item.lane);
return [box.left + lanes.labels + axis.x(axis.at(item)), box.top + 40 + row.top + 4] })()"""
#: How many pixels of the first lane, in the line below its states, have the colour of what is unread.
_UNREAD = """(() => { const { lanes } = ottlaReport, { canvas, context, colour } = lanes;
const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.silent.slice(at, at + 2), 16));
const { data } = context.getImageData(0, 40 + lanes.rows[0].top + 34, canvas.width, 1);
let count = 0;
for (let at = 0; at < data.length; at += 4)
  count += data[at] === red && data[at + 1] === green && data[at + 2] === blue;
return count })()"""


@contextmanager
def opened(chromium: Chromium, folder: Path, journal: Journal, *, dark: bool = False) -> Iterator[Page]:
    """The page of this journal. In the end its console has no error, and it loaded nothing."""
    path, page_path = folder / "broker.jsonl", folder / "page.html"
    path.write_text(journal.text)
    assert rebalances(path, "--html", page_path) == f"{page_path}\n"
    with chromium.open(page_path, dark=dark) as page:
        page.until("window.ottlaReport && !ottlaReport.lanes.isDue")
        yield page
        assert page.errors == []
        assert page.requested == [page_path.as_uri()]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_tells_what_happened(chromium: Chromium, tmp_path: Path, dark: bool) -> None:
    """A conclusion, its source, each rebalance with its causer and length, a lane for each group, the words used."""
    with opened(chromium, tmp_path, kitchen(), dark=dark) as page:
        text = page.evaluate("document.body.innerText")
        assert "In kitchen some partitions had no reader for 45.0 s; rebalancing itself took 31 ms." in text
        assert "broker.jsonl" in text
        assert "1970-01-01 00:00:00.000 to 1970-01-01 00:01:30.000 UTC, 1 min 30 s" in text
        when, *what = page.evaluate(_CELLS % 3)
        assert when == "1970-01-01 00:01:20.000"
        assert what == ["kitchen", "session_expired", "bo's app at 10.0.0.7", "21", "45,021", "completed"]
        assert page.evaluate("ottlaReport.run.lanes[0].spans.map((span) => span.labels[0])") == [
            "no members", *["members join again", "stable"] * 3,
        ]  # fmt: skip
        assert "a member was silent for its whole session timeout" in page.evaluate(
            "[...document.querySelectorAll('.terms dd')].map((term) => term.textContent)"
        )
        red = "parseInt(getComputedStyle(document.body).backgroundColor.slice(4))"
        assert (page.evaluate(red) < 128) == dark


def test_time_without_a_reader_is_drawn(chromium: Chromium, tmp_path: Path) -> None:
    """Below the states, from the last sign of life to the end of the rebalance: half of the journal's time."""
    with opened(chromium, tmp_path, kitchen()) as page:
        width = page.evaluate("ottlaReport.axis.width")
        assert page.evaluate(_UNREAD) == pytest.approx(45_021 / 90_000 / 1.04 * width, abs=6)


def test_a_rebalance_is_found_in_the_timeline_and_in_the_list(chromium: Chromium, tmp_path: Path) -> None:
    """A click on one shows the other; the mouse over it says what it was; buttons zoom, and go back to all of it."""
    with opened(chromium, tmp_path, kitchen()) as page:
        whole = page.evaluate(_VIEW)
        page.evaluate("document.querySelectorAll('#rebalances tbody tr')[1].click()")
        since, until = page.evaluate(_VIEW)
        assert since < 20_000
        assert until > 20_005
        assert until - since < 100
        assert page.evaluate("ottlaReport.lanes.selected.broker_ms") == 20_000
        page.evaluate("document.getElementById('fit').click()")
        assert page.evaluate(_VIEW) == whole
        page.point(*page.evaluate(_MARK % 2))
        assert page.evaluate("tip.textContent").startswith("kitchen: session_expired, bo's app at 10.0.0.7\n1970-01-01")
        page.click(*page.evaluate(_MARK % 2))
        assert page.evaluate("document.querySelector('#rebalances tr.chosen').rowIndex") == 3
        page.evaluate("document.getElementById('zoom-in').click()")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(_VIEW) == whole


def test_what_a_killed_broker_left_open_is_drawn_until_the_next(chromium: Chromium, tmp_path: Path) -> None:
    """It has no known end, and does not cover what came after it."""
    journal = Journal().add(0, "group.created", EMPTY).add(10, "group.rebalance.started", PREPARING)
    journal.add(90, "group.loaded", STABLE).rebalance(92, 95).add(100, "group.emptied", EMPTY)
    with opened(chromium, tmp_path, journal) as page:
        spans = "ottlaReport.run.lanes[0].spans.map((span) => [span.from.broker_ms, span.to.broker_ms])"
        assert page.evaluate(spans) == [[0, 10], [10, 90], [90, 92], [92, 95], [95, 95], [95, 100], [100, 100]]


def test_names_of_strangers_are_text(chromium: Chromium, tmp_path: Path) -> None:
    """Whatever a group, a client or a cause is called: it is shown, and nothing of it runs."""
    journal = Journal().add(1, "group.created", EMPTY, HOSTILE)
    about = {"member_id": HOSTILE, "client_id": HOSTILE, "client_host": HOSTILE, "cause": HOSTILE}
    journal.add(2, "group.member.joined", EMPTY, HOSTILE, **about)
    journal.add(3, "group.rebalance.started", PREPARING, HOSTILE, **about)
    journal.add(9, "group.emptied", EMPTY, HOSTILE)
    with opened(chromium, tmp_path, journal) as page:
        assert HOSTILE in page.evaluate("document.querySelector('#rebalances').textContent")
        page.point(*page.evaluate(_MARK % 0))
        assert page.evaluate("tip.textContent").startswith(f"{HOSTILE}: {HOSTILE}")
        x, y = page.evaluate("(({ left, top }) => [left + 20, top + 70])(lanes.getBoundingClientRect())")
        page.point(x, y)
        assert page.evaluate("tip.textContent") == HOSTILE
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("window.pwned === undefined")


def test_half_a_character_in_a_journal_is_shown_as_a_question_mark(tmp_path: Path) -> None:
    """JSON can say it; a file of UTF-8 can't."""
    path, page = tmp_path / "broker.jsonl", tmp_path / "page.html"
    path.write_text(Journal().add(1, "group.created", EMPTY, "kit\ud800chen").text)
    rebalances(path, "--html", page)
    assert "kit?chen" in page.read_text()


def test_page_stays_small(tmp_path: Path) -> None:
    """Of many rebalances it has the longest, and says so."""
    path, page = tmp_path / "broker.jsonl", tmp_path / "page.html"
    path.write_text(walk(seed=2, lines=20_000, groups=25).text)
    rebalances(path, "--html", page)
    html = page.read_text()
    assert len(html) < SIZE_MAX
    assert html.count("<tr>") > 1_000
    assert "Each rebalance (the 1,000 longest of " in html
