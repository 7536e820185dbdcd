"""What came of each case, and the counts of all: what every way to show it stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ottla.conformance.comparison import StepDifference
from ottla.conformance.scene import Frame
from ottla.conformance.selection import Case


class Outcome(StrEnum):
    """Of one case."""

    EQUAL = "equal"
    DIFFERENT = "different"
    #: The broker kept silent, closed the connection or was gone where the script can't go on without an answer.
    NO_ANSWER = "no answer"
    #: The broker does not advertise a request, or a version of one, that the script needs.
    NOT_CLAIMED = "not claimed"
    #: The broker is not set up for the script, or there was no time for it.
    NOT_RUN = "not run"


#: What is not as Kafka's.
DIFFERING: Final = frozenset({Outcome.DIFFERENT, Outcome.NO_ANSWER})


@dataclass(frozen=True, slots=True)
class Result:
    """Of one case. `reason`: why it was not compared, or how there was no answer; `tries`: how often it was played."""

    case: Case
    outcome: Outcome
    reason: str = ""
    differences: Sequence[StepDifference] = ()
    frames: Sequence[Frame] = ()
    #: Of the other broker, where it is compared with one.
    frames_expected: Sequence[Frame] = ()
    seconds: float = 0.0
    tries: int = 1


@dataclass(slots=True)
class Card:
    """A whole run. `against` is who answered first: a release of Kafka, or another broker."""

    broker: str
    against: str
    started: str
    results: list[Result] = field(default_factory=list)
    #: What could not be removed, a line each.
    left_behind: list[str] = field(default_factory=list)
    #: Why it ended before its time, or "".
    ended_early: str = ""

    def of_areas(self) -> dict[str, list[Result]]:
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.case.script.area, []).append(result)
        return found

    def different(self) -> list[Result]:
        """Those without an answer too."""
        return [result for result in self.results if result.outcome in DIFFERING]


def count(results: Sequence[Result]) -> dict[Outcome, int]:
    """How many of each."""
    counted = Counter(result.outcome for result in results)
    return {outcome: counted[outcome] for outcome in Outcome}
