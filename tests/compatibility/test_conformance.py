"""How Kafka's recorded answers are held against others: fresh brokers for those that end, and what is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from compatibility import conformance, conformance_section
from ottla.conformance.card import Outcome, Result
from ottla.conformance.comparison import StepDifference
from ottla.conformance.selection import select
from ottla.conformance.transcript import Json
from tests.support.toy_broker import ToyBroker


class ToyPeer:
    """Ends with each Heartbeat v0, and answers v1 as Kafka does."""

    name = "toy"
    told: Mapping[str, str] = {}

    def missing(self) -> str | None:
        return None

    def version(self) -> str:
        return "1"

    @contextmanager
    def start(self) -> Iterator[str]:
        with ToyBroker(ToyBroker.gone) as toy:
            yield toy.bootstrap


def test_a_broker_that_ends_is_started_again_for_the_rest() -> None:
    """The script that ended it has no answer; what it does not claim is not counted against it."""
    played = conformance.play(ToyPeer(), "heartbeat")
    counts = played["counts"]
    assert (counts["equal"], counts["no answer"], counts["different"], counts["not run"]) == (1, 1, 0, 0)
    assert sum(counts.values()) == len(select("4.4", of_areas=["heartbeat"]))
    assert played["restarts"] == 1
    assert played["no answer"] == {"heartbeat_without_a_group": [0]}
    assert "the connection was closed at Heartbeat v0" in played["reasons"]


def _result(expected: Json, got: Json) -> Result:
    (case, *_) = select("4.4", of_areas=["heartbeat"])
    return Result(case, Outcome.DIFFERENT, differences=[StepDifference(0, "ana", {}, expected, got, ())])


def test_other_fields_beside_the_same_error_codes() -> None:
    """In whatever depth; a closed connection is no answer with the same codes."""
    of_kafka: Json = {"topics": [{"name": "a", "error_code": "INVALID_RECORD", "base_offset": -1}]}
    same: Json = {"topics": [{"name": "a", "error_code": "INVALID_RECORD"}]}
    other: Json = {"topics": [{"name": "a", "base_offset": -1}]}
    assert conformance.has_same_errors(_result(of_kafka, same))
    assert not conformance.has_same_errors(_result(of_kafka, other))
    assert not conformance.has_same_errors(_result({}, "closed"))


def test_the_section_counts_each_broker_and_each_area() -> None:
    """Those with the same error codes apart; where nothing was played there is a dash."""
    counts = {"equal": 5, "different": 3, "no answer": 1, "not claimed": 2, "not run": 4}
    nothing = dict.fromkeys(counts, 0) | {"not claimed": 7}
    areas = {
        "join": {"counts": counts, "same errors": 2, "restarts": 1},
        "sync": {"counts": nothing, "same errors": 0, "restarts": 0},
    }
    row = {"peer": "kfake", "version": "v1", "made": "2026-11-22", "commit": "1234567", "areas": areas}
    shown = conformance_section.lines({"release": "4.4", "rows": [row]})
    assert "| kfake v1 | 5 | 2 | 1 | 1 | 9 | 4 | 2026-11-22, 1234567 |" in shown
    assert "| join | 5 of 9 |" in shown
    assert "| sync | – |" in shown
    assert any(line.startswith("- kfake: ") and "ended once" in line for line in shown)
