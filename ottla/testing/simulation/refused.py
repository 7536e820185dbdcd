"""What a simulation has not, said when it is asked for."""

from __future__ import annotations


class NotSimulated(RuntimeError):
    """What was asked would leave the simulation, for the real network, a thread or another process."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not simulated; a test that needs it has a real broker, ottla.testing.Broker")


class NothingWillHappen(RuntimeError):
    """Everybody waits, and nothing is scheduled, or not within the limit."""
