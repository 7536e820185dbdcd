"""For users' tests: a broker in a fixture or a `with` block, and time under the test's control.

    from ottla.testing import Broker

The `kafka` fixture is there as soon as Ottla is installed; see `ottla.testing.plugin`. For its sake every run of pytest
imports this package, so the broker itself, and asyncio, are loaded when somebody asks for them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
else:

    def __getattr__(name):
        if name != "Broker":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ottla.testing.broker import Broker

        return Broker


__all__ = ["Broker"]
