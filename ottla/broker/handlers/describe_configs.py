"""DescribeConfigs (api key 32), v1–v4: the configs of topics, brokers, groups and the like, and where they come from.

A broker answers only for itself (its id as the name) and for what holds for all brokers (an empty name). A list of
keys that is null or empty asks for all; keys that are none are left out. A resource that is listed twice is described
once, as it is listed last. Passwords, and settings nobody knows, are named without their value.

v1 adds config_source and synonyms, v3 type and documentation (KIP-569; the text is ours), v4 is
flexible.

Errors, by resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION for a bad name, INVALID_REQUEST for another
broker's id or an empty name where one is needed. On all of them INVALID_REQUEST for a resource type that is none.
Kafka: ConfigHelper.handleDescribeConfigsRequest.
"""

from __future__ import annotations

from ottla.broker.configs.entries import TYPE_NUMBERS, ConfigEntry
from ottla.broker.configs.resource import RESOURCE_TYPES
from ottla.broker.configs.resources import find_resource
from ottla.broker.network.call import Call
from ottla.cluster.refused import Refused
from ottla.pacing import paced_each
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

_Result = DescribeConfigsResponse.DescribeConfigsResult


def handle(request: DescribeConfigsRequest, call: Call) -> DescribeConfigsResponse:
    if any(resource.resource_type not in RESOURCE_TYPES for resource in request.resources):
        return refuse(request, ErrorCode.INVALID_REQUEST)
    results = []
    for asked in paced_each({(r.resource_type, r.resource_name): r for r in request.resources}.values()):
        result = _Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message="")
        try:
            entries = find_resource(asked.resource_type, asked.resource_name, call.node).describe()
        except Refused as refused:
            result.error_code, result.error_message = refused.error_code, refused.message
        else:
            keys = asked.configuration_keys
            result.configs = [_shown(entry, request) for entry in entries if not keys or entry.name in keys]
        results.append(result)
    return DescribeConfigsResponse(results=results)


def refuse(request: DescribeConfigsRequest, error_code: ErrorCode) -> DescribeConfigsResponse:
    meaning = error_code.meaning
    return DescribeConfigsResponse(
        results=[
            _Result(error_code, meaning, resource.resource_type, resource.resource_name)
            for resource in request.resources
        ]
    )


def _shown(
    entry: ConfigEntry, request: DescribeConfigsRequest
) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResponse.DescribeConfigsResourceResult(
        entry.name,
        entry.value,
        entry.is_read_only,
        entry.source,
        entry.is_sensitive,
        [DescribeConfigsResponse.DescribeConfigsSynonym(*synonym) for synonym in synonyms],
        TYPE_NUMBERS.get(entry.kind, 0),
        entry.documentation if request.include_documentation else None,
    )
