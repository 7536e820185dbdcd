"""SyncGroup in every state, by the leader, by followers, by others."""

from __future__ import annotations

from typing import Any

from ottla.conformance.cast import Member, completing_group, preparing_group, stable_group
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script, some
from ottla.protocol.messages.sync_group import SyncGroupRequest


@script(versions=every("SyncGroup"))
def sync_without_a_group(scene: Scene, version: int) -> None:
    """No such group: UNKNOWN_MEMBER_ID; an empty group id: INVALID_GROUP_ID; v5 without type or name: before both."""
    ana = scene.actor()
    group = scene.name("group")
    names: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
    ana.ask(SyncGroupRequest(group_id=group, generation_id=1, member_id="nobody", **names))
    ana.ask(SyncGroupRequest(group_id="", generation_id=1, member_id="nobody", **names))
    ana.ask(SyncGroupRequest(group_id="", generation_id=1, member_id="nobody"))
    ana.ask(SyncGroupRequest(group_id=group, generation_id=1, member_id="nobody", protocol_type="consumer"))


@script(versions=every("SyncGroup"))
def sync_of_leader_and_follower(scene: Scene, version: int) -> None:
    """The follower waits for the leader's assignments; both may ask again in Stable."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync())
    bo.actor.hear_nothing()
    ana.actor.ask(ana.sync({ana.member_id: b"one", bo.member_id: b"two", "stranger": b"three"}))
    bo.actor.hear()
    bo.actor.ask(bo.sync())
    ana.actor.ask(ana.sync({ana.member_id: b"other"}))
    bo.actor.ask(bo.sync({bo.member_id: b"my own"}))


@script(versions=every("SyncGroup"))
def sync_with_a_member_left_out(scene: Scene, version: int) -> None:
    """Who is not in the leader's list gets empty bytes; a follower's own list is ignored."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync({bo.member_id: b"mine"}))
    bo.actor.hear_nothing()
    ana.actor.ask(ana.sync({ana.member_id: b"one"}))
    bo.actor.hear()


@script(versions=every("SyncGroup"))
def sync_wrongly(scene: Scene, version: int) -> None:
    """The member before the generation before the protocol."""
    ana = Member(scene, scene.name("group"))
    completing_group(scene, ana)
    ana.actor.ask(ana.sync(member_id="stranger"))
    ana.actor.ask(ana.sync(member_id="stranger", generation_id=9))
    ana.actor.ask(ana.sync(generation_id=0))
    ana.actor.ask(ana.sync(generation_id=2))
    ana.actor.ask(ana.sync(generation_id=-1))
    ana.actor.ask(ana.sync(member_id=""))
    ana.actor.ask(ana.sync(protocol_type="connect"))
    ana.actor.ask(ana.sync(protocol_name="sticky"))
    ana.actor.ask(ana.sync(protocol_name="sticky", generation_id=0))
    ana.actor.ask(ana.sync({ana.member_id: b"one"}))
    ana.actor.ask(ana.sync(protocol_type="connect"))
    ana.actor.ask(ana.sync(generation_id=0))


@script(versions=every("SyncGroup"))
def sync_while_preparing(scene: Scene, version: int) -> None:
    """REBALANCE_IN_PROGRESS; the newcomer who has no generation yet is told that first."""
    ana = Member(scene, scene.name("group"))
    bo = preparing_group(scene, ana)
    ana.actor.ask(ana.sync())
    ana.actor.ask(ana.sync(generation_id=0))
    other = scene.actor("other")
    other.ask(bo.sync(generation_id=ana.generation_id))
    other.ask(bo.sync())


@script(versions=every("SyncGroup"))
def sync_to_an_emptied_group(scene: Scene, version: int) -> None:
    """The last member left: unknown."""
    ana = Member(scene, scene.name("group"))
    stable_group(scene, ana)
    ana.actor.quietly(ana.leave(), 3)
    ana.actor.ask(ana.sync())


@script(versions=every("SyncGroup"))
def sync_parked_when_a_rebalance_begins(scene: Scene, version: int) -> None:
    """A newcomer in CompletingRebalance: who waits for the assignment is sent to rejoin."""
    group = scene.name("group")
    ana, bo, cy = (Member(scene, group, name) for name in ("ana", "bo", "cy"))
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync())
    bo.actor.hear_nothing()
    cy.join_quietly()
    bo.actor.hear()


@script(versions=every("SyncGroup"))
def sync_with_a_pending_id(scene: Scene, version: int) -> None:
    """An id that has not joined is UNKNOWN_MEMBER_ID."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana)
    bo.be_known()
    bo.actor.ask(bo.sync(generation_id=ana.generation_id))


@script(versions=some("SyncGroup"))
def sync_never_comes(scene: Scene, version: int) -> None:
    """Who has not synced after the rebalance timeout is thrown out, the leader too; the others are sent to rejoin."""
    group = scene.name("group")
    ana, bo = (Member(scene, group, name, rebalance_timeout_ms=600) for name in ("ana", "bo"))
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync())
    bo.actor.hear()
    ana.actor.ask(ana.sync())
    bo.joined(bo.actor.ask(bo.join(), 5))


@script(versions=(3, 4, 5))
def sync_of_static_members(scene: Scene, version: int) -> None:
    """The instance decides: unknown, or held by another member id."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana", instance="a"), Member(scene, group, "bo", instance="b")
    completing_group(scene, ana, bo)
    ana.actor.ask(ana.sync(group_instance_id="b"))
    ana.actor.ask(ana.sync(group_instance_id="c"))
    ana.actor.ask(ana.sync(member_id="stranger"))
    ana.actor.ask(ana.sync({ana.member_id: b"one", bo.member_id: b"two"}, group_instance_id=None))
    bo.actor.ask(bo.sync())
