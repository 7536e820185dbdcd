"""The page of a trace, in a real Chromium: what a person sees of it, and does with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from ottla.testing import Broker
from ottla.testing.trace.document import Trace
from ottla.testing.trace.page import write_page
from tests.support.browser import Chromium, Page
from tests.support.patience import PATIENCE_SECONDS
from tests.testing.consuming import consuming
from tests.testing.trace.scenes import HOSTILE, crowd, event, joined, kitchen, member_id, request

_LINES = "[...document.querySelectorAll('#list .line .what')].map((line) => line.textContent)"


@contextmanager
def opened(chromium: Chromium, folder: Path, *traces: Trace, dark: bool = False) -> Iterator[Page]:
    """The page of these traces. In the end its console has no error, and it asked nobody for anything."""
    path = folder / "page.html"
    write_page(path, [trace.as_json() for trace in traces], traces[0].title)
    with chromium.open(path, dark=dark) as page:
        page.until("window.ottlaTrace && !ottlaTrace.lanes.isDue")
        yield page
        assert page.errors == []
        assert page.requested == [path.as_uri()]


def test_page_shows_what_happened(chromium: Chromium, tmp_path: Path) -> None:
    """Its title, how the test ended, the list, a lane for each; polls when they are asked for."""
    with opened(chromium, tmp_path, kitchen()) as page:
        assert page.evaluate("document.title") == "test_kitchen"
        assert page.evaluate("outcome.textContent") == "failed"
        assert page.evaluate("summary.textContent").startswith("14 events · 3 requests")
        lines = page.evaluate(_LINES)
        assert lines[0] == "topic orders created, 1 partition"
        assert "OffsetCommit v3 → ILLEGAL_GENERATION" in lines
        assert not any(line.startswith("Fetch") for line in lines)
        lanes = page.evaluate("ottlaTrace.lanes.rows.map((row) => row.lane.label)")
        assert lanes == ["broker", "kitchen", "ana-0a1b2c3d", "bo-0a1b2c3d"]
        page.evaluate("document.querySelector('[data-kind=polls]').click()")
        assert "Fetch v3" in page.evaluate(_LINES)
        assert page.evaluate("ottlaTrace.lanes.rows.map((row) => row.lane.label)") == [*lanes, "ana"]


def test_lanes_have_generations_rebalances_and_silence(chromium: Chromium, tmp_path: Path) -> None:
    """The group's states with their causes; each member's life; and who was given up was silent for its session."""
    with opened(chromium, tmp_path, kitchen(second_cause="session_expired")) as page:
        states = page.evaluate("ottlaTrace.run.groups.get('kitchen').spans.map((span) => span.labels[0])")
        assert states == [name for number in (1, 2, 3) for name in ("rebalance", "sync", f"generation {number}")]
        causes = page.evaluate("ottlaTrace.run.groups.get('kitchen').spans.flatMap((span) => span.causes ?? [])")
        assert causes[-2:] == ["session_expired: bo-0a1b2c3d", "session_expired"]
        bo = "ottlaTrace.run.lanes.find((lane) => lane.client === 'bo')"
        assert page.evaluate(f"{bo}.spans.map((life) => [life.from.kind, life.to.kind])") == [
            ["group.member.joined", "group.member.removed"]
        ]
        assert page.evaluate(f"{bo}.silences.map((one) => [one.from.broker_ms, one.to.broker_ms])") == [[200, 45_200]]


def test_request_is_shown_on_click(chromium: Chromium, tmp_path: Path) -> None:
    """With the mouse in the lane, what was asked and answered is there, decoded."""
    with opened(chromium, tmp_path, kitchen()) as page:
        x, y = page.evaluate(
            "(() => { const { lanes, axis, run } = ottlaTrace;"
            "const item = run.items.find((one) => one.api === 'OffsetCommit');"
            "const row = lanes.rows.find((one) => one.lane === item.lane);"
            "const box = lanes.canvas.getBoundingClientRect();"
            "return [box.left + 210 + axis.x(axis.at(item)), box.top + 40 + row.top + row.height / 2] })()"
        )
        page.click(x, y)
        page.until("document.querySelector('#details h2')")
        said = page.evaluate("details.innerText")
        assert said.startswith("OffsetCommit v3")
        assert "committed_offset 7" in said
        assert "ILLEGAL_GENERATION (22)" in said
        selected = page.evaluate("document.querySelector('#list [aria-selected=true] .what').textContent")
        assert selected == "OffsetCommit v3 → ILLEGAL_GENERATION"


def test_list_is_filtered(chromium: Chromium, tmp_path: Path) -> None:
    """By text, also of a request's fields; by group, by member, by kind; Escape shows all again."""
    other = kitchen()
    bar = replace(other, events=[*other.events, joined(20, 50_000, "bar", "cy")])
    with opened(chromium, tmp_path, bar) as page:
        everything = page.evaluate(_LINES)
        page.press("/")
        page.write("COMMITTED_OFFSET")
        page.until("ottlaTrace.list.items.length === 1")
        assert page.evaluate(_LINES) == ["OffsetCommit v3 → ILLEGAL_GENERATION"]
        page.press("Escape")
        assert page.evaluate(_LINES) == everything
        choose = "%s.value = '%s'; %s.dispatchEvent(new Event('change'))"
        page.evaluate(choose % ("group", "bar", "group"))
        assert page.evaluate(_LINES) == ["joined: cy at /127.0.0.1"]
        page.press("Escape")
        page.evaluate(choose % ("member", member_id("bo"), "member"))
        assert "removed: member_left" in page.evaluate(_LINES)
        assert "joined: ana at /127.0.0.1" not in page.evaluate(_LINES)
        page.press("Escape")
        page.evaluate("document.querySelector('[data-kind=members]').click()")
        assert page.evaluate(_LINES) == [line for line in everything if not line.startswith(("joined", "removed"))]


