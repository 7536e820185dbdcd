"""Whether what listens at an address speaks Kafka's protocol, asked before aiokafka is let near it.

aiokafka reads as many bytes as an answer's first four claim. A server of another protocol claims whatever its text
says: "HTTP" is 1.2 GB. So one ApiVersions request is sent first, and the beginning of its answer is looked at.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from typing import Final

_CORRELATION_ID: Final = 0x0771_A000
_CLIENT_ID: Final = b"ottla-cli"
#: ApiVersions (api key 18) v0, which every Kafka since 0.10 answers, whatever it refuses else.
_BODY: Final = struct.pack(f">hhih{len(_CLIENT_ID)}s", 18, 0, _CORRELATION_ID, len(_CLIENT_ID), _CLIENT_ID)
_REQUEST: Final = struct.pack(">i", len(_BODY)) + _BODY
#: A size and a correlation id.
_ANSWER_BEGINS: Final = struct.Struct(">ii")
#: Kafka 4.4's answer has some 600 bytes.
_ANSWER_BYTES_MAX: Final = 1 << 20
_SHOWN_BYTES: Final = 8


class NotKafka(Exception):
    """Something answers that is no Kafka; the text is for people."""


async def check_is_kafka(bootstrap: str) -> None:
    """Returns if one of the addresses, HOST:PORT with commas between, speaks Kafka, or if none says anything.

    Raises `NotKafka` if what answers speaks another protocol.
    """
    foreign: NotKafka | None = None
    for address in bootstrap.split(","):
        said = await _first_bytes(address)
        if len(said) == _ANSWER_BEGINS.size:
            size, correlation_id = _ANSWER_BEGINS.unpack(said)
            if correlation_id == _CORRELATION_ID and 0 < size <= _ANSWER_BYTES_MAX:
                return
        if said:
            foreign = NotKafka(
                f"{address} answers, but not in Kafka's protocol: its answer begins with {said!r}; name the port of a "
                "broker, and a listener without TLS"
            )
    if foreign is not None:
        raise foreign


async def _first_bytes(address: str) -> bytes:
    """What comes back, at most the beginning of an answer; nothing if there is no connection."""
    host, _, port = address.rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, UnicodeError):
        return b""
    try:
        writer.write(_REQUEST)
        return await reader.readexactly(_SHOWN_BYTES)
    except asyncio.IncompleteReadError as error:
        return error.partial
    except OSError:
        return b""
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
