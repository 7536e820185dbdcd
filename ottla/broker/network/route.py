"""How one version of one API is decoded, handled and answered.

What calls know of it, too: so nothing here knows a call, or a connection.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from ottla.broker.network.apis import SERVED, Lane
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import (
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
    from ottla.broker.node.broker_node import BrokerNode

#: Gets the decoded request, and the node that was asked.
IsLong: TypeAlias = "Callable[[Message, BrokerNode], bool]"


class Beginning(Protocol):
    """What the beginning of a request says that comes again with another end. `at`: where in the frame it ends."""

    at: int

    def read(self, frame: bytes, /) -> Message | None:
        """The request in a frame that begins so; None: it has to be decoded."""


#: Gets a frame, the request that was decoded from it, and its version; None: it is not worth remembering.
BeginningOf: TypeAlias = Callable[[bytes, Any, int], Beginning | None]
#: From (frame, where the body begins, version, node that was asked) to the answer's body; None: nothing has happened,
#: and the request goes to the handler.
AnswerPlain: TypeAlias = "Callable[[bytes, int, int, BrokerNode], bytes | None]"

#: Gets the decoded request and its `Call`; None: the call is going to be answered later.
Handler: TypeAlias = Callable[[Message, Any], Message | None]
Refuse: TypeAlias = Callable[[Message, ErrorCode], Message]


class HandlerModule(Protocol):
    """A module of `handlers`. Each has the request and the answer of its own API for `Message`."""

    handle: Handler
    refuse: Refuse
    """The answer to a request that cannot be served: every item of the request with this error code."""


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
        #: What requests go to: the handler, unless there is an interceptor before it.
        self.handle = self.handler
        #: Of a request that is small: whether it is much work all the same. None: it never is.
        self.is_long: IsLong | None = getattr(module, "is_long", None)
        #: Of requests that are the same but for their end: what the beginning says. None: they are no such requests.
        self.beginning_of: BeginningOf | None = getattr(module, "beginning_of", None)
        #: Whether decoding a request may be spared when the connection's last one was the same, or began so.
        self.is_remembered = self.repeats or self.beginning_of is not None
        self.refuse: Refuse = module.refuse
        #: The handler's short way, if it has one for this version; and again while it is taken: without an interceptor.
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
