"""Bounds on what a client can make the broker hold, each with Kafka's own where it has one."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

#: Frames are cut out of one receive buffer that all connections of a process share; larger ones get their own.
RECEIVE_BUFFER_BYTES: Final = 256 * KIB
#: A frame's own buffer starts with at most this much and doubles as bytes arrive, so that a length alone costs nothing.
FRAME_BUFFER_BYTES_FIRST: Final = 1 * MIB
#: Answers below this are joined into one buffer before they are written; above, they are handed over in parts.
JOINED_ANSWER_BYTES_MAX: Final = 64 * KIB
#: Requests that wait in one connection behind one that is parked: what one read can bring.
assert RECEIVE_BUFFER_BYTES >= JOINED_ANSWER_BYTES_MAX
assert FRAME_BUFFER_BYTES_FIRST >= RECEIVE_BUFFER_BYTES
