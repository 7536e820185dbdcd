"""From the first four bytes of a frame, api key and version, to who decodes and handles it.

A route is made when its API and version are first asked for: that imports the API's codec and its handler, so a broker
that only ever sees heartbeats has never loaded CreateTopics. What is not served has no route, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from struct import Struct
from typing import Any, Final, TypeAlias

from ottla.broker.cluster.node import Node
from ottla.broker.network.apis import SERVED, Lane
from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import API_VERSIONS_KEY, has_tagged_response_header
from ottla.protocol.primitives import Message, Reader, Writer
from ottla.protocol.registry import api

#: Gets the decoded request; returns the answer, or None when `call.answer` is going to be called.
Handler: TypeAlias = Callable[[Any, Call], Message | None]
#: Gets the decoded request, and who was asked.
IsLong: TypeAlias = Callable[[Any, Node], bool]
#: The answer of this API to a request that cannot be served: every item of the request with this error code.
Refuse: TypeAlias = Callable[[Any, ErrorCode], Message]

_KEY_AND_VERSION: Final = Struct(">hh")


class NotServed(Exception):
    """There is no route; the text says why, for the log."""


class Route:
    """How one version of one API is decoded, handled and answered."""

    __slots__ = (
        "answer_header_tagged",
        "brief_bytes_max",
        "flexible",
        "handle",
        "is_long",
        "lane",
        "last_answer",
        "last_body",
        "name",
        "read",
        "refuse",
        "repeats",
        "version",
        "write",
    )

    def __init__(self, key: int, version: int) -> None:
        served = SERVED[key]
        codec = api(key)
        module = import_module(f"ottla.broker.handlers.{codec.module}")
        self.name = codec.name
        self.version = version
        self.lane: Lane = served.lane
        self.repeats = served.repeats
        self.brief_bytes_max = served.brief_bytes_max
        #: If it repeats: the last answer, and its bytes.
        self.last_answer: Message | None = None
        self.last_body = b""
        self.flexible = codec.is_flexible(version)
        self.answer_header_tagged = has_tagged_response_header(key, self.flexible)
        self.read: Reader = codec.request.READERS[version]
        self.write: Writer = codec.response.WRITERS[version]
        self.handle: Handler = module.handle
        #: Of a request that is small: whether it is much work all the same. None: it never is.
        self.is_long: IsLong | None = getattr(module, "is_long", None)
        self.refuse: Refuse = module.refuse


def _unknown_api_versions(version: int) -> Route:
    """The one API whose unknown versions are answered, in the form every client can read; the body is passed over.

    KIP-511. Not for keeping: there are as many versions as a client can think of.
    """
    route = Route(API_VERSIONS_KEY, 0)
    route.flexible = api(API_VERSIONS_KEY).is_flexible(version)
    route.read = lambda _frame, position: (None, position)
    route.handle = lambda _request, _call: route.refuse(None, ErrorCode.UNSUPPORTED_VERSION)
    return route


class Routes:
    """All routes made so far, by the four bytes a frame begins with."""

    def __init__(self) -> None:
        self._routes: dict[bytes, Route] = {}
        #: The quick way in, for routes that exist already.
        self.get = self._routes.get

    def find(self, key_and_version: bytes) -> Route:
        """The route for these four bytes, made if need be. Raises `NotServed`, and whatever an import may raise."""
        key, version = _KEY_AND_VERSION.unpack(key_and_version)
        served = SERVED.get(key)
        if served is None:
            raise NotServed(f"api key {key} is not served")
        if not served.version_first_served <= version <= served.version_last:
            if key == API_VERSIONS_KEY:
                return _unknown_api_versions(version)
            name = api(key).name
            raise NotServed(
                f"{name} v{version} is not served, only v{served.version_first_served}–v{served.version_last}"
            )
        route = self._routes[key_and_version] = Route(key, version)
        return route
