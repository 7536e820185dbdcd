"""ApiVersions (api key 18), v0–v4: which APIs the broker serves, in which versions, and which features it has.

Clients ask this first, on every connection, and shape themselves by it. A version this broker doesn't know is answered
all the same, in the form of v0 with the one entry a client needs to try again: ApiVersions' own range (KIP-511).

v1 adds throttle_time_ms, v3 is flexible (though its response header never is), tells the client's software name and
version and answers features (KIP-584), v4 may list features whose lowest level is 0.

Errors: UNSUPPORTED_VERSION for an unknown version, INVALID_REQUEST for a software name or version outside
`[a-zA-Z0-9]([a-zA-Z0-9-.]*[a-zA-Z0-9])?`. Kafka: ApiVersionsRequest, KafkaApis.handleApiVersionsRequest.
"""

from __future__ import annotations

import re
from typing import Final

from ottla.broker.network.apis import SERVED
from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import API_VERSIONS_KEY
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.primitives import Message

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

#: What Kafka 4.3 finalizes in a fresh cluster, as far as this broker serves it. Clients look for transaction.version
#: and group.version here; neither is listed because neither KIP-890 nor KIP-848 is served.
_METADATA_VERSION: Final = ("metadata.version", 7, 30)
#: Any number that never falls; Java clients pass over features whose epoch is negative.
_FEATURES_EPOCH: Final = 1


def handle(request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    if call.api_version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(ErrorCode.INVALID_REQUEST)
    name, level_min, level_max = _METADATA_VERSION
    return ApiVersionsResponse(
        ErrorCode.NONE,
        [ApiVersionsResponse.ApiVersion(s.key, s.version_first, s.version_last) for s in SERVED.values()],
        supported_features=[ApiVersionsResponse.SupportedFeatureKey(name, level_min, level_max)],
        finalized_features_epoch=_FEATURES_EPOCH,
        finalized_features=[ApiVersionsResponse.FinalizedFeatureKey(name, level_max, level_max)],
    )


def refuse(request: Message, error_code: int) -> ApiVersionsResponse:
    """Also the answer to an unknown version; then the request is an empty one."""
    own = SERVED[API_VERSIONS_KEY]
    known = [ApiVersionsResponse.ApiVersion(own.key, own.version_first, own.version_last)]
    return ApiVersionsResponse(error_code, known if error_code == ErrorCode.UNSUPPORTED_VERSION else [])
