"""A card as JUnit's XML, which CI services show: a suite for each area, a case for each script and version.

What is not claimed and what is not run is skipped, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from ottla.conformance.card import DIFFERING, Card, Outcome, Result, count
from ottla.conformance.shown.text import lines_of_bytes, lines_of_step
from ottla.terminal.printable import printable


def to_junit(card: Card, *, with_bytes: bool) -> str:
    """The whole card."""
    root = Element("testsuites", {"name": f"conformance of {card.broker} with {card.against}", **_counts(card.results)})
    for area, results in card.of_areas().items():
        suite = SubElement(root, "testsuite", {"name": area, "timestamp": card.started.rstrip("Z"), **_counts(results)})
        for result in results:
            _add(suite, result, card.against, with_bytes=with_bytes)
    return tostring(root, encoding="unicode", xml_declaration=True)


def _counts(results: Sequence[Result]) -> dict[str, str]:
    counted = count(results)
    return {
        "tests": str(len(results)),
        "failures": str(sum(counted[outcome] for outcome in DIFFERING)),
        "errors": "0",
        "skipped": str(counted[Outcome.NOT_CLAIMED] + counted[Outcome.NOT_RUN]),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }


def _add(suite: Element, result: Result, against: str, *, with_bytes: bool) -> None:
    case = SubElement(
        suite,
        "testcase",
        classname=f"conformance.{result.case.script.area}",
        name=str(result.case),
        time=f"{result.seconds:.3f}",
    )
    match result.outcome:
        case Outcome.DIFFERENT | Outcome.NO_ANSWER:
            said = printable(result.reason) or f"{len(result.differences)} steps differ"
            failure = SubElement(case, "failure", message=said)
            lines: list[str] = []
            for step in result.differences:
                lines += lines_of_step(step, against)
                if with_bytes:
                    lines += lines_of_bytes(result.frames, step.step)
            failure.text = "\n".join(map(printable, lines))  # XML has no place for most control characters
        case Outcome.NOT_CLAIMED | Outcome.NOT_RUN:
            SubElement(case, "skipped", message=printable(f"{result.outcome}: {result.reason}"))
