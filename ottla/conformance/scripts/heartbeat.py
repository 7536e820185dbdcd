"""Heartbeat in every state, by members and by others."""

from __future__ import annotations

from ottla.conformance.cast import Member, completing_group, preparing_group, stable_group
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.heartbeat import HeartbeatRequest


@script(versions=every("Heartbeat"))
def heartbeat_without_a_group(scene: Scene, version: int) -> None:
    """No such group: UNKNOWN_MEMBER_ID. An empty group id: INVALID_GROUP_ID."""
    ana = scene.actor()
    ana.ask(HeartbeatRequest(group_id=scene.name("group"), generation_id=1, member_id="nobody"))
    ana.ask(HeartbeatRequest(group_id="", generation_id=1, member_id="nobody"))
    ana.ask(HeartbeatRequest(group_id="", generation_id=-1, member_id=""))


@script(versions=every("Heartbeat"))
def heartbeat_in_stable(scene: Scene, version: int) -> None:
    """The member before the generation: a stranger is UNKNOWN_MEMBER_ID even with a wrong generation."""
    ana = Member(scene, scene.name("group"))
    stable_group(scene, ana)
    ana.actor.ask(ana.heartbeat())
    ana.actor.ask(ana.heartbeat(generation_id=ana.generation_id - 1))
    ana.actor.ask(ana.heartbeat(generation_id=ana.generation_id + 1))
    ana.actor.ask(ana.heartbeat(generation_id=-1))
    ana.actor.ask(ana.heartbeat(member_id="stranger"))
    ana.actor.ask(ana.heartbeat(member_id="stranger", generation_id=7))
    ana.actor.ask(ana.heartbeat(member_id=""))
    ana.actor.ask(ana.heartbeat())


@script(versions=every("Heartbeat"))
def heartbeat_with_a_pending_id(scene: Scene, version: int) -> None:
    """An id that was handed out but has not joined yet is UNKNOWN_MEMBER_ID."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana)
    bo.be_known()
    bo.actor.ask(bo.heartbeat(generation_id=ana.generation_id))


@script(versions=every("Heartbeat"))
def heartbeat_while_preparing(scene: Scene, version: int) -> None:
    """REBALANCE_IN_PROGRESS tells the member to rejoin; a wrong generation is told first."""
    ana = Member(scene, scene.name("group"))
    preparing_group(scene, ana)
    ana.actor.ask(ana.heartbeat())
    ana.actor.ask(ana.heartbeat(generation_id=ana.generation_id + 1))
    ana.actor.ask(ana.heartbeat(member_id="stranger"))


@script(versions=every("Heartbeat"))
def heartbeat_while_completing(scene: Scene, version: int) -> None:
    """Between JoinGroup and SyncGroup a heartbeat succeeds."""
    ana = Member(scene, scene.name("group"))
    completing_group(scene, ana)
    ana.actor.ask(ana.heartbeat())
    ana.actor.ask(ana.heartbeat(generation_id=ana.generation_id - 1))


@script(versions=every("Heartbeat"))
def heartbeat_to_an_empty_group(scene: Scene, version: int) -> None:
    """The last member left: it is unknown now."""
    ana = Member(scene, scene.name("group"))
    stable_group(scene, ana)
    ana.actor.quietly(ana.leave(), 3)
    ana.actor.ask(ana.heartbeat())


@script(versions=(3, 4))
def heartbeat_of_static_members(scene: Scene, version: int) -> None:
    """The instance decides: unknown is UNKNOWN_MEMBER_ID, one held by another member id is FENCED_INSTANCE_ID."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana", instance="a"), Member(scene, group, "bo", instance="b")
    stable_group(scene, ana, bo)
    ana.actor.ask(ana.heartbeat())
    ana.actor.ask(ana.heartbeat(group_instance_id=None))
    ana.actor.ask(ana.heartbeat(group_instance_id="b"))
    ana.actor.ask(ana.heartbeat(group_instance_id="c"))
    ana.actor.ask(ana.heartbeat(member_id="stranger"))
    ana.actor.ask(ana.heartbeat(member_id="stranger", group_instance_id="b", generation_id=0))
