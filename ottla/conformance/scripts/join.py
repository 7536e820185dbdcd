"""JoinGroup: the checks in their order, the two-step join, rejoining in every state, the choice of a protocol."""

from __future__ import annotations

from ottla.conformance.cast import (
    Member,
    completing_group,
    preparing_group,
    stable_group,
    subscription,
)
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script, some
from ottla.conformance.scripts.offsets import delete_offsets_request
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest

RANGE, STICKY, COOPERATIVE = (
    ("range", subscription()),
    ("sticky", subscription()),
    ("cooperative-sticky", subscription()),
)


@script(versions=every("JoinGroup"))
def join_alone(scene: Scene, version: int) -> None:
    """The first member of a new group: an id in the first answer from v4 on, then generation 1 and the lead."""
    ana = Member(scene, scene.name("group"))
    ana.joined(ana.actor.ask(ana.join()))
    if version >= 4:
        ana.joined(ana.actor.ask(ana.join()))


@script(versions=every("JoinGroup"), needs=("group.max.session.timeout.ms",))
def join_with_bad_arguments(scene: Scene, version: int) -> None:
    """Group id before session timeout before everything else."""
    ana = Member(scene, scene.name("group"))
    ana.actor.ask(ana.join(group_id=""))
    ana.actor.ask(ana.join(group_id="", session_timeout_ms=1))
    ana.actor.ask(ana.join(session_timeout_ms=199))
    ana.actor.ask(ana.join(session_timeout_ms=60_001))
    ana.actor.ask(ana.join(session_timeout_ms=-1))
    ana.actor.ask(ana.join(member_id="stranger"))
    ana.actor.ask(ana.join(member_id="stranger", session_timeout_ms=1))
    ana.actor.ask(ana.join(protocol_type=""))
    ana.actor.ask(ana.join(protocols=[]))
    ana.actor.ask(ana.join(member_id="stranger", protocols=[]))


@script(versions=every("JoinGroup"))
def join_a_stable_group_wrongly(scene: Scene, version: int) -> None:
    """Another protocol type, no common protocol, an id nobody issued; the group stays Stable."""
    ana = Member(scene, scene.name("group"), protocols=[RANGE, STICKY])
    stable_group(scene, ana)
    bo = Member(scene, ana.group, "bo")
    bo.actor.ask(bo.join(protocol_type="connect"))
    bo.actor.ask(bo.join(protocols=[COOPERATIVE]))
    bo.actor.ask(bo.join(protocols=[]))
    bo.actor.ask(bo.join(protocol_type=""))
    bo.actor.ask(bo.join(member_id="stranger"))
    bo.actor.ask(bo.join(member_id="stranger", protocols=[COOPERATIVE]))
    bo.actor.ask(bo.join(member_id=ana.member_id, protocol_type="connect"))
    ana.actor.ask(ana.heartbeat(), 3)


@script(versions=every("JoinGroup"))
def join_as_second(scene: Scene, version: int) -> None:
    """A newcomer is parked until the member rejoins; the leader alone is told the members."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana)
    if version >= 4:
        bo.joined(bo.actor.ask(bo.join()))
    bo.actor.send(bo.join())
    scene.group_shows(group, state="PreparingRebalance", members=2)
    bo.actor.hear_nothing()
    ana.actor.ask(ana.heartbeat(), 3)
    ana.joined(ana.actor.ask(ana.join()))
    bo.joined(bo.actor.hear())


@script(versions=every("JoinGroup"))
def rejoin_in_stable(scene: Scene, version: int) -> None:
    """A follower with nothing new gets the current generation at once; the leader always rebalances."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    stable_group(scene, ana, bo)
    bo.actor.ask(bo.join())
    bo.actor.ask(bo.join(session_timeout_ms=10_000, rebalance_timeout_ms=1))
    ana.actor.send(ana.join())
    scene.group_shows(group, state="PreparingRebalance")
    bo.actor.ask(bo.heartbeat(), 3)
    bo.joined(bo.actor.ask(bo.join()))
    ana.joined(ana.actor.hear())