def test_lanes_zoom_and_pan(chromium: Chromium, tmp_path: Path) -> None:
    """By buttons, by keys and by the wheel, around where the mouse is; and back to all of it."""
    with opened(chromium, tmp_path, kitchen()) as page:
        view = "[ottlaTrace.axis.from, ottlaTrace.axis.to]"
        whole = page.evaluate(view)
        page.evaluate("document.getElementById('zoom-in').click()")
        nearer = page.evaluate(view)
        assert nearer[0] > whole[0]
        assert nearer[1] < whole[1]
        page.evaluate("lanes.focus()")
        page.press("ArrowRight")
        assert page.evaluate(view)[0] > nearer[0]
        page.press("0")
        assert page.evaluate(view) == whole
        page.command("Input.dispatchMouseEvent", type="mouseWheel", x=900, y=300, deltaX=0, deltaY=-300, modifiers=2)
        page.until(f"{view}[1] < {whole[1]}")
        page.evaluate("document.querySelector('[data-axis=order]').click()")
        assert page.evaluate("ottlaTrace.axis.end") == page.evaluate("ottlaTrace.list.items.length")


def test_page_is_used_by_keys(chromium: Chromium, tmp_path: Path) -> None:
    """Down the list, to its end, and the details follow."""
    with opened(chromium, tmp_path, kitchen()) as page:
        page.evaluate("list.focus()")
        page.press("ArrowDown")
        page.press("ArrowDown")
        assert page.evaluate("document.querySelector('#details h2').textContent") == "joined: ana at /127.0.0.1"
        page.press("End")
        assert page.evaluate("list.getAttribute('aria-activedescendant')") == "line-16"


