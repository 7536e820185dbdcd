"""`ottla conformance` with a broker that hangs, closes or says what can't be read: it is counted, in bounded time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ottla.cli import main
from ottla.conformance.scripts import heartbeat
from tests.support.toy_broker import Failure, ToyBroker

_SCRIPT = heartbeat.heartbeat_without_a_group.__name__


def _play(failure: Failure, directory: Path) -> tuple[int, dict[str, Any]]:
    """One script in Heartbeat's v0, which fails, and in v1; the exit code and the card."""
    card = directory / "card.json"
    with ToyBroker(failure) as toy:
        words = ["conformance", toy.bootstrap, "--only", _SCRIPT, "--api", "Heartbeat:0-1", "--patience", "0.2"]
        code = main([*words, f"--json={card}", f"--junit={directory / 'card.xml'}"])
    return code, json.loads(card.read_text())


@pytest.mark.parametrize(
    ("failure", "reason", "tries"),
    [
        (ToyBroker.silent, "no answer to Heartbeat v0 within 0.2 s", 1),
        (ToyBroker.beginning, "no answer to Heartbeat v0 within 0.2 s", 1),
        (ToyBroker.closing, "the connection was closed at Heartbeat v0", 3),
    ],
)
def test_no_answer_is_counted_as_such_and_the_run_goes_on(
    failure: Failure, reason: str, tries: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shown with the request and Kafka's answer; what was waited for in vain is not waited for again. v1 is equal."""
    code, card = _play(failure, tmp_path)
    failed, equal = card["cases"]
    assert code == 1
    assert (failed["outcome"], failed["reason"], failed["tries"]) == ("no answer", reason, tries)
    assert failed["differences"][0]["expected"] == {"error_code": "UNKNOWN_MEMBER_ID"}
    assert failed["differences"][0]["request"]["member_id"] == "nobody"
    assert equal["outcome"] == "equal"
    assert card["areas"][-1]["no answer"] == 1
    shown = capsys.readouterr().out
    assert f"    {reason}\n    step 1: ana Heartbeat" in shown
    (failure_shown,) = ElementTree.parse(tmp_path / "card.xml").findall("./testsuite/testcase/failure")
    assert failure_shown.get("message") == reason


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (ToyBroker.cut_off, "the answer can't be gone on with"),
        (ToyBroker.of_another, "Heartbeat v0, sent as 1, is answered as 2"),
        (ToyBroker.in_html, "a frame claims 1213486160 bytes"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_difference(failure: Failure, said: str, tmp_path: Path) -> None:
    """It is an answer, and the run goes on."""
    code, card = _play(failure, tmp_path)
    failed, equal = card["cases"]
    assert code == 1
    assert failed["outcome"] == "different"
    assert said in json.dumps(failed["differences"])
    assert equal["outcome"] == "equal"


@pytest.mark.parametrize("failure", [ToyBroker.deaf, ToyBroker.gone])
def test_a_broker_that_is_gone_ends_the_run(
    failure: Failure, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What made it go has no answer, the rest is not run, and nobody waits for it again and again."""
    code, card = _play(failure, tmp_path)
    assert code == 1
    assert [case["outcome"] for case in card["cases"]] == ["no answer", "not run"]
    assert "any more" in card["ended_early"]
    assert "Ended early: nothing answers at 127.0.0.1" in capsys.readouterr().out


def test_a_broker_that_answers_nothing_is_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Not even ApiVersions: exit code 1, within the time an answer is waited for."""
    with ToyBroker(ToyBroker.silent) as toy:
        toy.be_deaf()
        assert main(["conformance", toy.bootstrap, "--patience", "0.2"]) == 1
    assert "does not answer ApiVersions and Metadata as a Kafka broker does" in capsys.readouterr().err
