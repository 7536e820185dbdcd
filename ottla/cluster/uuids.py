"""Kafka's uuids: of topics and clusters, and those in ids of members. Kafka: org.apache.kafka.common.Uuid."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable


def random_uuid(random_bytes: Callable[[int], bytes] = os.urandom) -> bytes:
    """Sixteen random bytes for a topic or a cluster: a version 4 uuid that does not start with '-' as text."""
    while True:
        uuid = _version_4(random_bytes(16))
        if uuid_text(uuid)[0] != "-":
            return uuid


def random_hex_uuid(random_bytes: Callable[[int], bytes] = os.urandom) -> str:
    """A random uuid as Java writes it, in hex with dashes."""
    digits = _version_4(random_bytes(16)).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _version_4(random: bytes) -> bytes:
    """Without the module `uuid`: that loads `platform` too, which takes the first JoinGroup a millisecond."""
    uuid = bytearray(random)
    uuid[6] = uuid[6] & 0x0F | 0x40
    uuid[8] = uuid[8] & 0x3F | 0x80
    return bytes(uuid)


def uuid_text(uuid: bytes) -> str:
    """A uuid as Kafka writes it: 22 characters of url-safe base64."""
    return base64.urlsafe_b64encode(uuid)[:22].decode()


def uuid_of(text: str) -> bytes:
    """The uuid that `uuid_text` writes so."""
    return base64.urlsafe_b64decode(text + "==")
