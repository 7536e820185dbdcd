"""LeaveGroup: one member up to v2, a list of them from v3 on; by members, for members, by strangers."""

from __future__ import annotations

from ottla.conformance.cast import Member, completing_group, preparing_group, stable_group
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.leave_group import LeaveGroupRequest

BATCHED = (3, 4, 5)


def _leave(group: str, *identities: tuple[str, str | None]) -> LeaveGroupRequest:
    return LeaveGroupRequest(
        group_id=group,
        members=[
            LeaveGroupRequest.MemberIdentity(member_id=member_id, group_instance_id=instance, reason="a reason")
            for member_id, instance in identities
        ],
    )


@script(versions=every("LeaveGroup"))
def leave_without_a_group(scene: Scene, version: int) -> None:
    """No such group: the members are unknown; an empty group id is refused as a whole."""
    ana = Member(scene, scene.name("group"))
    ana.actor.ask(ana.leave(member_id="nobody"))
    ana.actor.ask(ana.leave(member_id=""))
    ana.group = ""
    ana.actor.ask(ana.leave(member_id="nobody"))


@script(versions=every("LeaveGroup"))
def leave_in_stable(scene: Scene, version: int) -> None:
    """The first leaves: the other is sent to rejoin at once. Then the last leaves, and again."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana, bo)
    bo.actor.ask(bo.leave(member_id="stranger"))
    bo.actor.ask(bo.heartbeat(), 3)
    ana.actor.ask(ana.leave())
    bo.actor.ask(bo.heartbeat(), 3)
    bo.joined(bo.actor.ask(bo.join(), 5))
    bo.actor.ask(bo.leave())
    bo.actor.ask(bo.leave())
    scene.group_shows(group, state="Empty", members=0)


@script(versions=every("LeaveGroup"))
def leave_while_completing(scene: Scene, version: int) -> None:
    """The leader leaves before it synced: who waits is sent to rejoin, and leads."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync(), 3)
    bo.actor.hear_nothing()
    ana.actor.ask(ana.leave())
    bo.actor.hear()
    bo.joined(bo.actor.ask(bo.join(), 5))


@script(versions=every("LeaveGroup"))
def leave_while_the_own_join_is_parked(scene: Scene, version: int) -> None:
    """Someone else takes the parked newcomer out: its JoinGroup is answered UNKNOWN_MEMBER_ID."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana)
    bo.be_known()
    bo.actor.send(bo.join(), 5)
    scene.group_shows(group, state="PreparingRebalance", members=2)
    ana.actor.ask(bo.leave())
    bo.actor.hear()
    ana.joined(ana.actor.ask(ana.join(), 5))


@script(versions=every("LeaveGroup"))
def leave_while_preparing(scene: Scene, version: int) -> None:
    """The member that should rejoin leaves: the rebalance completes without it."""
    ana = Member(scene, scene.name("group"))
    bo = preparing_group(scene, ana)
    ana.actor.ask(ana.leave())
    bo.joined(bo.hear_quietly())
    bo.actor.ask(bo.sync(), 3)


@script(versions=every("LeaveGroup"))
def leave_with_a_pending_id(scene: Scene, version: int) -> None:
    """An id that has not joined may leave; a Stable group rebalances even so."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana)
    bo.be_known()
    bo.actor.ask(bo.leave())
    ana.actor.ask(ana.heartbeat(), 3)
    bo.actor.ask(bo.leave())


@script(versions=BATCHED)
def leave_in_a_batch(scene: Scene, version: int) -> None:
    """Each identity has its own result, in order; nobody, one twice, a stranger, a member."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana, bo)
    admin = scene.actor("admin")
    admin.ask(_leave(group))
    admin.ask(_leave(group, ("stranger", None), (bo.member_id, None), (bo.member_id, None), ("", None)))
    ana.actor.ask(ana.heartbeat(), 3)
    admin.ask(_leave(scene.name("absent"), ("stranger", None), ("", "i"), ("stranger", "i")))
    admin.ask(_leave(scene.name("absent")))


@script(versions=BATCHED)
def leave_of_static_members(scene: Scene, version: int) -> None:
    """By instance without a member id (as an admin does), with the right one, with a wrong one."""
    group = scene.name("group")
    members = [Member(scene, group, f"m{number}", instance=f"i{number}") for number in range(4)]
    stable_group(scene, *members)
    admin = scene.actor("admin")
    admin.ask(_leave(group, ("", "unknown"), ("stranger", "i1"), (members[1].member_id, "i2"), ("", None)))
    admin.ask(_leave(group, (members[1].member_id, "unknown"), ("stranger", "unknown"), ("stranger", None)))
    members[0].actor.ask(members[0].heartbeat(), 3)
    admin.ask(_leave(group, ("", "i1"), (members[2].member_id, "i2"), (members[3].member_id, None)))
    members[0].actor.ask(members[0].heartbeat(), 3)
    members[0].joined(members[0].actor.ask(members[0].join(), 5))
