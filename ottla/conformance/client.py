"""A client of messages: encodes what it is given for any version, and decodes answers in the order they were asked for.

It never retries, refreshes metadata or looks for a coordinator; it is for tests that care about single answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from ottla.conformance.claims import Claims
from ottla.conformance.member_ids import MemberIds
from ottla.conformance.wire import Connection, ConnectionClosedError, SilenceError, Tap
from ottla.protocol.headers import has_tagged_response_header, skip_header_tags
from ottla.protocol.primitives import Message
from ottla.protocol.registry import Api, all_apis

API: Final = {api.name: api for api in all_apis()}


def api_of(request: Message) -> Api:
    """The API that this request object belongs to."""
    return API[type(request).__name__.removesuffix("Request")]


@dataclass(frozen=True, slots=True)
class Answer:
    """A decoded answer, and whether encoding it again gives the very bytes that came."""

    api: Api
    version: int
    message: Any
    canonical: bool


class Client:
    """One connection that speaks in messages. With `claims` it asks for nothing that the broker does not serve.

    `member_ids` hears of those that the broker makes up.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str | None = "test",
        timeout_seconds: float = 10.0,
        claims: Claims | None = None,
        tap: Tap | None = None,
        member_ids: MemberIds | None = None,
    ) -> None:
        self.connection = Connection(bootstrap, timeout_seconds=timeout_seconds, tap=tap)
        self._claims = claims
        self._client_id = client_id
        self._member_ids = member_ids
        self._stem: str | None = None
        self._timeout_seconds = timeout_seconds
        self._asked: deque[tuple[int, Api, int]] = deque()

    def ask(self, request: Message, version: int) -> Any:
        """Send and wait; returns the answer's message."""
        self.send(request, version)
        return self.receive().message

    def send(self, request: Message, version: int, *, answered: bool = True) -> None:
        """Send and go on. `answered=False` is for Produce with acks=0, which has no answer to wait for."""
        self.joins(request)
        self.send_body(api_of(request), version, request.encode(version), answered=answered)

    def joins(self, request: Message) -> None:
        """Take notice of who is going to join, for `send_body` knows no messages."""
        if self._member_ids is not None:
            self._stem = self._member_ids.asked(request, self._client_id) or self._stem

    def send_body(
        self, api: Api, version: int, body: bytes, *, answered: bool = True, answered_as: int | None = None
    ) -> None:
        """Send a body that need not be a message of this API; `answered_as` is the answer's version if another."""
        if self._claims is not None:
            self._claims.require(api, version)
        with _named(api, version, self._timeout_seconds):
            correlation_id = self.connection.send_request(
                api.key, version, body, flexible=api.is_flexible(version), client_id=self._client_id
            )
        if answered:
            self.expect(api, version if answered_as is None else answered_as, correlation_id=correlation_id)

    def expect(self, api: Api, version: int, *, correlation_id: int) -> None:
        """Read the answer after those already due as one of this API and version."""
        self._asked.append((correlation_id, api, version))

    @property
    def is_due(self) -> bool:
        """Is there a request whose answer has not been taken yet?"""
        return bool(self._asked)

    def receive(self, *, timeout_seconds: float | None = None) -> Answer:
        """The answer to the oldest request that has none yet; raises what `Connection.receive_frame` raises.

        Raises `ValueError` and its like for what can't be read.
        """
        patience = timeout_seconds or self._timeout_seconds
        correlation_id, api, version = self._asked[0]
        with _named(api, version, patience):
            frame = self.connection.receive_frame(timeout_seconds=patience)
        self._asked.popleft()
        got = int.from_bytes(frame[:4], "big", signed=True)
        if got != correlation_id:
            raise ValueError(f"{api.name} v{version}, sent as {correlation_id}, is answered as {got}")
        start = 4
        if has_tagged_response_header(api.key, api.is_flexible(version)):
            start = skip_header_tags(frame, start)
        message = api.response.decode(frame, version, start)
        if self._member_ids is not None:
            self._member_ids.answered(message, self._stem)
        return Answer(api, version, message, message.encode(version) == frame[start:])

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _named(api: Api, version: int, patience_seconds: float) -> Iterator[None]:
    """Have the words of what ends without an answer say which request it was."""
    try:
        yield
    except SilenceError as error:
        raise SilenceError(f"no answer to {api.name} v{version} within {patience_seconds:g} s") from error
    except ConnectionClosedError as error:
        raise ConnectionClosedError(f"the connection was closed at {api.name} v{version}") from error
