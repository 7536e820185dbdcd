"""The report of `ottla pipeline rebalances`: one HTML file that needs no network, with the timeline drawn by Plotly.

A line for each group: coloured bars are the states it was in, and marks above them are the rebalances, by cause. What
stands in a mark's tip says because of whom. Names in a journal are chosen by strangers and are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from ottla.terminal.output import NOTHING, Columns, Item

#: Of the states, from calm to not.
COLOURS: Final[Mapping[str, str]] = {
    "Stable": "#2a9d8f",
    "Empty": "#ced4da",
    "CompletingRebalance": "#f4a261",
    "PreparingRebalance": "#d1495b",
}
#: Of causes; one that isn't here is black.
MARKS: Final[Mapping[str, str]] = {
    "member_joined": "#1d6fb8",
    "member_left": "#6f42c1",
    "session_expired": "#c2185b",
    "sync_expired": "#e6550d",
    "leader_rejoined": "#5f6b73",
    "member_changed": "#8d6e63",
}
_ROW_PIXELS: Final = 52
_BAR_HEIGHT: Final = 0.4
_MARK_ABOVE: Final = 0.33
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Rebalances</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #212529; max-width: 1180px; margin: 2em auto; padding: 0 1em }}
h1 {{ font-size: 1.6em; margin-bottom: 0 }}
h2 {{ font-size: 1.15em; margin: 2em 0 .3em }}
p {{ margin: .3em 0; color: #6c757d }}
table {{ border-collapse: collapse; font-size: .93em }}
th, td {{ padding: .25em .9em .25em 0; text-align: left; border-bottom: 1px solid #e9ecef }}
.number {{ text-align: right; font-variant-numeric: tabular-nums }}
</style>
</head>
<body>
<h1>Rebalances</h1>
<p>{summary}</p>
<h2>Timeline</h2>
<p>{drawn}</p>
{timeline}
{tables}
</body>
</html>
"""


@dataclass(frozen=True)
class Drawn:
    """What the timeline shows. Times are milliseconds since 1970."""

    groups: Sequence[str]
    """From the top."""
    states: Sequence[Item]
    """group, state, since_ms, until_ms"""
    rebalances: Sequence[Item]
    """group, started_ms, duration_ms, cause, member_id, outcome"""


def page(summary: str, drawn_text: str, drawn: Drawn, tables: Mapping[str, tuple[Sequence[Item], Columns]]) -> str:
    """The whole file. `tables` by their titles, as they are on a terminal."""
    return _PAGE.format(
        summary=escape(summary),
        drawn=escape(drawn_text),
        timeline=_timeline(drawn),
        tables="\n".join(_table(title, items, columns) for title, (items, columns) in tables.items()),
    )


def figure(drawn: Drawn) -> Any:
    """The timeline, as Plotly has it."""
    import plotly.graph_objects as go

    rows = {group: len(drawn.groups) - place for place, group in enumerate(drawn.groups)}
    chart = go.Figure()
    for state, colour in COLOURS.items():
        spans = [span for span in drawn.states if span["state"] == state]
        chart.add_bar(
            name=state,
            orientation="h",
            y=[rows[span["group"]] for span in spans],
            base=[_date(span["since_ms"]) for span in spans],
            x=[span["until_ms"] - span["since_ms"] for span in spans],
            customdata=[_duration(span["until_ms"] - span["since_ms"]) for span in spans],
            hovertemplate="%{customdata}",
            marker={"color": colour, "line": {"width": 0}},
            width=_BAR_HEIGHT,
        )
    for cause in sorted({str(rebalance["cause"]) for rebalance in drawn.rebalances}):
        found = [rebalance for rebalance in drawn.rebalances if str(rebalance["cause"]) == cause]
        chart.add_scatter(
            name=cause,
            mode="markers",
            x=[_date(rebalance["started_ms"]) for rebalance in found],
            y=[rows[rebalance["group"]] + _MARK_ABOVE for rebalance in found],
            customdata=[_tip(rebalance) for rebalance in found],
            hovertemplate="%{customdata}",
            marker={"symbol": "triangle-down", "size": 9, "color": MARKS.get(cause, "black")},
        )
    chart.update_layout(
        barmode="overlay",
        height=170 + _ROW_PIXELS * len(drawn.groups),
        legend={"orientation": "h", "y": -0.25 if len(drawn.groups) < 4 else -0.12},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        plot_bgcolor="white",
    )
    chart.update_xaxes(type="date", gridcolor="#e9ecef")
    chart.update_yaxes(
        automargin=True,
        showgrid=False,
        zeroline=False,
        tickvals=list(rows.values()),
        ticktext=[_label(group) for group in rows],
    )
    return chart


def _timeline(drawn: Drawn) -> str:
    if not drawn.groups:
        return "<p>Nothing has happened.</p>"
    from plotly.io import to_html

    html: str = to_html(figure(drawn), full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    return html


def _table(title: str, items: Sequence[Item], columns: Columns) -> str:
    rows = [[item[part] if isinstance(part, str) else part(item) for part in columns.values()] for item in items]
    kinds = [
        ' class="number"' if any(isinstance(row[index], int) for row in rows) else "" for index in range(len(columns))
    ]
    head = "".join(f"<th{kind}>{escape(name.capitalize())}</th>" for kind, name in zip(kinds, columns, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{_cell(value)}</td>" for kind, value in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<h2>{escape(title)}</h2>\n<table>\n<tr>{head}</tr>\n{body}\n</table>"


def _cell(value: object) -> str:
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


def _label(text: str) -> str:
    """A name as Plotly shows it, which knows some tags."""
    return escape(text)


def _tip(rebalance: Item) -> str:
    parts = [str(rebalance["outcome"])]
    if rebalance["duration_ms"] is not None:
        parts.append(f"after {_duration(rebalance['duration_ms'])}")
    if rebalance["member_id"] is not None:
        parts.append(f"<br>because of {_label(rebalance['member_id'])}")
    return " ".join(parts)


def _duration(duration_ms: int) -> str:
    return f"{duration_ms:,} ms" if duration_ms < 10_000 else f"{duration_ms / 1000:,.1f} s"


def _date(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
