"""DescribeUserScramCredentials (api key 50), v0: which users have passwords for SCRAM, and of which kinds (KIP-554).

There are none, for no listener asks clients who they are: asked for all, with null or an empty list, the answer is
empty, and each user named is not there.

Errors: CLUSTER_AUTHORIZATION_FAILED; by user RESOURCE_NOT_FOUND, or DUPLICATE_RESOURCE for who is named twice.
Kafka: KafkaApis.handleDescribeUserScramCredentialsRequest, ScramImage.describe.
"""

from __future__ import annotations

from collections import Counter

from ottla.broker.network.call import Call
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


def handle(request: DescribeUserScramCredentialsRequest, call: Call) -> DescribeUserScramCredentialsResponse:
    times_named = Counter(user.name for user in paced(request.users or ()))
    return DescribeUserScramCredentialsResponse(
        results=[_result(name, is_twice=times > 1) for name, times in paced(times_named.items())]
    )


def refuse(request: DescribeUserScramCredentialsRequest, error_code: ErrorCode) -> DescribeUserScramCredentialsResponse:
    """Kafka says how many users were asked for, but not which."""
    return DescribeUserScramCredentialsResponse(
        error_code=error_code,
        error_message=None,
        results=[_Result("", error_code, None) for _ in paced(request.users or ())],
    )


def _result(name: str, *, is_twice: bool) -> DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult:
    if is_twice:
        return _Result(
            name,
            ErrorCode.DUPLICATE_RESOURCE,
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    return _Result(
        name, ErrorCode.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {name}"
    )
