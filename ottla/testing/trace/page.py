"""The page of a trace: one file of HTML with all it needs in it.

It asks for nothing from anywhere, and a policy in its head has the browser hold it to that: the only script that runs
is the one that stands here, by its hash, whatever names clients have given themselves.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.testing.trace.document import as_text
from ottla.testing.trace.of_file import PAGE_BEGIN, PAGE_END

if TYPE_CHECKING:
    from ottla.broker.state.decoded import Json

#: In the order in which they stand in the page: each knows those before it.
SCRIPTS: Final = (
    "words.js", "model.js", "spans.js", "compare.js", "axis.js", "marks.js", "lanes.js", "hands.js", "list.js",
    "details.js", "app.js",
)  # fmt: skip
_STYLE: Final = "page.css"
_BODY: Final = "page.html"


def page_of(traces: list[dict[str, Json]], title: str) -> str:
    """The page of a trace, or of two to compare, as HTML."""
    script, style = _script(), _viewer_text(_STYLE)
    policy = f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            _viewer_text(_BODY),
            f"{PAGE_BEGIN}{as_text(traces)}{PAGE_END}",
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def write_page(path: Path, traces: list[dict[str, Json]], title: str) -> None:
    """Write it, and the directories it is in. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(traces, title), "utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_viewer_text(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def _viewer_text(name: str) -> str:
    return (files("ottla.testing.trace") / "viewer" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
