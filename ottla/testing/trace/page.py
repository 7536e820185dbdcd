"""The page of a trace: one file of HTML with all it needs in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.page import page, script_of, viewer_text
from ottla.testing.trace.document import TRACES

if TYPE_CHECKING:
    from ottla.control.state.decoded import Json

#: In the order in which they stand in the page: each knows those before it.
SCRIPTS: Final = (
    "words.js", "model.js", "spans.js", "compare.js", "axis.js", "marks.js", "lanes.js", "hands.js", "list.js",
    "details.js", "app.js",
)  # fmt: skip
_ROOM: Final = "ottla.testing.trace"


def page_of(traces: list[dict[str, Json]], title: str) -> str:
    """The page of a trace, or of two to compare, as HTML."""
    return page(
        title=title,
        style=viewer_text(_ROOM, "page.css"),
        body=viewer_text(_ROOM, "page.html"),
        data_id=TRACES,
        data=traces,
        script=script_of(_ROOM, SCRIPTS),
    )


def write_page(path: Path, traces: list[dict[str, Json]], title: str) -> None:
    """Write it, and the directories it is in. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(traces, title), "utf-8")
