"""The group as data: members and their books, and the invariants, which must notice what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.coordinator.classic.events import DescribeRequested
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.member import Member
from ottla.coordinator.classic.members import add, remove, replace_id
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.groups.kinds import KINDS
from ottla.coordinator.groups.listing import listed
from ottla.coordinator.runtime.effects import Disarm, Ended
from ottla.coordinator.runtime.events import Unloaded
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups import DescribeGroupsResponse
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from ottla.testing.playbook import Playbook
from tests.coordinator.actors import ORDERS, Actor, Name, bring_in, make_stable, new_group, perform, protocols

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


# ── Members ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def member(member_id: str, group_instance_id: str | None = None) -> Member:
    return Member(member_id, group_instance_id, "c", "/h", 10, 20, protocols("a", "b", metadata=member_id.encode()))


def test_the_first_member_leads_and_gives_the_group_its_type() -> None:
    """Others don't change either."""
    group = new_group()
    add(group, member("m"), "consumer")
    add(group, member("n"), "connect")
    assert (group.leader_id, group.protocol_type) == ("m", "consumer")


def test_when_the_leader_goes_the_next_one_leads() -> None:
    """In the order they came; nobody, when all are gone."""
    group = new_group()
    for member_id in ("m", "n", "o"):
        add(group, member(member_id), "consumer")
    remove(group, group.members["n"], [])
    assert group.leader_id == "m"
    remove(group, group.members["m"], [])
    assert group.leader_id == "o"
    remove(group, group.members["o"], [])
    assert group.leader_id is None


def test_an_instance_belongs_to_one_member() -> None:
    """A second one would be a mistake of ours."""
    group = new_group()
    add(group, member("m", "i"), "consumer")
    with pytest.raises(AssertionError):
        add(group, member("n", "i"), "consumer")


def test_a_replaced_id_takes_everything_along() -> None:
    """Instance, lead, assignment; whoever had it is not new any more; its timer stops."""
    group = new_group()
    replaced = member("m", "i")
    replaced.assignment, replaced.is_new, replaced.deadline_ms = b"x", True, 5
    add(group, replaced, "consumer")
    effects: list[object] = []
    replace_id(group, replaced, "n", effects)  # type: ignore[arg-type]
    assert effects == [Disarm("heartbeat-m")]
    assert (group.static_members, group.leader_id, list(group.members)) == ({"i": "n"}, "n", ["n"])
    assert (replaced.member_id, replaced.timer_key, replaced.is_new) == ("n", "heartbeat-n", False)
    assert replaced.assignment == b"x"


def test_metadata_by_protocol() -> None:
    """The first of a name counts; of a name it does not have there is none."""
    m = member("m")
    m.protocols = protocols("a", metadata=b"1") + protocols("a", metadata=b"2")
    assert m.metadata("a") == b"1"
    assert m.metadata("z") is None


@pytest.mark.parametrize(
    ("is_new", "parked", "is_kept_alive"),
    [(True, "join", False), (False, "join", True), (False, "sync", True), (False, None, False), (True, None, False)],
)
def test_who_is_kept_alive(ana: Actor, is_new: bool, parked: str | None, is_kept_alive: bool) -> None:
    """Whoever is parked, unless it is new."""
    m = member("m")
    m.is_new = is_new
    m.parked_join = ana.joins()() if parked == "join" else None  # type: ignore[assignment]
    m.parked_sync = ana.syncs()() if parked == "sync" else None  # type: ignore[assignment]
    assert m.is_kept_alive == is_kept_alive


def test_the_rebalance_timeout_is_the_longest_and_never_below_zero() -> None:
    """Of nobody it is 0."""
    group = new_group()
    assert group.rebalance_timeout_ms == 0
    for number, timeout_ms in enumerate([-1, 7, 3]):
        m = member(f"m{number}")
        m.rebalance_timeout_ms = timeout_ms
        add(group, m, "consumer")
        assert group.rebalance_timeout_ms == max(0, *[-1, 7, 3][: number + 1])


# ── Invariants ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _break(group: Group, name: str, value: object) -> None:
    setattr(group, name, value)


BROKEN: dict[str, Callable[[Group], object]] = {
    "leader gone": lambda g: _break(g, "leader_id", "nobody"),
    "no leader": lambda g: _break(g, "leader_id", None),
    "instance lost": lambda g: g.static_members.clear(),
    "pending and a member": lambda g: g.pending_joins.update({g.leader_id or "": 5}),
    "counts wrong": lambda g: g.supported_protocols.update(range=9),
    "protocol nobody has": lambda g: _break(g, "protocol_name", "unheard of"),
    "no protocol": lambda g: _break(g, "protocol_name", None),
    "parked count wrong": lambda g: _break(g, "parked_joins", 1),
    "parked sync in Stable": lambda g: _break(next(iter(g.members.values())), "parked_sync", object()),  # type: ignore[arg-type]
    "new in Stable": lambda g: _break(next(iter(g.members.values())), "is_new", True),  # type: ignore[arg-type]
    "lives for ever": lambda g: _break(next(iter(g.members.values())), "deadline_ms", None),  # type: ignore[arg-type]
    "join timer in Stable": lambda g: _break(g, "join_deadline_ms", 5),
    "sync timer for nobody": lambda g: _break(g, "sync_deadline_ms", 5),
    "owed without a timer": lambda g: g.pending_syncs.update({"x": None}),
    "members in Empty": lambda g: _break(g, "state", EMPTY),
    "preparing without a rebalance": lambda g: _break(g, "state", PREPARING),
    "topic without offsets": lambda g: g.offsets.committed.update(orders={}),
    "fetch waits for nothing": lambda g: g.offsets.waiting_fetches.append(object()),  # type: ignore[arg-type]
    "id under another key": lambda g: g.members.update(x=next(iter(g.members.values()))),
}


