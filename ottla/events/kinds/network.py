"""Connections, and requests as far as they are no handler's."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

CONNECTION_OPENED: Final = Row(
    "connection.opened", None, ("listener", "client_host", "client_port"), "A client has connected."
)
CONNECTION_CLOSED: Final = Row(
    "connection.closed", None, ("listener", "client_host", "client_port"), "A connection is gone, whoever ended it."
)
CONNECTION_REFUSED: Final = Row(
    "connection.refused",
    "warning",
    ("client_host", "reason", "frame"),
    "What came could not be understood or is not served; `frame` is how it began. The connection is closed.",
)
CONNECTION_FOREIGN: Final = Row(
    "connection.foreign",
    "warning",
    ("client_host", "reason"),
    "A client speaks another protocol, such as TLS or HTTP. The connection is closed. In the log once for a client, "
    "until it has been silent for a second.",
)
CONNECTION_IDLE_CLOSED: Final = Row(
    "connection.idle.closed", "info", ("client_host",), "Silent for connections.max.idle.ms."
)
CONNECTION_FAILED: Final = Row(
    "connection.failed",
    "error",
    ("client_host", "frame"),
    "What came did not get as far as a handler; a bug of ours, with its traceback. The connection is closed.",
)
REQUEST_REFUSED: Final = Row(
    "request.refused",
    "warning",
    ("api", "api_version", "reason"),
    "Answered UNKNOWN_SERVER_ERROR because the right answer can't be written.",
)
REQUEST_FAILED: Final = Row(
    "request.failed", "error", ("api", "api_version"), "A handler raised; a bug of ours, with its traceback."
)
REQUEST_HANDLED: Final = Row(
    "request.handled",
    "debug",
    ("api", "api_version", "correlation_id", "client_id", "client_host", "duration_ms"),
    "A request is answered.",
)