@script(versions=every("JoinGroup"))
def rejoin_in_stable_with_new_metadata(scene: Scene, version: int) -> None:
    """A follower whose metadata changed makes the group rebalance; so does another order of the same protocols."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", protocols=[RANGE, STICKY])
    bo = Member(scene, group, "bo", protocols=[RANGE, STICKY])
    stable_group(scene, ana, bo)
    bo.actor.send(bo.join(protocols=[STICKY, RANGE]))
    scene.group_shows(group, state="PreparingRebalance")
    ana.joined(ana.actor.ask(ana.join()))
    bo.joined(bo.actor.hear())


@script(versions=every("JoinGroup"))
def rejoin_while_completing(scene: Scene, version: int) -> None:
    """Nothing new: the same generation again, with the members for the leader. Something new: a rebalance."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana"), Member(scene, group, "bo")
    completing_group(scene, ana, bo)
    ana.actor.ask(ana.join())
    bo.actor.ask(bo.join())
    bo.actor.send(bo.sync(), 3)
    bo.actor.hear_nothing()
    ana.actor.send(ana.join(protocols=[("range", subscription("other"))]))
    bo.actor.hear()
    bo.joined(bo.actor.ask(bo.join()))
    ana.joined(ana.actor.hear())


@script(versions=every("JoinGroup"))
def rejoin_an_emptied_group(scene: Scene, version: int) -> None:
    """A former member's id is unknown; a newcomer may bring another protocol type."""
    ana = Member(scene, scene.name("group"))
    stable_group(scene, ana)
    ana.actor.quietly(ana.leave(), 3)
    ana.actor.ask(ana.join())
    ana.member_id = ""
    ana.protocol_type = "connect"
    ana.joined(ana.actor.ask(ana.join()))
    if version >= 4:
        ana.joined(ana.actor.ask(ana.join()))


@script(versions=some("JoinGroup"), needs=("group.max.size",))
def join_a_full_group(scene: Scene, version: int) -> None:
    """group.max.size is 4: the fifth is refused, in Stable and while preparing; members may rejoin."""
    group = scene.name("group")
    members = [Member(scene, group, name) for name in ("ana", "bo", "cy", "di")]
    stable_group(scene, *members)
    eve = Member(scene, group, "eve")
    eve.actor.ask(eve.join())
    eve.actor.ask(eve.join(member_id="stranger"))
    members[1].actor.ask(members[1].join())


@script(versions=some("JoinGroup"))
def join_and_vote(scene: Scene, version: int) -> None:
    """The protocol most members put first among those that all support."""
    group = scene.name("group")
    members = [
        Member(scene, group, "ana", protocols=[RANGE, STICKY, COOPERATIVE]),
        Member(scene, group, "bo", protocols=[STICKY, COOPERATIVE, RANGE]),
        Member(scene, group, "cy", protocols=[COOPERATIVE, STICKY]),
    ]
    stable_group(scene, *members)
    ana, bo, cy = members
    ana.actor.send(ana.join())
    scene.group_shows(group, state="PreparingRebalance")
    bo.actor.send(bo.join())
    cy.actor.ask(cy.join())
    ana.actor.hear()
    bo.actor.hear()


def _tie(scene: Scene, first: tuple[str, bytes], second: tuple[str, bytes]) -> None:
    group = scene.name("group")
    ana = Member(scene, group, "ana", protocols=[first, second])
    bo = Member(scene, group, "bo", protocols=[second, first])
    completing_group(scene, ana, bo)
    ana.actor.ask(ana.join())


@script(versions=(5,))
def join_and_tie(scene: Scene, version: int) -> None:
    """One vote each: what a hash map's order decides, for the usual names."""
    names = ("range", "roundrobin", "sticky", "cooperative-sticky")
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            _tie(scene, (first, subscription()), (second, subscription()))
            _tie(scene, (second, subscription()), (first, subscription()))


@script(versions=(5,))
def join_and_tie_among_more(scene: Scene, version: int) -> None:
    """Ties among three and four, and among names of other protocols."""
    for names in (
        ("range", "roundrobin", "sticky"),
        ("range", "sticky", "cooperative-sticky"),
        ("roundrobin", "sticky", "cooperative-sticky"),
        ("roundrobin", "range", "sticky", "cooperative-sticky"),
        ("compatible", "eager", "sessioned"),
        ("stream", "proto-1", "proto-2"),
        ("a", "b", "c", "d"),
        ("v1", "v0"),
    ):
        group = scene.name("group")
        protocols = [(name, subscription()) for name in names]
        members = [
            Member(scene, group, f"m{number}", protocols=protocols[number:] + protocols[:number])
            for number in range(len(names))
        ]
        completing_group(scene, *members)
        members[0].actor.ask(members[0].join())


@script(versions=(0, 3, 5))
def join_first_with_a_protocol_named_twice(scene: Scene, version: int) -> None:
    """The first member names a protocol twice: the join that should complete is never answered."""
    ana = Member(scene, scene.name("group"), protocols=[RANGE, RANGE])
    if version >= 4:
        ana.be_known()
    ana.actor.send(ana.join())
    ana.actor.hear_nothing()
    scene.actor("admin").ask(DescribeGroupsRequest(groups=[ana.group]), 4)


