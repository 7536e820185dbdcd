"""The addresses of a cluster that the user gives: whether they can be used, and why no broker answers there."""

from __future__ import annotations

import math
import socket
from typing import Final

_START_OR_NAME: Final = "start a broker with `ottla serve`, or name another one with"


def fault_of(bootstrap: str, option: str, timeout_seconds: float) -> str | None:
    """Why these addresses, HOST:PORT with commas between, or the timeout can't be used. None: they can."""
    addresses = [address.rpartition(":") for address in bootstrap.split(",")]
    if not all(host and port.isdecimal() and 0 < int(port) < 65_536 for host, _, port in addresses):
        return f"{option} {bootstrap} is not HOST:PORT, such as 127.0.0.1:9092"
    if not 0 < timeout_seconds < math.inf:
        return f"--timeout {timeout_seconds:g} is not a number above 0; it is in seconds"
    return None


def no_answer(bootstrap: str, option: str) -> str:
    """Why none of these addresses answers, as far as this machine can tell; `option` names others."""
    hosts = [address.rpartition(":")[0].strip("[]") for address in bootstrap.split(",")]
    if not any(map(_is_known, hosts)):
        return (
            f"no address is known for {' or '.join(dict.fromkeys(hosts))}; correct the name in {option} HOST:PORT, "
            "or see to it that this machine can look it up"
        )
    return f"nothing answers at {bootstrap}; {_START_OR_NAME} {option} HOST:PORT"


def _is_known(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return True
