"""For users' tests: a broker in a fixture or a `with` block, time under the test's control, and what happens in view.

    from ottla.testing import Broker, simulated

The `kafka` fixture is there as soon as Ottla is installed; see `ottla.testing.plugin`. For its sake every run of pytest
imports this package, so the broker itself, and asyncio, are loaded when somebody asks for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.control.changes.snapshot import SnapshotRefused
    from ottla.control.changes.topics import ChangeRefused
    from ottla.control.faults.misuse import BadFault
    from ottla.control.state.topics import NoSuchTopic
    from ottla.control.state.waiting import NotInTime
    from ottla.testing.broker import Broker
    from ottla.testing.case import KafkaTestCase
    from ottla.testing.faults import FaultNeverFired
    from ottla.testing.simulation.simulated import simulated
    from ottla.testing.simulation.simulation import Simulation
else:
    #: Where each name comes from.
    _PLACES = {
        "BadFault": "ottla.control.faults.misuse",
        "Broker": "ottla.testing.broker",
        "ChangeRefused": "ottla.control.changes.topics",
        "FaultNeverFired": "ottla.testing.faults",
        "KafkaTestCase": "ottla.testing.case",
        "NoSuchTopic": "ottla.control.state.topics",
        "NotInTime": "ottla.control.state.waiting",
        "Simulation": "ottla.testing.simulation.simulation",
        "SnapshotRefused": "ottla.control.changes.snapshot",
        "simulated": "ottla.testing.simulation.simulated",
    }

    def __getattr__(name):
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)


__all__ = [
    "BadFault",
    "Broker",
    "ChangeRefused",
    "FaultNeverFired",
    "KafkaTestCase",
    "NoSuchTopic",
    "NotInTime",
    "Simulation",
    "SnapshotRefused",
    "simulated",
]
