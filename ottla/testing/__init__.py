"""For users' tests: a broker in a fixture or a `with` block, and time under the test's control.

    from ottla.testing import Broker

The `kafka` fixture is there as soon as Ottla is installed; see `ottla.testing.plugin`.
"""

from ottla.testing.broker import Broker

__all__ = ["Broker"]
