"""Why nobody answers at an address, as far as this machine can tell: a name that nobody knows, or a silent port."""

from __future__ import annotations

import socket
from typing import Final

_START_OR_NAME: Final = "start a broker with `ottla serve`, or name another one with"


def no_answer(bootstrap: str, option: str) -> str:
    """What to say when none of these addresses, HOST:PORT with commas between, answers; `option` names others."""
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