def test_two_runs_are_compared(chromium: Chromium, tmp_path: Path) -> None:
    """What they differ in first, without times and ids; two in one page, or one chosen as a file."""
    passed = replace(kitchen(), title="passed", outcome="passed")
    failed = kitchen(second_cause="session_expired")
    with opened(chromium, tmp_path, failed, passed) as page:
        said = page.evaluate("difference.innerText")
        assert "The first difference: group kitchen, after 8 equal steps" in said
        assert 'group.member.removed bo#1 cause="session_expired"' in said
        assert 'group.member.removed bo#1 cause="member_left"' in said
        page.evaluate("document.querySelectorAll('#difference button.step')[1].click()")
        assert page.evaluate("title.textContent") == "passed"
        assert page.evaluate("document.querySelector('#details h2').textContent") == "removed: member_left"
    later = replace(passed, events=[replace(one, real_ms=(one.real_ms or 0) + 7) for one in passed.events])
    write_page(tmp_path / "other.html", [later.as_json()], "other")
    (tmp_path / "none.html").write_text("no trace")
    with opened(chromium, tmp_path, passed) as page:
        assert page.evaluate("difference.hidden")
        page.choose_file("#file", tmp_path / "none.html")
        page.until("difference.innerText.includes('none.html cannot be compared')")
        page.choose_file("#file", tmp_path / "other.html")
        page.until("difference.innerText.includes('The two runs do not differ')")


def test_runs_are_compared_without_requests_if_one_has_none(chromium: Chromium, tmp_path: Path) -> None:
    """A journal knows none, and that is no difference between the runs."""
    journal = replace(kitchen(), requests=[], has_requests=False)
    with opened(chromium, tmp_path, kitchen(), journal) as page:
        assert "The two runs do not differ" in page.evaluate("difference.innerText")


def test_who_is_no_member_is_not_silent(chromium: Chromium, tmp_path: Path) -> None:
    """A member that asks seldom is; one that was removed may ask whenever it wants."""
    about = {"group_id": "kitchen", "member_id": member_id("bo"), "client_id": "bo"}
    beats = [request("Heartbeat", at_ms, **about) for at_ms in (60, 30_000, 31_000, 46_000, 90_000)]
    with opened(chromium, tmp_path, replace(kitchen(), requests=beats)) as page:
        bo = "ottlaTrace.run.lanes.find((lane) => lane.client === 'bo')"
        spans = page.evaluate(f"{bo}.silences.map((one) => [one.from.broker_ms, one.to.broker_ms])")
        assert spans == [[60, 30_000]]


def test_silence_is_as_long_as_the_broker_says(chromium: Chromium, tmp_path: Path) -> None:
    """A test may end a session before its time; where nothing is said, it was the session timeout."""
    given_up = kitchen(second_cause="session_expired")
    events = [
        replace(one, details={**one.details, "silent_ms": 3_000}) if one.kind == "group.member.removed" else one
        for one in given_up.events
    ]
    for trace, since in ((replace(given_up, events=events), 42_200), (given_up, 200)):
        with opened(chromium, tmp_path, trace) as page:
            bo = "ottlaTrace.run.lanes.find((lane) => lane.client === 'bo')"
            assert page.evaluate(f"{bo}.silences.map((one) => one.from.broker_ms)") == [since]


