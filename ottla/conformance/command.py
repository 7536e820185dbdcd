"""What `ottla conformance` does with its options; returns the exit code."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ottla.conformance import golden
from ottla.conformance.card import DIFFERING, Card, Result
from ottla.conformance.play import Run
from ottla.conformance.selection import Case, new_walks, select
from ottla.conformance.settings import SETTINGS
from ottla.conformance.shown.as_html import to_html
from ottla.conformance.shown.as_json import to_json
from ottla.conformance.shown.as_junit import to_junit
from ottla.conformance.shown.text import print_card
from ottla.conformance.survey import NotKafkaError, parse_told, survey
from ottla.conformance.warming import load_coordinators
from ottla.terminal import news
from ottla.terminal.bootstrap import no_answer
from ottla.terminal.exit_codes import EXIT_INTERRUPTED, EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_line

#: Not every answer was Kafka's.
EXIT_DIFFERENT: Final = 1
_DELAY: Final = "group.initial.rebalance.delay.ms"
_FORMS: Final[dict[str, Callable[..., str]]] = {"html": to_html, "json": to_json, "junit": to_junit}


def run(options: argparse.Namespace) -> int:
    """Play what is asked for; returns the exit code."""
    if options.settings:
        for name, value in SETTINGS.items():
            print_line(f"{name}={value}")
        return 0
    try:
        cases, told = _cases(options), parse_told(options.assume)
    except ValueError as error:
        return fail(str(error), EXIT_USAGE)
    if options.list:
        for case in cases:
            print_line(f"{case.script.area}  {case}")
        return 0
    for form in _FORMS:
        path = getattr(options, form)
        if path is not None and not path.absolute().parent.is_dir():
            return fail(f"--{form}: there is no directory {path.absolute().parent}", EXIT_USAGE)
    brokers = []
    for address in filter(None, (options.broker, options.against)):
        try:
            brokers.append(survey(address, told, patience_seconds=options.patience))
        except NotKafkaError as error:
            return fail(str(error), EXIT_MACHINE)
        except OSError:
            return fail(no_answer(address, "ottla conformance"), EXIT_MACHINE)
    if brokers[0].settings.get(_DELAY, "0") != "0":
        news.tell(
            f"{_DELAY} is {brokers[0].settings[_DELAY]}: with 0 the groups of scripts, and so the run, are faster"
        )
    for broker in brokers:
        with suppress(Exception):  # how a broker fails here, the scripts will show
            load_coordinators(broker.bootstrap, broker.claims, patience_seconds=broker.patience_seconds)
    progress = _Progress(len(cases))
    other = brokers[1] if len(brokers) > 1 else None
    playing = Run(brokers[0], options.release, other=other, tries=options.tries, tell=progress.told)
    with _terminated_as_interrupted():
        card = playing.play(cases)
    progress.end()
    return _end(card, options)


def _cases(options: argparse.Namespace) -> list[Case]:
    """Raises `ValueError` for what can't be used."""
    if options.broker is None and not options.list:
        raise ValueError("say which broker is asked: ottla conformance HOST:PORT")
    for address in filter(None, (options.broker, options.against)):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > _PORT_MAX:
            raise ValueError(f"a broker is named as HOST:PORT, not {address}")
    if options.release not in golden.releases():
        raise ValueError(f"no answers of Kafka {options.release} are kept; there are {', '.join(golden.releases())}")
    if options.tries < 1:
        raise ValueError(f"--tries is 1 or more, not {options.tries}")
    if not 0 < options.patience < _PATIENCE_END:
        raise ValueError(f"--patience is more than 0 and less than {_PATIENCE_END} seconds, not {options.patience:g}")
    if options.walks is not None:
        if options.against is None:
            raise ValueError("--walks needs --against HOST:PORT: nobody has recorded what Kafka answers to new walks")
        if options.walks < 1 or options.seed < 0:
            raise ValueError("--walks is 1 or more, and --seed 0 or more")
        return new_walks(options.walks, options.seed)
    return select(options.release, of_areas=_words(options.area), apis=_words(options.api), name=options.only)


def _words(given: list[str]) -> list[str]:
    """Of options that take several with commas, and may be repeated."""
    return [word for text in given for word in text.split(",") if word]


def _end(card: Card, options: argparse.Namespace) -> int:
    """Show the card in all forms that are wished for."""
    print_card(card, all_steps=options.all_steps, with_bytes=options.bytes)
    for form, render in _FORMS.items():
        path: Path | None = getattr(options, form)
        if path is None:
            continue
        try:
            path.write_text(render(card, with_bytes=options.bytes), encoding="utf-8")
        except OSError as error:
            return fail(f"{path} cannot be written: {error.strerror}", EXIT_MACHINE)
    if card.ended_early:
        return EXIT_INTERRUPTED if card.ended_early == "interrupted" else EXIT_MACHINE
    return EXIT_DIFFERENT if card.different() else 0


class _Progress:
    """On stderr: on a terminal a line that changes, else a line for each area."""

    def __init__(self, cases: int) -> None:
        self._cases = cases
        self._done = self._different = 0
        self._area = ""

    def told(self, result: Result) -> None:
        self._done += 1
        self._different += result.outcome in DIFFERING
        area = result.case.script.area
        if news.is_live():
            news.tell_for_now(f"{self._done} of {self._cases}, {self._different} different: {area}, {result.case}")
        elif area != self._area:
            news.tell(f"{area} ({self._done} of {self._cases}, {self._different} different so far)")
        self._area = area

    def end(self) -> None:
        news.tell_for_now("")


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which CI services send first, ends a run as Ctrl-C does: in order, with the card of what was done."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


_PORT_MAX: Final = 65_535
_PATIENCE_END: Final = 3_600
