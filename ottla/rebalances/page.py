"""The page: one file of HTML that needs no network, to read, to print, and to zoom into.

All text stands in the page itself; the script only draws the timeline. Names in a journal are chosen by strangers: they
are escaped, and long ones are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from ottla.rebalances.conclusion import conclusion
from ottla.rebalances.found import CAUSES, GROUPS, MEMBERS, REBALANCES, Found
from ottla.rebalances.words import CAUSES as CAUSE_WORDS
from ottla.rebalances.words import OUTCOMES, TERMS, counted, date, length
from ottla.terminal.output import NOTHING, Columns, Item
from ottla.viewer.page import page

_NAME_CHARACTERS_MAX: Final = 120
#: In the order of the script's.
STATES: Final = ("Stable", "CompletingRebalance", "PreparingRebalance", "Empty")
_TIMELINE: Final = """<h2>Timeline</h2>
<p class="legend"><span><i class="swatch stable"></i>stable</span> <span><i class="swatch rebalance"></i>members join
again</span> <span><i class="swatch syncing"></i>assignment awaited</span> <span><i class="swatch empty"></i>no
members</span> <span><i class="swatch unread"></i>some partitions unread</span> <span><i class="mark started">▼</i>
rebalance</span></p>
<div id="stage"><canvas id="lanes" tabindex="0" role="img"
aria-label="Timeline of the groups. All rebalances are in the list below."></canvas><div id="tip" hidden></div></div>
<p class="tools"><button type="button" id="zoom-in">Zoom in</button>
<button type="button" id="zoom-out">Zoom out</button> <button type="button" id="fit">All of it</button>
Drag to move, Ctrl and the wheel to zoom. Click on a rebalance, here or in the list, to go to it.</p>"""


def report(found: Found) -> str:
    """The page as HTML."""
    body = [
        f'<main>\n<h1>Rebalances</h1>\n<p class="conclusion">{escape(conclusion(found))}</p>',
        _facts(found),
        _TIMELINE if found.groups else "",
        _list(found),
        _table("Groups", "groups", found.groups, GROUPS),
        _table("Causes", "causes", found.causes, CAUSES),
        _table("Members", "members", found.members, MEMBERS),
        _terms(found),
        "</main>",
    ]
    return page(
        title="Rebalances",
        package="ottla.rebalances",
        own=("report.css", "report.js"),
        body="\n".join(part for part in body if part),
        data_id="drawn",
        data=_drawn(found),
    )


def _facts(found: Found) -> str:
    lines = counted(found.lines, "line")
    if found.passed_over:
        lines += f", {found.passed_over:,} of them passed over: they could not be read"
    if found.lost_lines:
        lines += f"; {counted(found.lost_lines, 'line')} of the groups lost"
    facts = {"Source": ", ".join(found.sources), "Read": lines}
    if found.from_ms is not None:
        facts["Span"] = f"{date(found.from_ms)} to {date(found.until_ms)} UTC, {length(found.span_ms)}"
    return _definitions("facts", facts)


def _list(found: Found) -> str:
    if not found.rebalances:
        return ""
    shown = len(found.rebalances)
    which = "" if shown == found.rebalance_count else f" (the {shown:,} longest of {found.rebalance_count:,})"
    return _table(f"Each rebalance{which}", "rebalances", found.rebalances, REBALANCES)


def _table(title: str, table_id: str, items: Sequence[Item], columns: Columns) -> str:
    if not items:
        return ""
    rows = [[item[part] if isinstance(part, str) else part(item) for part in columns.values()] for item in items]
    kinds = [
        ' class="number"' if any(isinstance(value, int) for value in column) else ""
        for column in zip(*rows, strict=True)
    ]
    head = _row("th", (' scope="col"' + kind for kind in kinds), map(_heading, columns))
    body = "\n".join(_row("td", kinds, row) for row in rows)
    table = f'<table id="{table_id}">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return f'<h2>{escape(title)}</h2>\n<div class="wide">{table}</div>'


def _row(tag: str, kinds: Iterable[str], values: Iterable[object]) -> str:
    cells = (f"<{tag}{kind}>{_cell(value)}</{tag}>" for kind, value in zip(kinds, values, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _heading(name: str) -> str:
    return name.capitalize().replace("(utc)", "(UTC)")


def _terms(found: Found) -> str:
    causes = {cause["cause"]: CAUSE_WORDS.get(cause["cause"]) for cause in found.causes}
    outcomes = {one["outcome"]: OUTCOMES.get(one["outcome"]) for one in found.rebalances}
    words = {name: meaning for name, meaning in (causes | outcomes).items() if meaning}
    return "\n".join(("<h2>Terms</h2>", _definitions("facts terms", TERMS), _definitions("facts terms", words)))


def _definitions(kind: str, terms: Mapping[Any, str]) -> str:
    rows = "".join(f"<dt>{escape(_short(name))}</dt><dd>{escape(meaning)}</dd>" for name, meaning in terms.items())
    return f'<dl class="{kind}">{rows}</dl>' if rows else ""


def _cell(value: object) -> str:
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else escape(_short(value))


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= _NAME_CHARACTERS_MAX else f"{text[: _NAME_CHARACTERS_MAX - 1]}…"


def _drawn(found: Found) -> dict[str, object]:
    """What the script draws, as short as it can be: times since the first line, groups and states by their places."""
    zero = found.from_ms or 0
    places = {group["group"]: place for place, group in enumerate(found.groups)}
    return {
        "from": zero,
        "span": found.span_ms,
        "groups": [_short(group) for group in places],
        "states": [
            [places[span["group"]], STATES.index(span["state"]), span["since_ms"] - zero, span["until_ms"] - zero]
            for span in found.states
            if span["state"] in STATES
        ],
        "rebalances": [
            [places[one["group"]], one["started_ms"] - zero, one["duration_ms"], one["unread_ms"]]
            for one in found.rebalances
        ],
    }
