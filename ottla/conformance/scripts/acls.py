"""Requests about access rules, where there is no authorizer: each kind of rule there is, and kinds there are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.create_acls import CreateAclsRequest
from ottla.protocol.messages.delete_acls import DeleteAclsRequest
from ottla.protocol.messages.describe_acls import DescribeAclsRequest

#: (type of resource, pattern of its name, operation, permission): a usual rule, and what may stand in each place.
_USUAL: Final = (2, 3, 3, 3)
_PLACES: Final = ((0, 1, 7, 99, -1), (0, 1, 2, 4, 99), (0, 1, 2, 15, 99), (0, 1, 2, 99))


def _rules() -> Iterator[tuple[int, int, int, int]]:
    yield _USUAL
    for place, values in enumerate(_PLACES):
        for value in values:
            resource_type, pattern, operation, permission = (
                value if place == at else usual for at, usual in enumerate(_USUAL)
            )
            yield resource_type, pattern, operation, permission


@script(versions=every("DescribeAcls"), needs=("authorizer.class.name",))
def describe_acls(scene: Scene, version: int) -> None:
    for number, (resource_type, pattern, operation, permission) in enumerate(_rules()):
        scene.actor(f"ana-{number}").ask(
            DescribeAclsRequest(resource_type, "orders", pattern, "User:ana", None, operation, permission)
        )


@script(versions=every("CreateAcls"), needs=("authorizer.class.name",))
def create_acls(scene: Scene, version: int) -> None:
    ana = scene.actor("ana")
    asked = CreateAclsRequest
    ana.ask(asked([]))
    for number, (resource_type, pattern, operation, permission) in enumerate(_rules()):
        rule = asked.AclCreation(resource_type, "orders", pattern, "User:ana", "*", operation, permission)
        scene.actor(f"ana-{number}").ask(asked([rule]))
    ana.ask(asked([asked.AclCreation(2, "", 3, "", "", 3, 3), asked.AclCreation(4, "no cluster", 3, "ana", "?", 3, 3)]))


@script(versions=every("DeleteAcls"), needs=("authorizer.class.name",))
def delete_acls(scene: Scene, version: int) -> None:
    ana = scene.actor("ana")
    asked = DeleteAclsRequest
    ana.ask(asked([]))
    for number, (resource_type, pattern, operation, permission) in enumerate(_rules()):
        rules = asked.DeleteAclsFilter(resource_type, None, pattern, None, None, operation, permission)
        scene.actor(f"ana-{number}").ask(asked([rules]))
    rules = asked.DeleteAclsFilter(2, "orders", 3, "User:ana", "*", 3, 3)
    ana.ask(asked([rules, rules]))
