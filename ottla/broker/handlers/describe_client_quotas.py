"""DescribeClientQuotas (api key 48), v0–v1: which users, client ids and addresses have quotas (KIP-546).

None has any, so what is asked for is checked, and nothing is found. A component of the filter names a type of entity
and what of it: one of that name (match type 0), the default (1), or any (2).

v1 is flexible.

Errors: CLUSTER_AUTHORIZATION_FAILED; UNSUPPORTED_VERSION for an unknown type; INVALID_REQUEST for one that is empty or
listed twice, an unknown match type, a name where none belongs or none where one does, and addresses beside users or
client ids. Then the list of entries is null. Kafka: KafkaApis.handleDescribeClientQuotasRequest,
ClientQuotasImage.describe.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ottla.broker.network.call import Call
from ottla.cluster.refused import Refused
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse

_USER, _CLIENT_ID, _IP = "user", "client-id", "ip"
_TYPES: Final = frozenset((_USER, _CLIENT_ID, _IP))


class _Match(IntEnum):
    """What of a type. Kafka: DescribeClientQuotasRequest.MATCH_TYPE_…"""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


_MATCHES: Final = frozenset(_Match)


def handle(request: DescribeClientQuotasRequest, call: Call) -> DescribeClientQuotasResponse:
    seen: set[str] = set()
    try:
        for component in paced(request.components):
            _check(component, seen)
            seen.add(component.entity_type)
        if _IP in seen and len(seen) > 1:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component.",
            )
    except Refused as refused:
        return refuse(request, refused.error_code, refused.message)
    return DescribeClientQuotasResponse(entries=[])


def refuse(
    request: DescribeClientQuotasRequest, error_code: ErrorCode, message: str | None = None
) -> DescribeClientQuotasResponse:
    response = DescribeClientQuotasResponse(error_code=error_code, error_message=message)
    response.entries = None
    return response


def _check(component: DescribeClientQuotasRequest.ComponentData, seen: set[str]) -> None:
    """Raise `Refused` if it means nothing, or no more than one before it."""
    entity_type, match_type = component.entity_type, component.match_type
    if not entity_type:
        raise Refused(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if entity_type in seen:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Entity type {entity_type} cannot appear more than once in the filter."
        )
    if entity_type not in _TYPES:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {entity_type}")
    if match_type not in _MATCHES:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown match type {match_type}")
    name = f"MATCH_TYPE_{_Match(match_type).name}"
    if match_type == _Match.EXACT and component.match is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Request specified {name}, but set match string to null.")
    if match_type != _Match.EXACT and component.match is not None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Request specified {name}, but also specified a match string.")
