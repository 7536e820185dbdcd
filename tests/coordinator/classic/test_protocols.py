"""Who supports what, and what a group chooses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.member import Member
from ottla.coordinator.classic.members import add, remove, update
from ottla.coordinator.classic.protocols import choose, fits
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import is_subscribed, subscribed_topics
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tests.coordinator.actors import ORDERS, Actor, make_stable, new_group, protocols

NAMES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5, unique=True)


def group_of(*lists: list[str], protocol_type: str = "consumer", metadata: bytes = ORDERS) -> Group:
    group = new_group(is_unwritten=False)
    for number, names in enumerate(lists):
        member = Member(f"m{number}", None, "c", "/h", 1, 1, protocols(*names, metadata=metadata))
        add(group, member, protocol_type)
    if lists:
        group.state = GroupState.PREPARING_REBALANCE
    return group


@given(st.lists(NAMES, min_size=1, max_size=8))
def test_the_choice_is_the_vote(lists: list[list[str]]) -> None:
    """What all support and most like; None only if there is no such protocol."""
    group = group_of(*lists)
    common = set.intersection(*map(set, lists))
    chosen = choose(group)
    if not common:
        assert chosen is None
        return
    votes = [next(name for name in names if name in common) for names in lists]
    most = max(votes.count(name) for name in common)
    assert chosen in {name for name in common if votes.count(name) == most}


@given(st.lists(NAMES, min_size=1, max_size=6), st.permutations(range(6)))
def test_the_choice_does_not_depend_on_who_came_first(lists: list[list[str]], order: list[int]) -> None:
    """Ties are decided by names alone, as long as they fall into different slots, and these do."""
    shuffled = [lists[index] for index in order if index < len(lists)]
    assert choose(group_of(*lists)) == choose(group_of(*shuffled))


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([["a", "a"]], None),
        ([["a", "a"], ["a"]], None),
        ([["a", "a", "b"], ["b"]], None),  # "a" counts two of two, and one of them has it not
        ([["a", "a", "b"], ["b", "a"]], "b"),
        ([["a", "a"], ["b", "b"]], None),
    ],
    ids=str,
)
def test_protocols_named_twice(lists: list[list[str]], chosen: str | None) -> None:
    """They count twice, as in Kafka; where that leaves somebody without a protocol Kafka throws an exception."""
    assert choose(group_of(*lists)) == chosen


def test_who_fits_an_empty_group() -> None:
    """Anybody with a type and a protocol, whatever the group was before."""
    group = group_of(protocol_type="connect")
    group.protocol_type = "connect"
    assert fits(group, "consumer", protocols("a"))
    assert not fits(group, "", protocols("a"))
    assert not fits(group, "consumer", [])


def test_who_fits_a_group_with_members() -> None:
    """The same type, and one name that every member has."""
    group = group_of(["a", "b"], ["b", "c"])
    assert fits(group, "consumer", protocols("x", "b"))
    assert not fits(group, "connect", protocols("b"))
    assert not fits(group, "consumer", protocols("a", "c"))
    assert not fits(group, "consumer", [])


def test_who_fits_a_group_whose_members_have_all_left() -> None:
    """In Preparing without members any name will do, of the same type."""
    group = group_of(["a"])
    remove(group, group.members["m0"], [])
    assert fits(group, "consumer", protocols("z"))
    assert not fits(group, "connect", protocols("z"))


@given(st.lists(st.tuples(st.sampled_from(["add", "update", "remove"]), st.lists(st.sampled_from("abc"), max_size=4))))
def test_counts_of_protocols_equal_a_recount(steps: list[tuple[str, list[str]]]) -> None:
    """However members come, change and go, and whatever they name twice."""
    group = group_of()
    for number, (what, names) in enumerate(steps):
        if what == "add" or not group.members:
            member = Member(f"m{number}", None, "c", "/h", 1, 1, protocols(*names))
            add(group, member, "consumer")
        elif what == "update":
            update(group, next(iter(group.members.values())), protocols(*names), 2, 2)
        else:
            remove(group, next(iter(group.members.values())), [])
        recount = [protocol.name for member in group.members.values() for protocol in member.protocols]
        assert group.supported_protocols == {name: recount.count(name) for name in recount}


# ── What they read ────────────────────────────────────────────────────────────────────────────────────────────────────


def subscription(*topics: str, version: int = 3) -> bytes:
    return version.to_bytes(2, "big") + ConsumerProtocolSubscription(list(topics)).encode(version)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_the_topics_of_all_members(version: int) -> None:
    """The union, read from whatever version they speak, by what all versions begin with."""
    group = new_group()
    ana, bo = Actor("ana"), Actor("bo")
    ana.protocols = protocols("range", metadata=subscription("orders", "payments", version=version))
    bo.protocols = protocols("range", metadata=subscription("orders", "refunds", version=version))
    make_stable(group, ana, bo)
    assert group.subscribed_topics == {"orders", "payments", "refunds"}  # type: ignore[comparison-overlap]
    assert is_subscribed(group, "refunds")
    assert not is_subscribed(group, "returns")


@pytest.mark.parametrize(
    "metadata",
    [b"", b"\x00", b"\x00\x00", b"\x00\x00\x00\x00\x00\x01", b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"],
    ids=["nothing", "half a version", "no topics", "cut short", "null topics"],
)
def test_subscriptions_that_cannot_be_read(metadata: bytes) -> None:
    """Nobody knows what they read, so it might be anything."""
    group = group_of(["a"], metadata=metadata)
    group.protocol_name = "a"
    assert subscribed_topics(group) is None
    assert is_subscribed(group, "orders")


def test_others_than_consumers_read_nothing_known() -> None:
    """Their metadata is nobody's business; no topic counts as theirs."""
    group = group_of(["a"], protocol_type="connect")
    group.protocol_name = "a"
    assert subscribed_topics(group) is None
    assert not is_subscribed(group, "orders")


def test_a_group_without_members_reads_nothing() -> None:
    """Of consumers that is known; of a simple group there is nothing to know."""
    group = group_of()
    assert subscribed_topics(group) is None
    assert not is_subscribed(group, "orders")
    group.protocol_type = "consumer"
    assert subscribed_topics(group) == frozenset()


def test_topics_are_unknown_before_a_protocol_is_chosen() -> None:
    """A new group of consumers in its first rebalance."""
    group = group_of(["a"])
    assert subscribed_topics(group) is None
    assert is_subscribed(group, "orders")
