"""Claims to be an older Kafka, so that a client can be tried against it: its APIs, in its versions, and no others.

What an older broker would answer otherwise within a version is not played: the versions are Kafka's own record of that.
A client that asks for what the older Kafka does not have loses its connection, as there; only ApiVersions itself is
answered UNSUPPORTED_VERSION, in the form that every client can read (KIP-511).
"""

from __future__ import annotations

from ottla.broker.network.apis import SERVED
from ottla.broker.network.route import Route
from ottla.control.faults.exchange import Exchange, RequestAction
from ottla.control.faults.kafka_releases import RELEASES
from ottla.control.faults.misuse import BadFault
from ottla.protocol.copying import changed
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import API_VERSIONS_KEY
from ottla.protocol.messages.api_versions import ApiVersionsResponse
from ottla.protocol.registry import api

_PRODUCE_KEY = 0


def versions_of(release: str) -> dict[int, tuple[int, int]]:
    """What a release of Kafka serves, by api key, as far as Ottla does. Raises `BadFault`."""
    text = RELEASES.get(".".join(release.split(".")[:2]))
    if text is None:
        raise BadFault(f"no Kafka {release!r} is known here; there are {', '.join(RELEASES)}")
    served: dict[int, tuple[int, int]] = {}
    for entry in text.split():
        key, first, last = map(int, entry.replace(":", "-").split("-"))
        ours = SERVED.get(key)
        if ours is None:
            continue
        if key == _PRODUCE_KEY:
            first = ours.version_first  # which Kafka advertises, too: see `apis`
        common = max(first, ours.version_first), min(last, ours.version_last)
        if common[0] <= common[1]:
            served[key] = common
    return served


class PoseAs(RequestAction):
    """Plays the ApiVersions of an older Kafka, and refuses what it would not have understood."""

    def __init__(self, release: str) -> None:
        self.text = f"pose as Kafka {release}"
        self._versions = versions_of(release)
        self._by_name = {api(key).name: versions for key, versions in self._versions.items()}

    def on_request(self, exchange: Exchange) -> None:
        call = exchange.call
        first, last = self._by_name.get(call.route.name, (0, -1))
        if first <= call.api_version <= last:
            exchange.go_on()
        elif call.route.name == "ApiVersions":
            known = [ApiVersionsResponse.ApiVersion(API_VERSIONS_KEY, first, last)]
            call.route = Route(API_VERSIONS_KEY, 0)
            exchange.come_back(ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, known))
        else:
            call.connection.refuse(f"{call.route.name} v{call.api_version} is not served by the Kafka it poses as")

    def on_answer(self, exchange: Exchange) -> None:
        response = exchange.response
        if isinstance(response, ApiVersionsResponse) and not response.error_code:
            listed = [ApiVersionsResponse.ApiVersion(key, *versions) for key, versions in self._versions.items()]
            exchange.response = changed(
                response, api_keys=listed, supported_features=[], finalized_features_epoch=-1, finalized_features=[]
            )
        exchange.go_on()
