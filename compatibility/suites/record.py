"""What is kept of a suite: counts for each broker, and the names of tests that fail with one of them alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from compatibility.results import Stamp
from compatibility.suites.suite import Outcome, Outcomes, Suite

OTTLA: Final = "ottla"
KAFKA: Final = "kafka"
BROKERS: Final = (OTTLA, KAFKA)


def row(suite: Suite, by_broker: Mapping[str, Outcomes], stamp: Stamp) -> dict[str, Any]:
    """`by_broker` has what came with Ottla, and with Kafka if it was there."""
    failed = {broker: _failed(outcomes) for broker, outcomes in by_broker.items()}
    kept: dict[str, Any] = {
        "suite": suite.name,
        "version": suite.version,
        "origin": suite.origin,
        "scope": suite.scope,
        **stamp.json(),
    }
    for broker in BROKERS:
        kept[broker] = _counts(by_broker[broker]) if broker in by_broker else None
    if len(failed) == len(BROKERS):
        kept["fail with Ottla alone"] = sorted(failed[OTTLA] - failed[KAFKA])
        kept["fail with Kafka alone"] = sorted(failed[KAFKA] - failed[OTTLA])
        kept["fail with both"] = sorted(failed[OTTLA] & failed[KAFKA])
        kept["skipped with Ottla alone"] = sorted(
            name
            for name, outcome in by_broker[OTTLA].items()
            if outcome is Outcome.SKIPPED and by_broker[KAFKA].get(name) is Outcome.PASSED
        )
    return kept


def without(outcomes: Outcomes, alone: frozenset[str]) -> dict[str, Outcome]:
    """The tests that say something of a broker: none of those, and none of their parts."""
    return {name: outcome for name, outcome in outcomes.items() if name.partition("/")[0] not in alone}


def _counts(outcomes: Outcomes) -> dict[str, int]:
    counted = Counter(outcomes.values())
    return {outcome.value: counted[outcome] for outcome in Outcome}


def _failed(outcomes: Outcomes) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome is Outcome.FAILED}
