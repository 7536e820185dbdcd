"""Host and port as they are written in options, and what a user can do when the machine can't listen there."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from dataclasses import dataclass
from typing import Final

from ottla.settings.settings import ConfigError

PORT_MAX: Final = 65_535

#: What to do about it, by the error of the attempt.
_ADVICE: Final = {
    errno.EADDRINUSE: "stop what listens there, or choose another port with {form}; port 0: any free one",
    errno.EACCES: "ports below 1024 need root; choose a higher one with {form}",
    errno.EADDRNOTAVAIL: "the host must be a name or an address of this machine; change {form}",
    socket.EAI_NONAME: "the host must be a name or an address of this machine; change {form}",
}


class MachineRefused(Exception):
    """The machine would not do what was asked, such as a port that is taken; the text says what to do about it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, or where to be found. Port 0 lets the machine choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, option: str) -> Address:
        """Read HOST:PORT, an IPv6 host in brackets. Raises `ConfigError` naming the option."""
        host, colon, port = text.rpartition(":")
        is_bracketed = host.startswith("[") and host.endswith("]")
        host = host[1:-1] if is_bracketed else host
        if not colon or not host or (":" in host and not is_bracketed):
            raise ConfigError(f"{option} {text} is not HOST:PORT; write for example {option} 127.0.0.1:9092")
        if not (port.isascii() and port.isdecimal() and len(port) < 6 and int(port) <= PORT_MAX):
            raise ConfigError(f"{option} {text}: the port is a whole number from 0 to {PORT_MAX}")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_wildcard(self) -> bool:
        """An address to listen on but not to be reached at, such as 0.0.0.0. An empty host is one, too."""
        try:
            return not self.host or ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def ip_version(self) -> int | None:
        """4 or 6; None for a name."""
        try:
            return ipaddress.ip_address(self.host).version
        except ValueError:
            return None

    @property
    def from_here(self) -> Address:
        """Where a program on this machine reaches it: of every interface, the loopback."""
        return Address("::1" if self.ip_version == 6 else "127.0.0.1", self.port) if self.is_wildcard else self

    def plus(self, index: int) -> Address:
        """Where the node with this index is: on port + index, or on whichever is free."""
        return Address(self.host, self.port + index if self.port else 0)

    def refused(self, option: str, error: OSError) -> MachineRefused:
        """What to raise when listening here fails."""
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error.strerror or error)
        form = "listeners=NAME://HOST:PORT" if option == "listeners" else f"{option} HOST:PORT"
        advice = _ADVICE.get(number, "choose another with {form}").format(form=form)
        return MachineRefused(f"{option}: cannot listen on {self}: {reason}; {advice}")
