"""Whether a broker answers: exit code 0 or 1. A program of its own, for a container's health check.

    python3 -I -S health.py [FILE]        FILE: what `ottla serve --ready-file` writes (default: $OTTLA_READY_FILE)

It is started every few seconds, so it imports nothing that takes time, Ottla least of all. One node that answers
ApiVersions is enough: a test may have stopped the others.
"""

import sys
from _socket import AF_INET, AF_INET6, SOCK_STREAM, socket
from posix import environ

#: ApiVersions v0: size, API key, version, correlation id, client id "ottla-health".
_REQUEST = b"\0\0\0\x16\0\x12\0\0\0\0\0\7\0\x0cottla-health"
_SECONDS_MAX = 2


def answers(host: str, port: int) -> bool:
    """Whether a broker is there that takes up requests."""
    asking = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM)
    try:
        asking.settimeout(_SECONDS_MAX)
        asking.connect((host, port))
        asking.send(_REQUEST)
        return asking.recv(8)[4:8] == _REQUEST[8:12]
    except OSError:
        return False
    finally:
        asking.close()


def main() -> int:
    """The exit code."""
    path = sys.argv[1] if len(sys.argv) > 1 else environ.get(b"OTTLA_READY_FILE", b"").decode()
    try:
        with open(path, encoding="utf-8") as file:
            addresses = [line.strip().rpartition(":") for line in file]
    except OSError:  # it is not ready yet, or has ended
        return 1
    return int(not any(answers(host.strip("[]"), int(port)) for host, _, port in addresses))


if __name__ == "__main__":
    sys.exit(main())
