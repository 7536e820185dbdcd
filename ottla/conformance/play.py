"""All cases, one after the other, against one broker: played, compared, and cleaned up behind.

A difference is looked at again before it counts: where a broker's threads race, as Kafka's do on a busy machine, the
same request may get another right answer. What was waited for in vain is not waited for again. After a request without
an answer it is looked whether anybody is there at all; if not, the run ends, and the rest is not run. Ctrl-C ends the
run where it is; what was being played is cleaned up.
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
from ottla.conformance.cleaning import Broom
from ottla.conformance.client import Client
from ottla.conformance.comparison import compare
from ottla.conformance.golden import Transcript
from ottla.conformance.scene import Frame, Scene, perform
from ottla.conformance.selection import Case
from ottla.conformance.survey import Broker
from ottla.conformance.wire import ConnectionClosedError, SilenceError
from ottla.protocol.messages.api_versions import ApiVersionsRequest

#: Areas whose scripts set configs of groups and of metrics subscriptions.
_CONFIGS: Final = ("admin", "configs")


@dataclass(slots=True)
class Stage:
    """Where cases are played: one broker, and what was played there."""

    broker: Broker
    marks: set[str] = field(default_factory=set)
    #: Why nothing more can be played, or "".
    ended: str = ""
    _broom: Broom = field(init=False)

    def __post_init__(self) -> None:
        self._broom = self._new_broom()

    def play(self, case: Case) -> Scene:
        """The scene as it was left; `ended` may be set now. Raises `NotClaimedError`."""
        broker = self.broker
        scene = Scene(
            broker.bootstrap,
            case.version,
            broker.claims,
            node_id=broker.node_id,
            patience_seconds=broker.patience_seconds,
        )
        self.marks.add(scene.mark)
        is_over = False
        try:
            is_over = perform(case.script.play, scene)
        except NotClaimedError:
            raise
        except OSError as error:
            scene.unanswered = f"no connection: {error.strerror or error}"
            scene.record("", None, f"ended: {scene.unanswered}")
        except Exception as error:  # a wrong answer may lead a script anywhere
            scene.record("", None, f"ended: the answer can't be gone on with: {type(error).__name__}: {error}")
        finally:
            scene.close()
            if scene.unanswered:
                self._look_for_life()
            if not self.ended:
                with suppress(Exception):  # whatever it answers; what is left is looked for at the end, and told
                    self._broom.sweep(scene, is_broken_off=not is_over, has_set_configs=case.script.area in _CONFIGS)
        return scene

    def _look_for_life(self) -> None:
        """A broker that does not even answer ApiVersions on a new connection would cost patience with each script."""
        bootstrap = self.broker.bootstrap
        try:
            with Client(bootstrap, timeout_seconds=self.broker.patience_seconds) as client:
                client.ask(ApiVersionsRequest(), 0)
        except (OSError, ConnectionClosedError, SilenceError):
            self.ended = f"nothing answers at {bootstrap} any more"
        except Exception:  # it lives, whatever it says
            return

    def left(self) -> list[str]:
        """What could not be removed, a line each."""
        if not self.marks:
            return []
        try:
            if not self.ended:
                return self._new_broom().finish(self.marks)
        except Exception:  # whatever it answers
            pass
        return [f"nothing could be looked for at {self.broker.bootstrap}: it does not answer"]

    def _new_broom(self) -> Broom:
        return Broom(self.broker.bootstrap, self.broker.claims, patience_seconds=self.broker.patience_seconds)


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
        self._stages = [self._stage, *([self._other] if self._other else [])]
        self._release = release
        self._tries = tries
        self._tell = tell
        against = f"Kafka {release}" if other is None else other.bootstrap
        self.card = Card(broker.bootstrap, against, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))

    def play(self, cases: Iterable[Case]) -> Card:
        """Play them all, unless Ctrl-C or the end of the broker comes first; the card has the rest as not run."""
        waiting = list(cases)
        try:
            while waiting and not self.card.ended_early:
                self._take(self._result(waiting[0]))
                waiting.pop(0)
                self.card.ended_early = next((stage.ended for stage in self._stages if stage.ended), "")
        except KeyboardInterrupt:
            self.card.ended_early = "interrupted"
        self.card.results += [Result(case, Outcome.NOT_RUN, self.card.ended_early, tries=0) for case in waiting]
        with suppress(KeyboardInterrupt):
            for stage in self._stages:
                self.card.left_behind += stage.left()
        return self.card

    def _take(self, result: Result) -> None:
        self.card.results.append(result)
        self._tell(result)

    def _result(self, case: Case) -> Result:
        for stage in self._stages:
            if lack := stage.broker.lacks(case.script):
                return Result(case, Outcome.NOT_RUN, lack, tries=0)
        began = time.monotonic()
        for attempt in range(1, self._tries + 1):
            try:
                expected, frames_expected = self._expected(case)
                scene = self._stage.play(case)
            except NotClaimedError as error:
                return Result(case, Outcome.NOT_CLAIMED, f"it needs {error}")
            differences = compare(expected, scene.transcript, case.script.exempt)
            seconds = time.monotonic() - began
            if not differences:
                return Result(case, Outcome.EQUAL, seconds=seconds, tries=attempt)
            if scene.has_waited_in_vain or any(stage.ended for stage in self._stages):
                break  # threads may race, but not for as long as that
        return Result(
            case,
            Outcome.NO_ANSWER if scene.unanswered else Outcome.DIFFERENT,
            scene.unanswered,
            differences=differences,
            frames=scene.frames,
            frames_expected=frames_expected,
            seconds=seconds,
            tries=attempt,
        )

    def _expected(self, case: Case) -> tuple[Transcript, Sequence[Frame]]:
        if self._other is not None:
            scene = self._other.play(case)
            return scene.transcript, scene.frames
        return golden.read(case.script.area, self._release)[case.script.name][case.version], ()
