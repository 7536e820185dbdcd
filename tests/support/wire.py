"""The conformance suite's connection, which sends the bytes it is given and hides nothing."""

from ottla.conformance.wire import Connection, ConnectionClosedError, SilenceError

__all__ = ["Connection", "ConnectionClosedError", "SilenceError"]
