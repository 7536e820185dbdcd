"""Ottla answers what Kafka answered; and Kafka still answers what is recorded of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from tests.differential import golden
from tests.differential.brokers import warm_kafka, warm_ottla
from tests.differential.scene import run
from tests.differential.script import Exempt, Script, all_scripts
from tests.support.kafka_process import KafkaStartError, class_path, missing_tools


def _case(script: Script, version: int, *marks: pytest.MarkDecorator) -> ParameterSet:
    return pytest.param(script, version, id=f"{script.name}-v{version}", marks=marks)


PLAYS = [(script, version) for script in all_scripts() for version in script.versions]
CASES = [_case(*play) for play in PLAYS]
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
    _play_and_compare(script, version, ottla, script.exempt)


@pytest.mark.parametrize(("script", "version"), CASES)
def test_kafka_answers_as_recorded(kafka: str, script: Script, version: int) -> None:
    """The golden files are Kafka's: nobody has bent them towards Ottla."""
    _play_and_compare(script, version, kafka, ())


def _play_and_compare(script: Script, version: int, bootstrap: str, exempt: tuple[Exempt, ...]) -> None:
    recorded = golden.read(script.area).get(script.name, {}).get(version)
    assert recorded, "nothing is recorded: python -m tests.differential --record"
    difference = golden.difference(recorded, run(script.play, bootstrap, version), exempt)
    assert not difference, f"{script.name} v{version}: {script.play.__doc__}\n{difference}"
