"""The stories prove what they say: they come to a good end with a broker that behaves, and with no other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compatibility.brokers import NEW_GROUPS, PLAINTEXT, SASL, SSL, CardBroker, Ottla
from compatibility.certificate import Certificate, make_certificate, missing
from compatibility.clients import Installed
from compatibility.matrix import played
from compatibility.results import FAILED, NOT_SERVED, PASSED, Cell
from compatibility.stage import Role
from compatibility.stories import STORIES
from ottla.testing import Broker
from tests.support.ports import free_ports

#: The kafka-python that the tests are installed with.
INSTALLED: Final = Installed((sys.executable, "-m", "compatibility.programs.kafka_python"))
BY_NAME: Final = {story.name: story for story in STORIES}
#: What a story is broken with, the same answer again and again. NONE: the broker says yes, and does nothing.
BROKEN: Final = [
    ("produce", "Produce", "NONE"),
    ("group", "OffsetCommit", "NONE"),
    ("rebalance", "SyncGroup", "GROUP_AUTHORIZATION_FAILED"),
    ("static", "JoinGroup", "GROUP_AUTHORIZATION_FAILED"),
    ("transactions", "TxnOffsetCommit", "NONE"),
]

pytestmark = pytest.mark.own_broker


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Nobody shows it, for Ottla serves no TLS, but clients read it."""
    if reason := missing():
        pytest.skip(reason)
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def broker(certificate: Certificate) -> Iterator[CardBroker]:
    """Ottla, as the card starts it."""
    with Ottla().start(certificate) as running:
        yield running


def play(name: str, broker: CardBroker, folder: Path, *, patience_seconds: float = 30.0) -> Cell:
    story = BY_NAME[name]
    role = Role("kafka-python", INSTALLED, broker.security(story.needs), patience_seconds)
    return played(story, role, broker, folder / "log")


@pytest.mark.parametrize("name", ["produce", "group", "rebalance", "static", "transactions"])
def test_kafka_python_plays_it(name: str, broker: CardBroker, tmp_path: Path) -> None:
    """The row of the card, for the version that is installed."""
    assert play(name, broker, tmp_path) == Cell(PASSED)


@pytest.mark.parametrize(
    ("name", "why"),
    [("TLS", "SSL is not served, only PLAINTEXT"), ("SASL", "SASL_PLAINTEXT is not served, only PLAINTEXT")],
)
def test_what_ottla_does_not_serve_is_tried_and_told_in_its_words(
    name: str, why: str, broker: CardBroker, tmp_path: Path
) -> None:
    """The client's attempt fails, and the reason is the broker's."""
    cell = play(name, broker, tmp_path, patience_seconds=1.0)
    assert cell == Cell(NOT_SERVED, why)


def test_each_refusal_belongs_to_a_story(broker: CardBroker) -> None:
    """Of what the stories need Ottla serves all but these."""
    assert set(broker.refusals) == {SSL, SASL, NEW_GROUPS} == {story.needs for story in STORIES} - {PLAINTEXT}


@pytest.mark.parametrize(("name", "api", "error"), BROKEN)
def test_a_story_fails_if_the_broker_does_not_do_its_part(
    name: str, api: str, error: str, certificate: Certificate, tmp_path: Path
) -> None:
    """What the story is about is refused, or only seems to be done. On a busy machine a client may not come so far."""
    with Broker() as ottla, ottla.fault(api, may_not_fire=True).answer(error):
        broker = CardBroker("broken", {PLAINTEXT: ottla.bootstrap_servers}, certificate)
        cell = play(name, broker, tmp_path, patience_seconds=2.0)
    assert cell.outcome == FAILED
    assert cell.why


def test_a_story_without_a_broker_fails(certificate: Certificate, tmp_path: Path) -> None:
    """And says that nobody is there."""
    nowhere = CardBroker("nowhere", {PLAINTEXT: f"127.0.0.1:{free_ports(1)[0]}"}, certificate)
    cell = play("produce", nowhere, tmp_path)
    assert cell.outcome == FAILED
    assert "Connection refused" in cell.why


def test_a_client_that_crashes_proves_nothing(broker: CardBroker, tmp_path: Path) -> None:
    """Not even that something is not served."""
    broken = Installed((sys.executable, "-c", "raise SystemExit('out of order')"))
    role = Role("broken", broken, "{}", 30.0)
    cell = played(BY_NAME["TLS"], role, broker, tmp_path / "log")
    assert cell.outcome == FAILED
    assert "out of order" in cell.why
