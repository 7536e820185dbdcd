"""ApiVersions (api key 18), v0–v5: which APIs the broker serves, in which versions, and which features it has.

Clients ask this first, on every connection, and shape themselves by it. A version this broker doesn't know is answered
all the same, in the form of v0 with the one entry a client needs to try again: ApiVersions' own range (KIP-511).

v1 adds throttle_time_ms, v3 is flexible (though its response header never is), tells the client's software name and
version and answers features (KIP-584), v4 may list features whose lowest level is 0, v5 says whom the client believes
to talk to, by cluster_id and node_id (KIP-1242): an address may have come to be another broker's.

Errors: UNSUPPORTED_VERSION for an unknown version; INVALID_REQUEST for a software name or version outside
`[a-zA-Z0-9]([a-zA-Z0-9-.]*[a-zA-Z0-9])?`, or one of cluster_id and node_id without the other; REBOOTSTRAP_REQUIRED if
either of them is not this broker's. Kafka: ApiVersionsRequest.isValid, KafkaApis.handleApiVersionsRequest.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ottla.broker.network.apis import SERVED
from ottla.broker.network.call import Call
from ottla.cluster.features import FEATURES, level_of
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import API_VERSIONS_KEY
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.primitives import Message

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

#: Any number that never falls; Java clients pass over features whose epoch is negative.
_FEATURES_EPOCH: Final = 1
#: Before this version a feature whose lowest level is 0 can't be listed as supported.
_LEVEL_0_FROM_VERSION: Final = 4
#: A client that has just begun knows no node.
_NO_NODE_ID: Final = -1


def handle(request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    if not _is_valid(request, call.api_version):
        return ApiVersionsResponse(ErrorCode.INVALID_REQUEST)
    if request.cluster_id is not None and not _is_meant(request, call):
        return ApiVersionsResponse(ErrorCode.REBOOTSTRAP_REQUIRED)
    call.connection.client_id = call.client_id
    call.connection.client_software = f"{request.client_software_name} {request.client_software_version}".strip()
    cluster = call.node.cluster
    levels = tuple((name, level_of(name, cluster)) for name in FEATURES)
    return _served(levels, with_level_0=call.api_version >= _LEVEL_0_FROM_VERSION)


@cache
def _served(levels: tuple[tuple[str, int], ...], *, with_level_0: bool) -> ApiVersionsResponse:
    """What everybody is told while the features are at these levels. Nobody changes it, so it is encoded once."""
    return ApiVersionsResponse(
        ErrorCode.NONE,
        [ApiVersionsResponse.ApiVersion(api.key, api.version_first, api.version_last) for api in SERVED.values()],
        supported_features=[
            ApiVersionsResponse.SupportedFeatureKey(name, FEATURES[name].level_min, FEATURES[name].level_max)
            for name, _ in levels
            if FEATURES[name].level_min or with_level_0
        ],
        finalized_features_epoch=_FEATURES_EPOCH,
        finalized_features=[
            ApiVersionsResponse.FinalizedFeatureKey(name, level, level) for name, level in levels if level
        ],
    )


def _is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """What an older version does not have is at its default, and so says nothing."""
    if (request.cluster_id is None) != (request.node_id == _NO_NODE_ID):
        return False
    return version < 3 or bool(
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    )


def _is_meant(request: ApiVersionsRequest, call: Call) -> bool:
    """Is this the broker that the client was looking for?"""
    return request.cluster_id == call.node.cluster.cluster_id and request.node_id == call.node.node_id


def refuse(request: Message, error_code: int) -> ApiVersionsResponse:
    """Also the answer to an unknown version; then the request is an empty one."""
    own = SERVED[API_VERSIONS_KEY]
    known = [ApiVersionsResponse.ApiVersion(own.key, own.version_first, own.version_last)]
    return ApiVersionsResponse(error_code, known if error_code == ErrorCode.UNSUPPORTED_VERSION else [])
