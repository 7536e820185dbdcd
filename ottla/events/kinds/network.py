"""Connections, and requests as far as they are no handler's."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

CONNECTION_OPENED: Final = Row(
    "connection.opened", None, ("listener", "client_host", "client_port"), "A client has connected."
)
CONNECTION_CLOSED: Final = Row(
    "connection.closed", None, ("listener", "client_host", "client_port"), "A connection was closed by either side."
)
CONNECTION_REFUSED: Final = Row(
    "connection.refused",
    "warning",
    ("client_host", "reason", "frame"),
    "A client sent bytes that can't be decoded, or a request that is not served; `frame` is its beginning. The "
    "connection is closed.",
)
CONNECTION_FOREIGN: Final = Row(
    "connection.foreign",
    "warning",
    ("client_host", "reason"),
    "A client speaks another protocol, such as TLS or HTTP. The connection is closed. Logged once for each client, "
    "and again after a second of silence.",
)
CONNECTION_IDLE_CLOSED: Final = Row(
    "connection.idle.closed",
    "info",
    ("client_host",),
    "A connection was idle for connections.max.idle.ms and was closed.",
)
CONNECTION_FAILED: Final = Row(
    "connection.failed",
    "error",
    ("client_host", "frame"),
    "Reading a request raised an exception (a bug), with its traceback. The connection is closed.",
)
REQUEST_REFUSED: Final = Row(
    "request.refused",
    "warning",
    ("api", "api_version", "reason"),
    "A request was answered UNKNOWN_SERVER_ERROR because the right answer can't be encoded.",
)
REQUEST_FAILED: Final = Row(
    "request.failed", "error", ("api", "api_version"), "A handler raised an exception (a bug), with its traceback."
)
REQUEST_HANDLED: Final = Row(
    "request.handled",
    "debug",
    ("api", "api_version", "correlation_id", "client_id", "client_host", "duration_ms"),
    "A request was answered.",
)
