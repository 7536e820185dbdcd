"""A card as one page that needs nothing else: the counts, and each difference to be opened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from ottla.conformance.card import DIFFERING, Card, Outcome, Result
from ottla.conformance.comparison import StepDifference
from ottla.conformance.shown.text import alike, lines_of_bytes, table, title
from ottla.conformance.transcript import Json

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #8884; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.all td { font-weight: 600; }
td.differs { color: #b00020; font-weight: 600; }
code, pre { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
details { margin: .4rem 0; border: 1px solid #8884; border-radius: .4rem; padding: .4rem .8rem; }
summary { cursor: pointer; }
@media (prefers-color-scheme: dark) { td.differs { color: #ff8a80; } }
"""


def to_html(card: Card, *, with_bytes: bool) -> str:
    """The whole page."""
    return "\n".join(_page(card, with_bytes=with_bytes))


def _page(card: Card, *, with_bytes: bool) -> Iterator[str]:
    name = f"Conformance of {escape(card.broker)}"
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{name}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>"
    yield f"<p>Compared with {escape(card.against)}; started {escape(card.started)}.</p>"
    if card.ended_early:
        yield f"<p><strong>Ended early: {escape(card.ended_early)}.</strong></p>"
    yield from _counts(card)
    differences = alike(card.different())
    yield f"<h2>Differences</h2>\n<p>{'Each is to be opened.' if differences else 'None.'}</p>"
    for results in differences:
        yield from _difference(results, card.against, with_bytes=with_bytes)
    for outcome, heading in ((Outcome.NOT_CLAIMED, "Not claimed"), (Outcome.NOT_RUN, "Not run")):
        yield from _reasons(heading, [result for result in card.results if result.outcome is outcome])
    if card.left_behind:
        lines = "".join(f"<li>{escape(line)}</li>" for line in card.left_behind)
        yield f"<h2>Left on the broker</h2>\n<ul>{lines}</ul>"
    yield "</body>\n</html>\n"


def _counts(card: Card) -> Iterator[str]:
    heads = "".join(f'<th class="number">{outcome}</th>' for outcome in Outcome)
    yield f"<table>\n<tr><th>area</th>{heads}</tr>"
    for row in table(card):
        cells = "".join(
            f'<td class="number{" differs" if outcome in DIFFERING and row[outcome.value] else ""}">'
            f"{row[outcome.value]}</td>"
            for outcome in Outcome
        )
        yield f'<tr class="{escape(row["area"])}"><td>{escape(row["area"])}</td>{cells}</tr>'
    yield "</table>"


def _difference(results: Sequence[Result], against: str, *, with_bytes: bool) -> Iterator[str]:
    first = results[0]
    yield f"<details>\n<summary><code>{escape(title(results))}</code> ({escape(first.case.script.area)})</summary>"
    yield f"<p>{escape(' '.join((first.case.script.play.__doc__ or '').split()))}</p>"
    if first.reason:
        yield f"<p><strong>{escape(first.reason)}</strong></p>"
    for step in first.differences:
        yield from _step(step, against)
        if with_bytes:
            for who, frames in ((against, first.frames_expected), ("this broker", first.frames)):
                lines = list(lines_of_bytes(frames, step.step))
                if lines:
                    yield f"<p>Bytes, {escape(who)}:</p>\n<pre>{_text(lines)}</pre>"
    yield "</details>"


def _step(step: StepDifference, against: str) -> Iterator[str]:
    yield f"<h4>Step {step.step + 1}: {escape(step.said)}</h4>\n<pre>{_json(step.asked)}</pre>"
    yield f"<table>\n<tr><th>differs in</th><th>{escape(against)}</th><th>this broker</th></tr>"
    for field in step.fields:
        values = f"<td><code>{_json(field.expected)}</code></td><td><code>{_json(field.got)}</code></td>"
        yield f"<tr><td><code>{escape(field.path)}</code></td>{values}</tr>"
    yield "</table>"


def _reasons(heading: str, results: Sequence[Result]) -> Iterator[str]:
    if not results:
        return
    yield f"<h2>{heading}</h2>\n<table>\n<tr><th>script</th><th>reason</th></tr>"
    for result in results:
        yield f"<tr><td><code>{escape(str(result.case))}</code></td><td>{escape(result.reason)}</td></tr>"
    yield "</table>"


def _text(lines: Iterable[str]) -> str:
    return escape("\n".join(lines))


def _json(value: Json) -> str:
    return escape(json.dumps(value, ensure_ascii=False))
