"""For users' tests: a broker in a fixture or a `with` block, and time under the test's control.

    from ottla.testing import Broker, simulated

The `kafka` fixture is there as soon as Ottla is installed; see `ottla.testing.plugin`. For its sake every run of pytest
imports this package, so the broker itself, and asyncio, are loaded when somebody asks for them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.simulation.simulated import simulated
    from ottla.testing.simulation.simulation import Simulation
else:
    _HOMES = {
        "Broker": "ottla.testing.broker",
        "Simulation": "ottla.testing.simulation.simulation",
        "simulated": "ottla.testing.simulation.simulated",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)


__all__ = ["Broker", "Simulation", "simulated"]