@script(versions=(0, 3, 5))
def join_second_with_a_protocol_named_twice(scene: Scene, version: int) -> None:
    """The second member names the only protocol twice."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", protocols=[RANGE])
    bo = Member(scene, group, "bo", protocols=[RANGE, RANGE])
    stable_group(scene, ana)
    if version >= 4:
        bo.be_known()
    bo.actor.send(bo.join())
    scene.group_shows(group, state="PreparingRebalance", members=2)
    ana.actor.send(ana.join())
    ana.actor.hear_nothing()
    bo.actor.hear_nothing()
    scene.actor("admin").ask(DescribeGroupsRequest(groups=[group]), 4)


@script(versions=(3, 4, 5, 6, 9))
def join_while_a_pending_id_is_out(scene: Scene, version: int) -> None:
    """An id that was handed out and has not joined holds the rebalance until it leaves."""
    group = scene.name("group")
    ana, bo, cy = (Member(scene, group, name) for name in ("ana", "bo", "cy"))
    stable_group(scene, ana, bo)
    cy.be_known()
    ana.actor.send(ana.join())
    scene.group_shows(group, state="PreparingRebalance")
    bo.actor.send(bo.join())
    bo.actor.hear_nothing()
    cy.actor.ask(cy.leave(), 3)
    ana.joined(ana.actor.hear())
    bo.joined(bo.actor.hear())


@script(versions=some("JoinGroup"))
def join_expires_who_does_not_rejoin(scene: Scene, version: int) -> None:
    """After the rebalance timeout the silent member is out, and the newcomer leads generation 2."""
    group = scene.name("group")
    ana, bo = (Member(scene, group, name, rebalance_timeout_ms=600) for name in ("ana", "bo"))
    if version == 0:  # v0 has no rebalance timeout: the session timeout counts
        ana.session_timeout_ms = bo.session_timeout_ms = 600
    stable_group(scene, ana)
    bo.be_known()
    bo.joined(bo.actor.ask(bo.join()))
    ana.actor.ask(ana.heartbeat(), 3)


@script(versions=every("JoinGroup"))
def join_answered_for_the_parked_when_the_leader_leaves(scene: Scene, version: int) -> None:
    """While preparing, the old member leaves instead of rejoining: the newcomer leads."""
    ana = Member(scene, scene.name("group"))
    bo = preparing_group(scene, ana)
    ana.actor.ask(ana.leave(), 3)
    bo.joined(bo.hear_quietly())
    bo.actor.ask(bo.join())


@script(versions=(5, 6, 7, 8, 9))
def join_as_a_static_member(scene: Scene, version: int) -> None:
    """No extra step for an id; ids begin with the instance's name."""
    ana = Member(scene, scene.name("group"), instance="a")
    ana.joined(ana.actor.ask(ana.join()))
    ana.actor.ask(ana.join(member_id="stranger"))
    ana.actor.ask(ana.join(group_instance_id="b"))
    ana.actor.ask(ana.join(group_instance_id=None))
    ana.actor.ask(ana.join(member_id="stranger", group_instance_id="b"))


@script(versions=(5, 6, 7, 8, 9))
def rejoin_as_a_static_follower(scene: Scene, version: int) -> None:
    """A follower comes back with no id: a new id, the same generation, no rebalance; the old id is fenced."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana", instance="a"), Member(scene, group, "bo", instance="b")
    stable_group(scene, ana, bo)
    again = Member(scene, group, "bo-again", instance="b")
    again.joined(again.actor.ask(again.join()))
    again.actor.ask(again.sync(), 3)
    ana.actor.ask(ana.heartbeat(), 3)
    bo.actor.ask(bo.heartbeat(), 3)
    bo.actor.ask(bo.join())
    bo.actor.ask(bo.sync(), 3)


@script(versions=(5, 6, 7, 8, 9))
def rejoin_as_a_static_leader(scene: Scene, version: int) -> None:
    """The leader comes back with no id: below v9 it is told the old leader's id, from v9 on to skip assigning."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana", instance="a"), Member(scene, group, "bo", instance="b")
    stable_group(scene, ana, bo)
    again = Member(scene, group, "ana-again", instance="a")
    again.joined(again.actor.ask(again.join()))
    again.actor.ask(again.sync(), 3)
    bo.actor.ask(bo.heartbeat(), 3)
    ana.actor.ask(ana.heartbeat(), 3)


