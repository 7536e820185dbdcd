"""Ottla answers what Kafka answered; and Kafka still answers what is recorded of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

import pytest
from _pytest.mark import ParameterSet

from ottla.conformance import golden
from ottla.conformance.scene import run
from ottla.conformance.script import Exempt, Script, all_scripts
from tests.differential.brokers import warm_kafka, warm_ottla
from tests.support.kafka_process import KafkaStartError, class_path, missing_tools
from tests.support.soak import IS_SOAK


def _case(script: Script, version: int, *marks: pytest.MarkDecorator) -> ParameterSet:
    return pytest.param(script, version, id=f"{script.name}-v{version}", marks=marks)


PLAYS = [(script, version) for script in all_scripts() for version in script.versions]
KAFKA_TRIES: Final = 3
#: Kafka is a slow player: it is asked again in the newest version of each request, and in all by `make soak`.
CASES_OF_KAFKA = [_case(script, version) for script, version in PLAYS if version == max(script.versions) or IS_SOAK]
#: A difference on purpose that is gone makes its test fail: then the reason is to go as well.
CASES_OF_OTTLA = [
    _case(script, version, *([pytest.mark.xfail(reason=script.differs, strict=True)] if script.differs else []))
    for script, version in PLAYS
]


@pytest.fixture(scope="module")
def ottla() -> Iterator[str]:
    with warm_ottla() as bootstrap:
        yield bootstrap


@pytest.fixture(scope="module")
def kafka() -> Iterator[str]:
    missing = missing_tools()
    if missing:
        pytest.skip(missing)
    try:
        class_path()
    except KafkaStartError as error:
        pytest.skip(str(error).splitlines()[0])
    with warm_kafka() as bootstrap:
        yield bootstrap


@pytest.mark.parametrize(("script", "version"), CASES_OF_OTTLA)
def test_ottla_answers_as_kafka_did(ottla: str, script: Script, version: int) -> None:
    """The transcript is the recorded one, but for what the script exempts with a reason."""
    difference = _difference(script, version, ottla, script.exempt)
    assert not difference, _said(script, version, difference)


@pytest.mark.soak
@pytest.mark.parametrize(("script", "version"), CASES_OF_KAFKA)
def test_kafka_answers_as_recorded(kafka: str, script: Script, version: int) -> None:
    """The golden files are Kafka's: nobody has bent them towards Ottla.

    Kafka's threads race when the machine is busy (a group is Dead until an earlier write to its partition is
    committed), so it may have another try.
    """
    tries = (_difference(script, version, kafka, ()) for _ in range(KAFKA_TRIES))
    differences = list(takewhile(bool, tries))
    assert len(differences) < KAFKA_TRIES, _said(script, version, differences[-1])


def _difference(script: Script, version: int, bootstrap: str, exempt: tuple[Exempt, ...]) -> str:
    """Between what is recorded of Kafka and what this broker answers; empty if there is none."""
    recorded = golden.read(script.area).get(script.name, {}).get(version)
    assert recorded, "nothing is recorded: python -m tests.differential --record"
    return golden.difference(recorded, run(script.play, bootstrap, version), exempt)


def _said(script: Script, version: int, difference: str) -> str:
    return f"{script.name} v{version}: {script.play.__doc__}\n{difference}"
