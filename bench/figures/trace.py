"""How fluid the page of a trace is: 50,000 events in a headless Chromium, which draws without a graphics card.

A frame is what passes from one to the next while the lanes are zoomed and panned in each, at all of it and at a tenth
of it, by steps, where marks are densest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.broker import Broker as Peer
from bench.broker import UnableError
from bench.figures.figure import Figure, Row, Values
from ottla.testing.trace.page import write_page
from tests.support.browser import Page, browser, find_browser
from tests.testing.trace.scenes import crowd

EVENTS = 50_000
FRAMES = 120

SIZE = Row(f"page of {EVENTS:,} events, MB", digits=1, smaller_is_better=True)
LOAD = Row("… from opening it to its first frame, ms", smaller_is_better=True)
FRAME = Row("… a frame while all of it is zoomed and panned: median, ms", 1, True, goal="≤ 50")
FRAME_WORST = Row("… 95 of 100 frames, ms", digits=1, smaller_is_better=True, goal="≤ 50")
SEARCH = Row("… a first search in all of them, ms", smaller_is_better=True)

_MOVE = """new Promise((done) => {
  const took = [], { axis, lanes } = ottlaTrace;
  let last = performance.now();
  const step = () => {
    const now = performance.now();
    took.push(now - last);
    last = now;
    if (took.length > %d) return done(took.slice(1).sort((one, other) => one - other));
    if (took.length === %d) axis.zoom(0.1);
    axis.zoom(took.length %% 2 ? 0.95 : 1 / 0.95);
    axis.pan(took.length %% 9 - 4);
    lanes.redraw();
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def measure(broker: Peer, seconds: float) -> Values:
    path = find_browser()
    if broker.peer != "ottla" or path is None:
        raise UnableError("there is no page, or no Chromium to show it")
    with tempfile.TemporaryDirectory() as folder, browser(path) as chromium:
        file = Path(folder) / "page.html"
        write_page(file, [crowd(EVENTS).as_json()], "crowd")
        with chromium.open(file) as page:
            page.until("window.ottlaTrace && !ottlaTrace.lanes.isDue")
            load_ms = page.evaluate("performance.now()")
            frames = _frames(page)
            began = "const began = performance.now(); ottlaTrace.setFilter('text', 'client-3-8')"
            search_ms = page.evaluate(f"(() => {{ {began}; return performance.now() - began; }})()")
        return {
            SIZE.title: file.stat().st_size / 1e6,
            LOAD.title: load_ms,
            FRAME.title: frames[len(frames) // 2],
            FRAME_WORST.title: frames[len(frames) * 95 // 100],
            SEARCH.title: search_ms,
        }


def _frames(page: Page) -> list[float]:
    page.evaluate("ottlaTrace.setMode('order')")
    frames: list[float] = page.evaluate(_MOVE % (FRAMES, FRAMES // 2))
    return frames


FIGURE = Figure("trace", (SIZE, LOAD, FRAME, FRAME_WORST, SEARCH), measure)
