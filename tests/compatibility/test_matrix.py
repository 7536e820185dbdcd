"""What is kept of a run: rows that could not be played stay as they were, and say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from compatibility import __main__ as card
from compatibility import results
from compatibility.brokers import CardBroker
from compatibility.certificate import Certificate
from compatibility.clients import CLIENTS, Installed, InstallError
from compatibility.matrix import Matrix
from compatibility.results import Stamp
from compatibility.stories import STORIES

LATER: Final = Stamp("2026-12-01", "def5678")
OLD: Final = {"made": "2026-11-22", "commit": "abc1234", "stories": {"produce": "passed"}}


@dataclass(frozen=True)
class ClientThatHasNothing:
    """So none of its stories is played, and no process started."""

    lacks: str | None = None
    fails: str | None = None
    name: str = "kafka-python"
    language: str = "Python"
    versions: tuple[str, ...] = ("3.0.12",)

    @property
    def since(self) -> Mapping[str, None]:
        return {story.name: None for story in STORIES}

    def missing(self, version: str) -> str | None:
        return self.lacks

    def install(self, version: str) -> Installed:
        if self.fails is not None:
            raise InstallError(self.fails)
        return Installed(())


class BrokerThatIsNotAsked:
    name = "ottla"

    def missing(self) -> str | None:
        return None

    @contextmanager
    def start(self, certificate: Certificate) -> Iterator[CardBroker]:
        yield CardBroker(self.name, {}, certificate)


def played(client: ClientThatHasNothing, folder: Path, **old: Any) -> dict[str, Any]:
    """Its row, after a run that found an old one."""
    place = "kafka-python", "3.0.12"
    row = {"client": "kafka-python", "version": "3.0.12", **old}
    matrix = Matrix(LATER, {place: row}, say=lambda _: None, logs=folder)
    matrix.play([client], [BrokerThatIsNotAsked()], Certificate(folder, folder))
    return matrix.rows[place]


@pytest.mark.parametrize(
    "client",
    [ClientThatHasNothing(lacks="needs `go`"), ClientThatHasNothing(fails="needs `go`")],
    ids=["tool missing", "not to be installed"],
)
def test_what_can_not_run_keeps_its_old_result(client: ClientThatHasNothing, tmp_path: Path) -> None:
    """With the old day, and why there is no newer one."""
    row = played(client, tmp_path, ottla=OLD, kafka=OLD)
    assert row["ottla"] == row["kafka"] == OLD
    assert row["not run"] == {"made": "2026-12-01", "commit": "def5678", "why": "needs `go`"}


def test_a_new_result_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    """And nothing is said any more of a run that did not reach it. The other broker's side stays."""
    row = played(ClientThatHasNothing(), tmp_path, ottla=OLD, kafka=OLD, **{"not run": {"why": "needs `go`"}})
    assert "not run" not in row
    assert row["kafka"] == OLD
    assert row["ottla"]["made"] == "2026-12-01"
    assert set(row["ottla"]["stories"].values()) == {"client has none"}


def test_a_run_of_one_client_leaves_the_others_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And rows of versions that are on the card no more go."""
    monkeypatch.setattr(results, "DIRECTORY", tmp_path)
    first, second = CLIENTS[:2]
    ours, theirs = ({"client": each.name, "version": each.versions[0]} for each in (first, second))
    gone = {"client": second.name, "version": "0.0.1"}
    results.save("clients", {**LATER.json(), "rows": [theirs, gone]})
    card.keep(LATER, {(first.name, first.versions[0]): ours}, [first])
    assert results.load("clients") == {**LATER.json(), "rows": [ours, theirs]}