def test_names_of_strangers_are_text(chromium: Chromium, tmp_path: Path) -> None:
    """Whatever a client calls itself, its group, its records: it is shown, and nothing of it runs."""
    about = {"group_id": HOSTILE, "member_id": HOSTILE}
    hostile = Trace(
        HOSTILE,
        "broker",
        0,
        [event(1, "group.member.joined", 0, HOSTILE, client_id=HOSTILE, reason=HOSTILE, **about)],
        [request("Produce", 1, client_id=HOSTILE, request={HOSTILE: HOSTILE}, answer=[HOSTILE], **about)],
        has_requests=True,
        note=HOSTILE,
    )
    with opened(chromium, tmp_path, hostile, replace(hostile, requests=[])) as page:
        page.evaluate("ottlaTrace.select(ottlaTrace.run.items[1])")
        assert HOSTILE in page.evaluate("details.innerText")
        assert page.evaluate("title.textContent") == page.evaluate("document.title") == HOSTILE
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("window.pwned === undefined")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_follows_the_colours_of_the_system(chromium: Chromium, tmp_path: Path, dark: bool) -> None:
    """Text stands out from what is behind it as accessibility wants it, 4.5 to 1, in the lanes too."""
    with opened(chromium, tmp_path, kitchen(), dark=dark) as page:
        luminance = (
            "((name) => { const style = getComputedStyle(document.documentElement).getPropertyValue(name).trim();"
            "const parts = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16) / 255)"
            ".map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);"
            "return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] })"
        )
        for text, behind in (
            ("text", "panel"), ("text", "page"), ("text", "chosen"), ("faint", "panel"), ("faint", "page"),
            ("accent", "panel"), ("accent", "chosen"), ("bad", "panel"), ("bad", "chosen"), ("fault", "panel"),
            ("time", "panel"), ("on-band", "gen-a"), ("on-band", "gen-b"), ("on-rebalance", "rebalance"),
            ("on-rebalance", "syncing"),
        ):  # fmt: skip
            one, other = page.evaluate(f"[{luminance}('--{text}'), {luminance}('--{behind}')]")
            assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5, (text, behind)
        assert (page.evaluate(f"{luminance}('--page')") < 0.2) == dark
        assert page.evaluate("ottlaTrace.lanes.colour.panel === getComputedStyle(document.documentElement)"
                             ".getPropertyValue('--panel').trim()")  # fmt: skip


def test_fifty_thousand_events_are_there_and_answer(chromium: Chromium, tmp_path: Path) -> None:
    """All can be reached, searched and selected, while only the rows in view are elements. bench/ says how fast."""
    with opened(chromium, tmp_path, crowd(50_000)) as page:
        assert page.evaluate("count.textContent") == "50,000 of 50,000 shown"
        assert page.evaluate("document.querySelectorAll('#list .line').length") < 100
        page.evaluate("list.focus()")
        page.press("End")
        page.until("document.querySelector('#line-49999[aria-selected=true]')")
        page.evaluate("search.value = 'client-3-8'; search.dispatchEvent(new Event('input'))")
        page.until("ottlaTrace.list.items.length < 5000 && ottlaTrace.list.items.length > 100")
        page.evaluate("ottlaTrace.axis.zoom(0.01); ottlaTrace.lanes.redraw()")
        page.until("!ottlaTrace.lanes.isDue")


def test_real_consumer_is_traced(chromium: Chromium, tmp_path: Path) -> None:
    """From what a broker has recorded to what is on the page: its subscription, its assignment, the record it got."""
    got = Event()
    with Broker(record_requests=True) as kafka:
        kafka.topic("orders").create().produce("soup")
        with consuming(kafka.bootstrap_servers, "kitchen", "orders", on_message=lambda _consumer, _message: got.set()):
            assert got.wait(PATIENCE_SECONDS)
        kafka.wait_until_idle()
    with opened(chromium, tmp_path, kafka.trace("kitchen")) as page:
        for api, wanted in (("JoinGroup", "metadata"), ("SyncGroup", "assigned_partitions"), ("Fetch", "soup")):
            has = f"JSON.stringify([item.request, item.answer]).includes('{wanted}')"
            found = f"ottlaTrace.run.items.find((item) => item.api === '{api}' && {has})"
            page.evaluate(f"ottlaTrace.select({found})")
            assert wanted in page.evaluate("details.innerText")
        ana = "ottlaTrace.run.lanes.find((lane) => lane.client === 'ana' && lane.kind === 'member')"
        assert page.evaluate(f"{ana}.spans.map((life) => life.to.text)") == ["removed: member_left"]


def test_trace_without_anything_is_a_page_too(chromium: Chromium, tmp_path: Path) -> None:
    """Of a broker that nobody has used."""
    with opened(chromium, tmp_path, Trace("nothing", "broker", 0, [])) as page:
        assert page.evaluate("count.textContent") == "0 of 0 shown"
        assert page.evaluate("note.textContent") == "Requests were not recorded."
