"""The page of a trace: one file of HTML with all it needs in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.testing.trace.document import TRACES
from ottla.viewer.page import page, viewer_text

if TYPE_CHECKING:
    from ottla.control.state.decoded import Json

_ROOM: Final = "ottla.testing.trace"
OWN: Final = ("trace.css", "compare.js", "trace.js")


def page_of(traces: list[dict[str, Json]], title: str) -> str:
    """The page of a trace, or of two to compare, as HTML."""
    body = viewer_text(_ROOM, "trace.html")
    return page(title=title, package=_ROOM, own=OWN, body=body, data_id=TRACES, data=traces)


def write_page(path: Path, traces: list[dict[str, Json]], title: str) -> None:
    """Write it, and the directories it is in. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(traces, title), "utf-8")
