"""A script that asks the control API of a broker, and one that says whatever it likes."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Final, Generic, Protocol, TypeVar

from tests.support.patience import PATIENCE_SECONDS

JSON: Final = {"Content-Type": "application/json"}
#: The beginnings of requests; a blank line ends the head.
GET: Final = b"GET /clock HTTP/1.1\r\nHost: localhost\r\n"
POST: Final = b"POST /clock/advance HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Controlled(Protocol):
    """A broker that has a control API."""

    @property
    def control(self) -> str:
        """HOST:PORT."""


Broker = TypeVar("Broker", bound=Controlled)


class Script(Generic[Broker]):
    """Asks the control API, a connection for each request."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """Status and decoded answer."""
        connection = self.connect()
        try:
            connection.request(method, path, body, JSON)
            answer = connection.getresponse()
            assert answer.headers["Content-Type"] == "application/json"
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, answer = self.ask("GET", path)
        assert status == 200
        return answer

    def advance(self, ms: int) -> Any:
        status, answer = self.ask("POST", "/clock/advance", json.dumps({"ms": ms}).encode())
        assert status == 200, answer
        return answer

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.broker.control, timeout=PATIENCE_SECONDS)

    def raw(self) -> socket.socket:
        host, _, port = self.broker.control.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)


def read_all(client: socket.socket) -> bytes:
    """What comes until the other side closes."""
    received = b""
    while part := client.recv(65_536):
        received += part
    return received
