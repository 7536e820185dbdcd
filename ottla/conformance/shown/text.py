"""A card for a terminal: a table of areas, before it each difference with the request and both answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from ottla.conformance.card import Card, Outcome, Result, count
from ottla.conformance.comparison import StepDifference
from ottla.conformance.scene import Frame
from ottla.conformance.transcript import Json
from ottla.terminal.output import Columns, Item, print_line, print_table

_COLUMNS: Final[Columns] = {
    "AREA": "area",
    **{outcome.upper(): outcome.value for outcome in Outcome},
}
#: So many steps of a case are shown, unless all are wished for: those after the first often follow from it.
_STEPS_MAX: Final = 3
_TEXT_MAX: Final = 400


def print_card(card: Card, *, all_steps: bool = False, with_bytes: bool = False) -> None:
    """All of it."""
    for results in alike(card.different()):
        print_line()
        _print_difference(results, card.against, all_steps=all_steps, with_bytes=with_bytes)
    if card.different():
        print_line()
    print_table(table(card), _COLUMNS)
    for outcome, title in ((Outcome.NOT_CLAIMED, "Not claimed"), (Outcome.NOT_RUN, "Not run")):
        _print_reasons(title, [result for result in card.results if result.outcome is outcome])
    again = sum(result.outcome is Outcome.EQUAL and result.tries > 1 for result in card.results)
    if again:
        print_line()
        print_line(f"{again} of those that are equal were so only when they were played again.")
    if card.ended_early:
        print_line()
        print_line(f"Ended early: {card.ended_early}.")
    for line in card.left_behind:
        print_line(f"Left on the broker: {line}.")


def table(card: Card) -> list[Item]:
    """A row for each area, and one for all."""
    rows: list[Item] = [
        {"area": area, **{outcome.value: number for outcome, number in count(results).items()}}
        for area, results in card.of_areas().items()
    ]
    return [*rows, {"area": "all", **{outcome.value: number for outcome, number in count(card.results).items()}}]


def alike(results: Iterable[Result]) -> list[list[Result]]:
    """Neighbouring versions of a script whose differences are the same, together."""
    return [
        list(group)
        for _, group in groupby(
            results, lambda result: (result.case.script.name, result.outcome, [*result.differences])
        )
    ]


def title(results: Sequence[Result]) -> str:
    """Such as `heartbeat_of_a_stranger v0, v1, v2`."""
    return f"{results[0].case.script.name} {', '.join(result.case.number for result in results)}"


def lines_of_step(step: StepDifference, against: str) -> Iterator[str]:
    """The request, and in what the two answers differ; whole answers where they are of another shape altogether."""
    yield f"step {step.step + 1}: {step.said} {compact(step.asked)}"
    width = max(len(against), len("this broker"))
    for field in step.fields:
        yield f"  {field.path}"
        yield f"    {against:<{width}}  {compact(field.expected)}"
        yield f"    {'this broker':<{width}}  {compact(field.got)}"


def lines_of_bytes(frames: Iterable[Frame], step: int) -> Iterator[str]:
    """All frames of one step, with their size before them, in hex."""
    for frame in frames:
        if frame.step == step:
            yield f"{frame.actor} {'sent' if frame.is_sent else 'received'} {frame.data.hex()}"


def compact(value: Json) -> str:
    """In JSON, on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}… ({len(text)} characters)"


def _print_difference(results: list[Result], against: str, *, all_steps: bool, with_bytes: bool) -> None:
    first = results[0]
    print_line(f"{title(results)} ({first.case.script.area})")
    print_line(f"  {' '.join((first.case.script.play.__doc__ or '').split())}")
    if first.reason:
        print_line(f"    {first.reason}")
    shown = first.differences if all_steps else first.differences[:_STEPS_MAX]
    for step in shown:
        for line in lines_of_step(step, against):
            print_line(f"    {line}")
        if with_bytes:
            for line in lines_of_bytes(first.frames_expected, step.step):
                print_line(f"      {against}: {line}")
            for line in lines_of_bytes(first.frames, step.step):
                print_line(f"      this broker: {line}")
    if len(first.differences) > len(shown):
        print_line(f"    and {len(first.differences) - len(shown)} more steps; --all-steps shows them")


def _print_reasons(what: str, results: Sequence[Result]) -> None:
    """Each reason once, the most frequent first."""
    reasons: dict[str, int] = {}
    for result in results:
        reasons[result.reason] = reasons.get(result.reason, 0) + 1
    if reasons:
        print_line()
        print_line(f"{what}:")
    for reason, number in sorted(reasons.items(), key=lambda item: -item[1]):
        print_line(f"  {number:4}  {reason}")
