"""Test suites that clients' authors wrote, run against Ottla and a live Kafka: `python -m compatibility.suites`.

Nothing of a suite is kept here. Each comes from its registry into `.cache/suites`, and is run as it is, in a network of
its own in which the broker listens on localhost:9092, as many suites have it written down.

    suite.py     what a suite is, and what comes of one
    golang.py    tests in Go: their module, the program built of them, what it prints
    franz_go.py, kafka_go.py, kafka_python.py   one module for each
    known.py     why tests fail or skip themselves, where that was found out
    not_had.py   suites that no registry has, or that can't be run here, with the reason
    room.py      the network, the broker in it, and the suite beside it
    record.py    what is kept of it
"""

from __future__ import annotations

from typing import Final

from compatibility.suites.franz_go import FRANZ_GO
from compatibility.suites.kafka_go import KAFKA_GO
from compatibility.suites.kafka_python import KAFKA_PYTHON
from compatibility.suites.suite import Suite

SUITES: Final[tuple[Suite, ...]] = (FRANZ_GO, KAFKA_PYTHON, KAFKA_GO)
