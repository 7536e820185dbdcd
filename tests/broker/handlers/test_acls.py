"""DescribeAcls, CreateAcls, DeleteAcls: there are no rules, and tools that ask hear what a Kafka without any says."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.call import CloseConnection
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_acls import CreateAclsRequest
from ottla.protocol.messages.delete_acls import DeleteAclsRequest
from ottla.protocol.messages.describe_acls import DescribeAclsRequest
from tests.broker.scene import Scene

#: A topic, of this very name; reading; allowed.
RULE = {"type": 2, "pattern": 3, "operation": 3, "permission": 3}


def describe(rule: dict[str, int]) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        rule["type"], "orders", rule["pattern"], "User:ana", "*", rule["operation"], rule["permission"]
    )


def create(*rules: dict[str, int]) -> CreateAclsRequest:
    return CreateAclsRequest(
        [
            CreateAclsRequest.AclCreation(
                rule["type"], "orders", rule["pattern"], "User:ana", "*", rule["operation"], rule["permission"]
            )
            for rule in rules
        ]
    )


def delete(*rules: dict[str, int]) -> DeleteAclsRequest:
    return DeleteAclsRequest(
        [
            DeleteAclsRequest.DeleteAclsFilter(
                rule["type"], "orders", rule["pattern"], "User:ana", "*", rule["operation"], rule["permission"]
            )
            for rule in rules
        ]
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_there_is_no_authorizer_with_rules(version: int) -> None:
    """Of several rules or filters each is answered."""
    scene = Scene()
    described = scene.ask(describe(RULE), version)
    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    assert described.error_message
    created = scene.ask(create(RULE, RULE), version).results
    assert [result.error_code for result in created] == [ErrorCode.SECURITY_DISABLED] * 2
    deleted = scene.ask(delete(RULE, RULE), version).filter_results
    assert [(result.error_code, result.matching_acls) for result in deleted] == [(ErrorCode.SECURITY_DISABLED, [])] * 2


@pytest.mark.parametrize("unknown", RULE)
@pytest.mark.parametrize("make", [describe, create, delete])
def test_what_is_of_no_known_kind_ends_the_connection(make: Any, unknown: str) -> None:
    with pytest.raises(CloseConnection):
        Scene().ask(make(RULE | {unknown: 0}), 3)
