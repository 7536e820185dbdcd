"""Connections, and requests as far as they are no handler's."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind, Once
from ottla.events.kinds.phrases import peer


class NetworkEvents:
    """The kinds, by their names in code."""

    CONNECTION_OPENED: Final = EventKind(
        "connection.opened",
        None,
        ("listener", "client_host", "client_port"),
        "A client has connected.",
        says=lambda d: f"connected: {peer(d)}",
        is_minor=True,
    )
    CONNECTION_CLOSED: Final = EventKind(
        "connection.closed",
        None,
        ("listener", "client_host", "client_port"),
        "A connection was closed by either side.",
        says=lambda d: f"disconnected: {peer(d)}",
        is_minor=True,
    )
    CONNECTION_REFUSED: Final = EventKind(
        "connection.refused",
        "warning",
        ("client_host", "reason", "frame"),
        "A client sent bytes that can't be decoded, or a request that is not served; `frame` is its beginning. The "
        "connection is closed.",
        says=lambda d: f"connection of {d['client_host']} refused: {d['reason']}",
    )
    CONNECTION_FOREIGN: Final = EventKind(
        "connection.foreign",
        "warning",
        ("client_host", "reason"),
        "A client speaks another protocol, such as TLS or HTTP. The connection is closed. Logged once for each client, "
        "and again after a second of silence.",
        says=lambda d: f"connection of {d['client_host']} refused: {d['reason']}",
        once=Once(("client_host", "reason"), "reason", 1_000),
    )
    CONNECTION_IDLE_CLOSED: Final = EventKind(
        "connection.idle.closed",
        "info",
        ("client_host",),
        "A connection was idle for connections.max.idle.ms and was closed.",
    )
    CONNECTION_FAILED: Final = EventKind(
        "connection.failed",
        "error",
        ("client_host", "frame"),
        "Reading a request raised an exception (a bug), with its traceback. The connection is closed.",
    )
    CONNECTION_CALLBACK_FAILED: Final = EventKind(
        "connection.callback.failed",
        "error",
        ("client_host",),
        "A part of the broker raised an exception (a bug) when a connection was closed, with its traceback. The other "
        "parts have done their work.",
    )
    REQUEST_REFUSED: Final = EventKind(
        "request.refused",
        "warning",
        ("api", "api_version", "reason"),
        "A request was answered UNKNOWN_SERVER_ERROR because the right answer can't be encoded.",
    )
    REQUEST_FAILED: Final = EventKind(
        "request.failed", "error", ("api", "api_version"), "A handler raised an exception (a bug), with its traceback."
    )
    REQUEST_HANDLED: Final = EventKind(
        "request.handled",
        "debug",
        ("api", "api_version", "correlation_id", "client_id", "client_host", "duration_ms"),
        "A request was answered.",
    )
