"""A page of HTML with all it needs in it: the trace's, and the report's of rebalances. Knows nothing of either.

It asks for nothing from anywhere, and a policy in its head has the browser hold it to that: the only script that runs
is the one that stands here, by its hash, whatever names clients have given themselves. Light or dark is the reader's
choice; colours.css has the colours of both.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files

#: What stands before, and behind, the data in a page.
DATA_BEGIN = '<script type="application/json" id="{}">'
DATA_END = "</script>"


def page(*, title: str, style: str, body: str, data_id: str, data: object, script: str) -> str:
    """The page as HTML. `body` is HTML, `style` CSS; `script` finds `data` in the element `data_id`."""
    style = colours() + style
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
            body,
            f"{DATA_BEGIN.format(data_id)}{as_text(data)}{DATA_END}",
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def as_text(data: object) -> str:
    """JSON that can stand in a page: nothing in it can end the element it is in, or begin another."""
    text = json.dumps(data, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def script_of(package: str, names: tuple[str, ...]) -> str:
    """One script of files in a package's `viewer`, which keep their names to themselves."""
    parts = "\n".join(viewer_text(package, name) for name in names)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def viewer_text(package: str, name: str) -> str:
    """A file in a package's `viewer`."""
    return (files(package) / "viewer" / name).read_text("utf-8")


@cache
def colours() -> str:
    """The colours, light and dark, as CSS variables."""
    return (files("ottla.page") / "colours.css").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