@script(versions=(5, 6, 9))
def rejoin_as_a_static_member_with_other_protocols(scene: Scene, version: int) -> None:
    """If the protocol that would be chosen now is another one, the group rebalances."""
    group = scene.name("group")
    ana = Member(scene, group, "ana", protocols=[STICKY, RANGE], instance="a")
    bo = Member(scene, group, "bo", protocols=[STICKY, RANGE], instance="b")
    stable_group(scene, ana, bo)
    again = Member(scene, group, "bo-again", protocols=[RANGE], instance="b")
    again.actor.send(again.join())
    scene.group_shows(group, state="PreparingRebalance", members=2)
    ana.actor.ask(ana.heartbeat(), 3)
    ana.joined(ana.actor.ask(ana.join()))
    again.joined(again.actor.hear())


@script(versions=(5, 6, 9))
def rejoin_as_a_static_member_while_completing(scene: Scene, version: int) -> None:
    """In CompletingRebalance a replaced member starts the rebalance anew; who waited for SyncGroup is told."""
    group = scene.name("group")
    ana, bo = Member(scene, group, "ana", instance="a"), Member(scene, group, "bo", instance="b")
    completing_group(scene, ana, bo)
    bo.actor.send(bo.sync(), 3)
    bo.actor.hear_nothing()
    again = Member(scene, group, "ana-again", instance="a")
    again.actor.send(again.join())
    bo.actor.hear()
    bo.joined(bo.actor.ask(bo.join()))
    again.joined(again.actor.hear())


@script(versions=(5, 6, 9))
def rejoin_as_a_static_member_while_its_join_is_parked(scene: Scene, version: int) -> None:
    """The parked JoinGroup of the instance's old id is fenced."""
    group = scene.name("group")
    ana = Member(scene, group, "ana")
    stable_group(scene, ana)
    bo = Member(scene, group, "bo", instance="b")
    bo.actor.send(bo.join())
    scene.group_shows(group, state="PreparingRebalance", members=2)
    again = Member(scene, group, "bo-again", instance="b")
    again.actor.send(again.join())
    bo.actor.hear()
    ana.joined(ana.actor.ask(ana.join()))
    again.joined(again.actor.hear())


@script(versions=some("JoinGroup"))
def join_with_a_reason_and_strange_names(scene: Scene, version: int) -> None:
    """A client id with spaces and umlauts begins the member id; an empty one leaves it beginning with a dash."""
    group = scene.name("group")
    for client_id in ("späte katze 1", ""):
        ana = Member(scene, f"{group}-{len(client_id)}", "ana")
        ana.actor = scene.actor("ana", client_id=client_id)
        ana.joined(ana.actor.ask(ana.join(reason="because")))


@script(versions=some("JoinGroup"), needs=("group.max.size",))
def join_a_full_group_while_preparing(scene: Scene, version: int) -> None:
    """While preparing, those who have rejoined count: a newcomer may take the place of a member who comes too late."""
    group = scene.name("group")
    members = [Member(scene, group, name) for name in ("ana", "bo", "cy", "di")]
    stable_group(scene, *members)
    ana, bo, cy, di = members
    ana.actor.send(ana.join(), 5)
    scene.group_shows(group, state="PreparingRebalance", members=4)
    eve = Member(scene, group, "eve")
    eve.joined(eve.actor.ask(eve.join(), 5))
    eve.actor.send(eve.join(), 5)
    scene.group_shows(group, state="PreparingRebalance", members=5)
    for member in (bo, cy):
        member.actor.send(member.join(), 5)
        member.actor.hear_nothing()
    di.actor.ask(di.join())


@script(versions=(5, 6, 9))
def join_with_a_pending_id_and_an_instance(scene: Scene, version: int) -> None:
    """An id handed out to a dynamic member can't be brought back by a static one."""
    ana = Member(scene, scene.name("group"))
    ana.be_known()
    ana.actor.ask(ana.join(group_instance_id="i"))


@script(versions=(5,))
def join_with_metadata_nobody_can_read(scene: Scene, version: int) -> None:
    """Too short to be a subscription, or with lengths that lie: the group works, and any topic may have subscribers."""
    topic = scene.topic()
    for metadata in (
        b"",
        b"\0",
        b"\0\0",
        b"\xff\xff\0\0\0\0",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\0\0\0\1\x7f\xff",
        b"\0\0\0\0\0\1\xff\xff",
    ):
        ana = Member(scene, scene.name("group"), protocols=[("range", metadata)])
        ana.be_known()
        ana.joined(ana.actor.ask(ana.join()))
        ana.actor.ask(ana.sync({ana.member_id: b"mine"}), 3)
        ana.actor.ask(delete_offsets_request(ana.group, {topic: [0]}), 0)
