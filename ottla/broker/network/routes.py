"""From the first four bytes of a frame, api key and version, to who decodes and handles it.

A route is made when its API and version are first asked for: that imports the API's codec and its handler, so a broker
that only ever sees heartbeats has never loaded CreateTopics. What is not served has no route, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from ottla.broker.network.apis import SERVED, Lane
from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import (
    API_VERSIONS_KEY,
    RESPONSE_HEADER,
    RESPONSE_HEADER_TAGGED,
    SIZE_BYTES,
    has_tagged_response_header,
    read_client_id,
    skip_header_tags,
)
from ottla.protocol.primitives import DecodeError, Message, ReadMessage, WriteMessage
from ottla.protocol.registry import api

if TYPE_CHECKING:
    from ottla.broker.network.interception import Interceptor
    from ottla.broker.node.broker_node import BrokerNode

#: Gets the decoded request, and who was asked.
IsLong: TypeAlias = "Callable[[Message, BrokerNode], bool]"


class Beginning(Protocol):
    """What the beginning of a request says that comes again with another end. `at`: where in the frame it ends."""

    at: int

    def read(self, frame: bytes, /) -> Message | None:
        """The request in a frame that begins so; None: it has to be decoded."""


#: Gets a frame, the request that was decoded from it, and its version; None: it is not worth remembering.
BeginningOf: TypeAlias = Callable[[bytes, Any, int], Beginning | None]
#: From (frame, where the body begins, version, who was asked) to the answer's body; None: nothing has happened, and the
#: request goes to the handler.
AnswerPlain: TypeAlias = "Callable[[bytes, int, int, BrokerNode], bytes | None]"

Handler: TypeAlias = Callable[[Message, Call], Message | None]
Refuse: TypeAlias = Callable[[Message, ErrorCode], Message]


class HandlerModule(Protocol):
    """A module of `handlers`. Each has the request and the answer of its own API for `Message`."""

    def handle(self, request: Message, call: Call, /) -> Message | None:
        """The answer, or None when `call.answer` is going to be called."""

    def refuse(self, request: Message, error_code: ErrorCode, /) -> Message:
        """The answer to a request that cannot be served: every item of the request with this error code."""


#: In place of a body that nobody can read.
_NO_REQUEST: Final = Message()
_KEY_AND_VERSION: Final = Struct(">hh")


class NotServed(Exception):
    """There is no route; the text says why, for the log."""


class Route:
    """How one version of one API is decoded, handled and answered."""

    __slots__ = (
        "answer_plain",
        "beginning_of",
        "bodies",
        "brief_bytes_max",
        "flexible",
        "handle",
        "handler",
        "header_bytes",
        "is_in_group_lane",
        "is_long",
        "is_remembered",
        "name",
        "pack_header",
        "read",
        "refuse",
        "repeats",
        "short_way",
        "version",
        "write",
    )

    def __init__(self, key: int, version: int) -> None:
        served = SERVED[key]
        codec = api(key)
        module = cast("HandlerModule", import_module(f"ottla.broker.handlers.{codec.module}"))
        self.name = codec.name
        self.version = version
        self.is_in_group_lane = served.lane is Lane.GROUP
        self.repeats = served.repeats
        self.brief_bytes_max = served.brief_bytes_max
        #: If it repeats: some of its answers with their bytes, by their ids.
        self.bodies: dict[int, tuple[Message, bytes, int, int]] = {}
        self.flexible = codec.is_flexible(version)
        header = RESPONSE_HEADER_TAGGED if has_tagged_response_header(key, self.flexible) else RESPONSE_HEADER
        #: Makes an answer's header from the size and the correlation id; the size is that of the body and so much more.
        self.pack_header = header.pack
        self.header_bytes = header.size - SIZE_BYTES
        self.read: ReadMessage = codec.request.READERS[version]
        self.write: WriteMessage = codec.response.WRITERS[version]
        self.handler: Handler = module.handle
        #: What requests go to: the handler, unless somebody steps in before it.
        self.handle = self.handler
        #: Of a request that is small: whether it is much work all the same. None: it never is.
        self.is_long: IsLong | None = getattr(module, "is_long", None)
        #: Of requests that are the same but for their end: what the beginning says. None: they are no such requests.
        self.beginning_of: BeginningOf | None = getattr(module, "beginning_of", None)
        #: Whether decoding a request may be spared when the connection's last one was the same, or began so.
        self.is_remembered = self.repeats or self.beginning_of is not None
        self.refuse: Refuse = module.refuse
        #: The handler's short way, if it has one for this version; and while it is taken, for nobody steps in between.
        find_short_way = getattr(module, "short_way", None)
        self.short_way: AnswerPlain | None = find_short_way and find_short_way(version)
        self.answer_plain = self.short_way

    def decode(self, frame: bytes, client_id_length: int) -> tuple[str, Message]:
        """The client id and the request. Raises whatever comes of bytes that can't be understood."""
        client_id, position = read_client_id(frame, client_id_length)
        if self.flexible:
            position = skip_header_tags(frame, position)
        request, end = self.read(frame, position)
        if end > len(frame):
            raise DecodeError(f"the body claims {end - len(frame)} bytes more than the frame has")
        return client_id, request


def _unknown_api_versions(version: int) -> Route:
    """The one API whose unknown versions are answered, in the form every client can read; the body is passed over.

    KIP-511. Not for keeping: there are as many versions as a client can think of.
    """
    route = Route(API_VERSIONS_KEY, 0)
    route.flexible = api(API_VERSIONS_KEY).is_flexible(version)
    route.read = lambda _frame, position: (_NO_REQUEST, position)
    route.handler = route.handle = lambda _request, _call: route.refuse(_NO_REQUEST, ErrorCode.UNSUPPORTED_VERSION)
    return route


class Routes:
    """All routes made so far, by the four bytes a frame begins with."""

    def __init__(self, *, has_short_ways: bool = True) -> None:
        """`has_short_ways`: whether everybody may do everything, for short ways ask no authorizer."""
        self._routes: dict[bytes, Route] = {}
        self._has_short_ways = has_short_ways
        self._interceptor: Interceptor | None = None
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
                return self._laid(_unknown_api_versions(version))
            name = api(key).name
            raise NotServed(
                f"{name} v{version} is not served, only v{served.version_first_served}–v{served.version_last}"
            )
        route = self._routes[key_and_version] = self._laid(Route(key, version))
        return route

    def intercept(self, interceptor: Interceptor | None) -> None:
        """Let somebody step in before every request is handled, from now on; None: nobody any more."""
        self._interceptor = interceptor
        for route in self._routes.values():
            self._laid(route)

    def _laid(self, route: Route) -> Route:
        """The route, leading to its handler past whoever steps in."""
        interceptor = self._interceptor
        route.answer_plain = route.short_way if self._has_short_ways and interceptor is None else None
        if interceptor is None:
            route.handle = route.handler
        else:
            from ottla.broker.network.interception import intercepting

            route.handle = intercepting(route.handler, interceptor)
        return route
