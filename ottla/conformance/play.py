"""All cases, one after the other, against one broker: played, compared, and cleaned up behind.

A difference is looked at again before it counts: where a broker's threads race, as Kafka's do on a busy machine, the
same request may get another right answer. Ctrl-C ends the run where it is; what was being played is cleaned up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ottla.conformance import golden
from ottla.conformance.card import Card, Outcome, Result
from ottla.conformance.claims import NotClaimedError
from ottla.conformance.cleaning import UNCLEANED, Broom
from ottla.conformance.comparison import StepDifference, compare
from ottla.conformance.golden import Transcript
from ottla.conformance.scene import Frame, Scene, perform
from ottla.conformance.selection import Case
from ottla.conformance.survey import Broker

#: Areas whose scripts set configs of groups and of metrics subscriptions.
_CONFIGS: Final = ("admin", "configs")


class BrokerGoneError(Exception):
    """Nobody answers at its address any more."""


@dataclass(slots=True)
class Stage:
    """Where cases are played: one broker, and what was played there."""

    broker: Broker
    marks: set[str] = field(default_factory=set)

    def play(self, case: Case) -> tuple[Transcript, Sequence[Frame]]:
        """The transcript. Raises `NotClaimedError`, `BrokerGoneError`."""
        scene = Scene(self.broker.bootstrap, case.version, self.broker.claims, node_id=self.broker.node_id)
        self.marks.add(scene.mark)
        is_over = False
        try:
            perform(case.script.play, scene)
            is_over = True
        except NotClaimedError:
            raise
        except OSError as error:
            scene.record("", None, f"ended: {error.strerror or error}")
        except Exception as error:  # a wrong answer may lead a script anywhere
            scene.record("", None, f"ended: the answer can't be gone on with: {type(error).__name__}: {error}")
        finally:
            scene.close()
            self._clean(scene, is_broken_off=not is_over, has_set_configs=case.script.area in _CONFIGS)
        return scene.transcript, scene.frames

    def _clean(self, scene: Scene, *, is_broken_off: bool, has_set_configs: bool) -> None:
        try:
            broom = Broom(self.broker.bootstrap, self.broker.claims)
            broom.sweep(scene, is_broken_off=is_broken_off, has_set_configs=has_set_configs)
        except ConnectionRefusedError as error:
            raise BrokerGoneError(f"nothing answers at {self.broker.bootstrap} any more") from error
        except UNCLEANED:
            pass  # what is left is looked for at the end, and told

    def left(self) -> list[str]:
        """What could not be removed, a line each."""
        try:
            return Broom(self.broker.bootstrap, self.broker.claims).finish(self.marks) if self.marks else []
        except UNCLEANED:
            return [f"nothing could be looked for at {self.broker.bootstrap}: it does not answer"]


class Run:
    """One run of these cases. `other` answers in place of the recorded Kafka; `tell` hears of each result."""

    def __init__(
        self,
        broker: Broker,
        release: str,
        *,
        other: Broker | None = None,
        tries: int = 3,
        tell: Callable[[Result], None] = lambda result: None,
    ) -> None:
        self._stage = Stage(broker)
        self._other = None if other is None else Stage(other)
        self._release = release
        self._tries = tries
        self._tell = tell
        against = f"Kafka {release}" if other is None else other.bootstrap
        self.card = Card(broker.bootstrap, against, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))

    def play(self, cases: Iterable[Case]) -> Card:
        """Play them all, unless Ctrl-C or the end of the broker comes first; the card has the rest as not run."""
        waiting = list(cases)
        try:
            while waiting:
                self._take(self._result(waiting[0]))
                waiting.pop(0)
        except KeyboardInterrupt:
            self.card.ended_early = "interrupted"
        except BrokerGoneError as gone:
            self.card.ended_early = str(gone)
        self.card.results += [Result(case, Outcome.NOT_RUN, self.card.ended_early, tries=0) for case in waiting]
        with suppress(KeyboardInterrupt):
            for stage in filter(None, (self._stage, self._other)):
                self.card.left_behind += stage.left()
        return self.card

    def _take(self, result: Result) -> None:
        self.card.results.append(result)
        self._tell(result)

    def _result(self, case: Case) -> Result:
        for broker in (self._stage.broker, *([self._other.broker] if self._other else [])):
            if lack := broker.lacks(case.script):
                return Result(case, Outcome.NOT_RUN, lack, tries=0)
        began = time.monotonic()
        differences: list[StepDifference] = []
        for attempt in range(1, self._tries + 1):
            try:
                expected, frames_expected = self._expected(case)
                got, frames = self._stage.play(case)
            except NotClaimedError as error:
                return Result(case, Outcome.NOT_CLAIMED, f"it needs {error}")
            differences = compare(expected, got, case.script.exempt)
            seconds = time.monotonic() - began
            if not differences:
                return Result(case, Outcome.EQUAL, seconds=seconds, tries=attempt)
        return Result(
            case,
            Outcome.DIFFERENT,
            differences=differences,
            frames=frames,
            frames_expected=frames_expected,
            seconds=seconds,
            tries=self._tries,
        )

    def _expected(self, case: Case) -> tuple[Transcript, Sequence[Frame]]:
        if self._other is not None:
            return self._other.play(case)
        return golden.read(case.script.area, self._release)[case.script.name][case.version], ()
