"""TCP ports for processes that must be told theirs beforehand; whoever can bind port 0 needs none of this."""

from __future__ import annotations

import random
import socket
from typing import Final

#: Below Linux's range for outgoing connections (32768 up): no client's socket comes in between.
PORTS: Final = range(20_000, 32_768)


def free_ports(count: int) -> list[int]:
    """`count` different ports of 127.0.0.1 that nobody listens on at this moment."""
    ports: list[int] = []
    for port in random.sample(PORTS, k=len(PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError(f"no {count} free ports between {PORTS.start} and {PORTS.stop - 1} on 127.0.0.1")
