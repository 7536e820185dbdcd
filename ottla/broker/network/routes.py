"""From the first four bytes of a frame, api key and version, to the route of the request.

A route is made when its API and version are first asked for: that imports the API's codec and its handler, so a broker
that only ever sees heartbeats has never loaded CreateTopics. What is not served has no route, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.broker.network.apis import SERVED
from ottla.broker.network.route import Handler, Refuse, Route
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import API_VERSIONS_KEY
from ottla.protocol.primitives import Message
from ottla.protocol.registry import api

if TYPE_CHECKING:
    from ottla.broker.network.interception import Interceptor

#: In place of a body that can't be read.
_NO_REQUEST: Final = Message()
_KEY_AND_VERSION: Final = Struct(">hh")


#: From an API's name, its handler and how it refuses to the handler behind its guards.
PutGuard: TypeAlias = Callable[[str, Handler, Refuse], Handler]


class NotServed(Exception):
    """There is no route; the text says why, for the log."""


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

    def __init__(self, guard: PutGuard | None = None) -> None:
        """`guard`: puts the authorizer's questions before a handler; None: every client may do everything."""
        self._routes: dict[bytes, Route] = {}
        self._guard = guard
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
                return self._directed(_unknown_api_versions(version))
            name = api(key).name
            raise NotServed(
                f"{name} v{version} is not served, only v{served.version_first_served}–v{served.version_last}"
            )
        route = Route(key, version)
        if self._guard is not None:
            route.handler = self._guard(route.name, route.handler, route.refuse)
        self._routes[key_and_version] = self._directed(route)
        return route

    def intercept(self, interceptor: Interceptor | None) -> None:
        """Ask this interceptor before every request is handled, from now on; None: ask none any more."""
        self._interceptor = interceptor
        for route in self._routes.values():
            self._directed(route)

    def _directed(self, route: Route) -> Route:
        """The route, leading to its handler, past the interceptor if there is one."""
        interceptor = self._interceptor
        route.answer_plain = route.short_way if interceptor is None else None
        if interceptor is None:
            route.handle = route.handler
        else:
            from ottla.broker.network.interception import intercepting

            route.handle = intercepting(route.handler, interceptor)
        return route
