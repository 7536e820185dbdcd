"""Bytes of other protocols that reach the port by mistake. Read as a frame's size they are far too large a number.

A client that is set to TLS, a browser and a health check are told apart by their first four bytes, so that the log says
what to do instead of a number.
"""

from __future__ import annotations

from typing import Final

_HTTP: Final = frozenset({b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI "})
_TLS_HANDSHAKE: Final = b"\x16\x03"


def looks_like(first_bytes: bytes) -> str | None:
    """What the first four bytes of a frame look like and what to do about it; None: nothing that is known."""
    if first_bytes[:2] == _TLS_HANDSHAKE:
        return "this looks like TLS, which is not served; set the client's security.protocol to PLAINTEXT"
    if first_bytes in _HTTP:
        return "this looks like HTTP, and the port speaks Kafka's protocol; HTTP is served at the address of --control"
    return None
