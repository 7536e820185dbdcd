"""Requests and answers as whole frames, ready to be sent and to be compared with what comes back."""

from __future__ import annotations

import struct

from ottla.protocol.headers import encode_request_header
from ottla.protocol.primitives import Message
from tests.support.client import api_of

#: All requests of the load carry this correlation id: brokers echo it, so equal requests have equal answers.
CORRELATION_ID = 7


def request_frame(request: Message, version: int, *, client_id: str = "bench") -> bytes:
    """A request with its header and size."""
    api = api_of(request)
    header = encode_request_header(api.key, version, CORRELATION_ID, client_id, api.is_flexible(version))
    return _sized(header + request.encode(version))


def answer_frame(answer: Message, version: int) -> bytes:
    """An answer with its header and size, for versions that are not flexible."""
    return _sized(struct.pack(">i", CORRELATION_ID) + answer.encode(version))


def received_frame(received: bytes) -> bytes:
    """What was received without its size, with it."""
    return _sized(received)


def teaching_frame(answer: bytes) -> bytes:
    """What makes the echo answer every later frame with `answer`."""
    return _sized(answer)


def _sized(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body
