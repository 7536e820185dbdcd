"""Kafka's uuids: ids of topics and of clusters. Kafka: org.apache.kafka.common.Uuid."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable


def random_uuid(random_bytes: Callable[[int], bytes] = os.urandom) -> bytes:
    """Sixteen random bytes for a topic or a cluster: a version 4 uuid that does not start with '-' as text."""
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if uuid_text(bytes(raw))[0] != "-":
            return bytes(raw)


def uuid_text(uuid: bytes) -> str:
    """A uuid as Kafka writes it: 22 characters of url-safe base64."""
    return base64.urlsafe_b64encode(uuid)[:22].decode()


def uuid_of(text: str) -> bytes:
    """The uuid that `uuid_text` writes so."""
    return base64.urlsafe_b64decode(text + "==")
