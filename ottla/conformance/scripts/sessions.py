"""What happens to members who fall silent: their sessions, and ids that were never used."""

from __future__ import annotations

import time

from ottla.conformance.cast import Member, completing_group, stable_group
from ottla.conformance.scene import Scene
from ottla.conformance.script import script

SHORT_MS, LONG_MS = 600, 30_000


@script(versions=(3, 4), needs=("group.min.session.timeout.ms",))
def session_expires_in_stable(scene: Scene, version: int) -> None:
    """The silent one is out, the other is told to rejoin; the one who returns is unknown."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", session_timeout_ms=LONG_MS)
    bo = Member(scene, group, "bo", session_timeout_ms=SHORT_MS)
    stable_group(scene, ana, bo)
    scene.group_shows(group, state="PreparingRebalance", members=1)
    ana.actor.ask(ana.heartbeat())
    bo.actor.ask(bo.heartbeat())
    ana.joined(ana.actor.ask(ana.join(), 5))
    bo.actor.ask(bo.join(), 5)
    bo.actor.ask(bo.sync(), 3)
    bo.actor.ask(bo.leave(), 3)


@script(versions=(3, 4), needs=("group.min.session.timeout.ms",))
def session_of_the_last_expires(scene: Scene, version: int) -> None:
    """Nobody is left: the group is empty, with its offsets to be committed by whoever comes."""
    ana = Member(scene, scene.name("group"), session_timeout_ms=SHORT_MS)
    stable_group(scene, ana)
    scene.group_shows(ana.group, state="Empty", members=0)
    ana.actor.ask(ana.heartbeat())
    ana.actor.ask(ana.commit(scene.topic(), 1), 8)


@script(versions=(3, 4), needs=("group.min.session.timeout.ms",))
def session_of_a_static_member_expires(scene: Scene, version: int) -> None:
    """An instance is no longer held when its session is over: the next one to use it is a new member."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", session_timeout_ms=LONG_MS)
    bo = Member(scene, group, "bo", session_timeout_ms=SHORT_MS, instance="b")
    stable_group(scene, ana, bo)
    scene.group_shows(group, state="PreparingRebalance", members=1)
    bo.actor.ask(bo.heartbeat())
    ana.actor.ask(ana.heartbeat())


@script(versions=(3,), needs=("group.min.session.timeout.ms",))
def session_expires_while_completing(scene: Scene, version: int) -> None:
    """The leader falls silent before it assigned: who waits for it is sent to rejoin, and leads."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", session_timeout_ms=SHORT_MS)
    bo = Member(scene, group, "bo", session_timeout_ms=LONG_MS)
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync())
    bo.actor.hear()
    bo.joined(bo.actor.ask(bo.join(), 5))


@script(versions=(3,), needs=("group.min.session.timeout.ms",))
def session_lives_on_by_heartbeats_while_preparing(scene: Scene, version: int) -> None:
    """A parked member outlives its own session; the one that beats and does not rejoin outlives its own, too."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", session_timeout_ms=SHORT_MS, rebalance_timeout_ms=LONG_MS)
    bo = Member(scene, group, "bo", session_timeout_ms=SHORT_MS, rebalance_timeout_ms=LONG_MS)
    stable_group(scene, ana)
    bo.join_quietly()
    scene.group_shows(group, state="PreparingRebalance", members=2)
    end = time.monotonic() + 2 * SHORT_MS / 1000

    def beats_on() -> bool:
        ana.actor.quietly(ana.heartbeat(), 3)
        return time.monotonic() > end

    scene.until(beats_on, what="two sessions have passed under heartbeats")
    ana.actor.ask(ana.heartbeat())
    ana.joined(ana.actor.ask(ana.join(), 5))
    bo.joined(bo.hear_quietly())
    bo.actor.ask(bo.heartbeat())


@script(versions=(3,), needs=("group.min.session.timeout.ms",))
def session_of_a_pending_id_expires(scene: Scene, version: int) -> None:
    """An id that is never used holds a rebalance until its session is over."""
    group = scene.name("group")
    ana = Member(scene, group, "ana")
    bo = Member(scene, group, "bo", session_timeout_ms=SHORT_MS)
    stable_group(scene, ana)
    bo.be_known()
    ana.actor.send(ana.join(), 5)
    ana.actor.hear_nothing()
    ana.joined(ana.actor.hear())
    bo.actor.ask(bo.join(), 5)
