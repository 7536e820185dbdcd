"""FindCoordinator, DescribeGroups, ListGroups, DeleteGroups."""

from __future__ import annotations

from typing import Any

from ottla.conformance.cast import Member, completing_group, preparing_group, stable_group, subscription
from ottla.conformance.scene import Actor, Scene
from ottla.conformance.script import every, script
from ottla.conformance.scripts.offsets import simple_commit
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest


@script(versions=every("FindCoordinator"))
def find_coordinators(scene: Scene, version: int) -> None:
    """For a group, for the empty key, for a transactional id, for share groups, for a kind nobody knows."""
    ana = scene.actor()
    for key_type, key in ((0, "any"), (0, ""), (1, "any"), (2, "any"), (3, "any"), (-1, "any")):
        ana.ask(FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key]))
    if version >= 4:
        ana.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["c", "a", "b", "a"]))
        ana.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[]))
        ana.ask(FindCoordinatorRequest(key_type=9, coordinator_keys=["a", "b"]))


@script(versions=every("DescribeGroups"))
def describe_a_group_through_its_life(scene: Scene, version: int) -> None:
    """Absent, Stable, preparing, Empty: what is shown of protocol, metadata, assignment."""
    group = scene.name("group")
    admin = scene.actor("admin")
    request = DescribeGroupsRequest(groups=[group])
    admin.ask(request)
    ana = Member(scene, group, protocols=[("range", subscription("t")), ("sticky", subscription("t", "u"))])
    bo = preparing_group(scene, ana)
    admin.ask(request)
    ana.actor.client.send(ana.join(), 5)
    ana.joined(ana.hear_quietly())
    bo.joined(bo.hear_quietly())
    admin.ask(request)
    bo.sync_quietly()
    ana.sync_quietly({ana.member_id: b"one", bo.member_id: b"two"})
    ana.hear_quietly(), bo.hear_quietly()
    admin.ask(request)
    for member in (ana, bo):
        member.actor.quietly(member.leave(), 3)
    scene.group_shows(group, state="Empty", members=0)
    admin.ask(request)


@script(versions=every("DescribeGroups"))
def describe_groups_of_all_kinds(scene: Scene, version: int) -> None:
    """A simple group, static members, one name twice, nothing; with authorized operations."""
    simple, static = scene.name("simple"), scene.name("static")
    admin = scene.actor("admin")
    admin.quietly(simple_commit(simple, scene.topic(), 10), 8)
    stable_group(scene, Member(scene, static, instance="a"))
    admin.ask(DescribeGroupsRequest(groups=[simple, static]))
    admin.ask(DescribeGroupsRequest(groups=[simple, simple]))
    admin.ask(DescribeGroupsRequest(groups=[]))
    admin.ask(DescribeGroupsRequest(groups=[simple, scene.name("absent")], include_authorized_operations=True))


@script(versions=every("DescribeGroups"))
def describe_a_group_with_a_pending_id(scene: Scene, version: int) -> None:
    """An id that has not joined makes a group, but no member."""
    ana = Member(scene, scene.name("group"))
    ana.be_known()
    scene.actor("admin").ask(DescribeGroupsRequest(groups=[ana.group]))


def _ask_list(scene: Scene, admin: Actor, ours: set[str], **filters: Any) -> None:
    """ListGroups shows every group of the broker: keep those of this scene."""
    admin.ask_and_keep(
        ListGroupsRequest(**filters), lambda answer: [group for group in answer.groups if group.group_id in ours]
    )


@script(versions=every("ListGroups"))
def list_groups(scene: Scene, version: int) -> None:
    """Names, protocol types, states, types; filters are not case-sensitive, and unknown ones match nothing."""
    names = {stem: scene.name(stem) for stem in ("stable", "completing", "preparing", "empty", "simple", "pending")}
    ours = set(names.values())
    admin = scene.actor("admin")
    stable_group(scene, Member(scene, names["stable"]))
    completing_group(scene, Member(scene, names["completing"], protocol_type="connect"))
    preparing_group(scene, Member(scene, names["preparing"]))
    gone = Member(scene, names["empty"])
    stable_group(scene, gone)
    gone.actor.quietly(gone.leave(), 3)
    admin.quietly(simple_commit(names["simple"], scene.topic(), 10), 8)
    Member(scene, names["pending"]).be_known()
    scene.until(
        lambda: ours <= {group.group_id for group in admin.quietly(ListGroupsRequest(), 4).groups},
        what="all groups are listed, which reads only what is committed",
    )
    _ask_list(scene, admin, ours)
    if version >= 4:
        for states in (["Stable"], ["empty", " PREPARINGREBALANCE "], ["Nonsense"], ["Nonsense", "Stable"], [""]):
            _ask_list(scene, admin, ours, states_filter=states)
    if version >= 5:
        for types in (["classic"], ["Consumer"], ["CLASSIC", "nonsense"], ["nonsense"], ["share", "streams"]):
            _ask_list(scene, admin, ours, types_filter=types)
        _ask_list(scene, admin, ours, types_filter=["classic"], states_filter=["Stable"])


@script(versions=every("DeleteGroups"))
def delete_groups(scene: Scene, version: int) -> None:
    """Only groups without members; absent ones are not found; each has its own result."""
    stable, empty, simple, pending = (scene.name(stem) for stem in ("stable", "empty", "simple", "pending"))
    admin = scene.actor("admin")
    stable_group(scene, Member(scene, stable))
    gone = Member(scene, empty)
    stable_group(scene, gone)
    gone.actor.quietly(gone.leave(), 3)
    for group in (simple, ""):
        admin.quietly(simple_commit(group, scene.topic(), 10), 8)
    Member(scene, pending).be_known()
    admin.ask(DeleteGroupsRequest(groups_names=[stable, empty, simple, simple, pending, scene.name("absent"), ""]))
    admin.ask(DeleteGroupsRequest(groups_names=[stable, empty, simple, pending]))
    admin.ask(DeleteGroupsRequest(groups_names=[]))
    admin.ask(DescribeGroupsRequest(groups=[stable, empty, simple, pending]), 4)


@script(versions=every("DeleteGroups"))
def delete_groups_while_rebalancing(scene: Scene, version: int) -> None:
    """NON_EMPTY_GROUP while preparing and while completing."""
    ana, bo = Member(scene, scene.name("preparing")), Member(scene, scene.name("completing"))
    preparing_group(scene, ana)
    completing_group(scene, bo)
    scene.actor("admin").ask(DeleteGroupsRequest(groups_names=[ana.group, bo.group]))