@pytest.mark.parametrize("how", BROKEN)
def test_check_notices_what_is_wrong(ana: Actor, bo: Actor, how: str) -> None:
    """A stable group holds its invariants; broken in any of these ways it does not."""
    group = new_group()
    bo.group_instance_id = "bo's"
    make_stable(group, ana, bo)
    group.check()
    BROKEN[how](group)
    with pytest.raises(AssertionError):
        group.check()


def test_check_notices_syncs_nobody_owes(ana: Actor, bo: Actor) -> None:
    """In Completing those owe one who have not sent it, and nobody else."""
    group = new_group()
    bring_in(group, ana, bo)
    group.check()
    del group.pending_syncs[bo.member_id]
    with pytest.raises(AssertionError):
        group.check()


# ── How it looks from outside ─────────────────────────────────────────────────────────────────────────────────────────


def described(group: Group, api_version: int = 6) -> DescribeGroupsResponse.DescribedGroup:
    (reply,) = perform(group, 0, DescribeRequested(Name("describe"), api_version))
    assert isinstance(reply.response, DescribeGroupsResponse.DescribedGroup)
    return reply.response


def test_describe_a_stable_group(ana: Actor, bo: Actor) -> None:
    """Protocol, and each member with its metadata and assignment."""
    group = new_group()
    bo.group_instance_id = "bo's"
    make_stable(group, ana, bo)
    described_member = DescribeGroupsResponse.DescribedGroupMember
    assert described(group) == DescribeGroupsResponse.DescribedGroup(
        group_id="group",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            described_member("ana-1", None, "ana", "/ana", ORDERS, b"ana"),
            described_member("bo's-2", "bo's", "bo", "/bo", ORDERS, b"bo"),
        ],
    )


def test_describe_a_rebalancing_group(ana: Actor, bo: Actor) -> None:
    """No protocol and no metadata; what members still hold is shown; who only has an id is not."""
    group = new_group()
    make_stable(group, ana)
    perform(group, 0, bo.joins()())
    perform(group, 0, bo.joins(member_id="", version=3)())
    shown = described(group)
    assert (shown.group_state, shown.protocol_type, shown.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(m.member_metadata, m.member_assignment) for m in shown.members] == [(b"", b"ana"), (b"", b"")]


@pytest.mark.parametrize(
    ("api_version", "error", "message"),
    [(5, ErrorCode.NONE, ""), (6, ErrorCode.GROUP_ID_NOT_FOUND, "Group group not found.")],
)
def test_describe_a_dead_group(api_version: int, error: ErrorCode, message: str) -> None:
    """It is Dead; from v6 on that is an error too."""
    group = new_group(is_unwritten=False)
    assert Playbook(group) >> Unloaded() << Ended()
    shown = described(group, api_version)
    assert (shown.group_state, shown.error_code, shown.error_message or "") == ("Dead", error, message)


def groups_in_all_states() -> list[Group]:
    groups = []
    for state in GroupState:
        group = new_group(is_unwritten=False)
        group.group_id, group.state, group.protocol_type = state.name, state, "consumer"
        groups.append(group)
    return groups


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ([], [], {"EMPTY", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE", "DEAD"}),
        (["Stable"], [], {"STABLE"}),
        ([" sTaBLe ", "empty"], [], {"STABLE", "EMPTY"}),
        (["unheard of"], [], set()),
        (["Stable", "unheard of"], [], {"STABLE"}),
        (["Stable"], ["Classic"], {"STABLE"}),
        (["Stable"], ["consumer"], set()),
        ([], ["unheard of"], set()),
        (["Stable"], ["consumer", "CLASSIC"], {"STABLE"}),
    ],
    ids=lambda value: ", ".join(sorted(value)) or "none",
)
def test_listing_with_filters(states: list[str], types: list[str], found: set[str]) -> None:
    """By state, trimmed and whatever the case; by type; an unknown value lets nothing pass, no value everything."""
    listing = listed(groups_in_all_states(), ListGroupsRequest(states, types), KINDS)
    assert {group.group_id for group in listing} == found


def test_listing_a_simple_group() -> None:
    """Without a type; Empty, as ids that were handed out are no members."""
    group = new_group()
    perform(group, 0, Actor("ana").joins()())
    (found,) = listed([group], ListGroupsRequest(), KINDS)
    assert found == ListGroupsResponse.ListedGroup("group", "", "Empty", "classic")
