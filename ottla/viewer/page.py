"""One self-contained page of HTML: the viewer's files, a page's own, and its data.

The page loads nothing. A policy in its head makes the browser enforce that: only the script with this hash runs,
whatever names clients have given themselves. Light or dark is the reader's choice.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

#: What stands before, and behind, the data in a page.
DATA_BEGIN: Final = '<script type="application/json" id="{}">'
DATA_END: Final = "</script>"
STYLES: Final = ("colours.css", "base.css")
#: In the order in which they stand in the page: each uses those before it.
SCRIPTS: Final = (
    "words.js", "model.js", "spans.js", "axis.js", "marks.js", "lanes.js", "stage.js", "list.js", "details.js",
)  # fmt: skip


def page(*, title: str, package: str, own: tuple[str, ...], body: str, data_id: str, data: object) -> str:
    """The page as HTML. `own`: the styles and scripts in the package's `viewer`; a script finds the data in the element
    `data_id`.
    """
    shared = {name: _text("ottla.viewer", name) for name in (*STYLES, *SCRIPTS)}
    texts = shared | {name: viewer_text(package, name) for name in own}
    style = "".join(text for name, text in texts.items() if name.endswith(".css"))
    script = "\n".join(text for name, text in texts.items() if name.endswith(".js"))
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    policy = f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
{DATA_BEGIN.format(data_id)}{as_text(data)}{DATA_END}
<script>{script}</script>
</body>
</html>
"""


def as_text(data: object) -> str:
    """JSON that can stand in a page: nothing in it can end the element it is in, or begin another."""
    text = json.dumps(data, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def viewer_text(package: str, name: str) -> str:
    """A file in a package's `viewer`."""
    return _text(package, f"viewer/{name}")


@cache
def _text(package: str, path: str) -> str:
    return files(package).joinpath(path).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
