"""What can be waited for: how it is looked at, when it holds, and what is said of it.

    group_is("kitchen", state="Stable", members=2)     commit_is("kitchen", "orders", 0, at_least=7)
    group_has_all("kitchen")                           records_are("orders", 7)
    transaction_is("tx", state="Ongoing")

A condition is data; `waiting` has it looked at again when something has happened that may matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.control.state.groups import GroupView, look_at_group, look_at_groups
from ottla.control.state.topics import COMMITTED, Isolation, check_isolation, count_records
from ottla.control.state.transactions import DEAD, TransactionView, look_at_transaction
from ottla.coordinator.transactions.states import TransactionState
from ottla.text.nearest import nearest

if TYPE_CHECKING:
    from ottla.broker.lifecycle.assembly import Assembly

T = TypeVar("T")

#: What of a group `group_is` can be asked for.
_READ: Final[Mapping[str, Callable[[GroupView], Any]]] = {
    "state": lambda view: view.state,
    "members": lambda view: len(view.members),
    "generation": lambda view: view.generation_id,
    "lag": lambda view: view.total_lag if view.lag else None,
}
TRANSACTION_STATES: Final = (*(state.value for state in TransactionState), DEAD)


@dataclass(frozen=True, slots=True)
class Condition(Generic[T]):
    """Something that may become true."""

    said: str
    """What is waited for, as the end of "waited for ..."."""
    look: Callable[[Assembly], T]
    """What there is now."""
    holds: Callable[[T], bool]
    told: Callable[[T], str]
    """What there is, where it does not hold."""
    topics: Collection[str] = ()
    """Whose logs matter."""


def group_states() -> tuple[str, ...]:
    """The states that groups can be waited for in."""
    from ottla.coordinator.groups.kinds import states  # which loads every kind of group

    return states()


def _check_state(state: str | None, states: Collection[str], whose: str) -> None:
    if state is not None and state not in states:
        raise ValueError(f"no {whose} is ever {state}; {nearest(state, states)}")


def group_is(
    group_id: str,
    predicate: Callable[[GroupView], bool] | None = None,
    *,
    state: str | None = None,
    members: int | None = None,
    generation: int | None = None,
    lag: int | None = None,
) -> Condition[GroupView]:
    """The group is in this state, with so many members, in this generation, with so much left to read over all
    partitions, and as the predicate wants it; None: that doesn't matter. Raises `ValueError` for a state there is not.
    """
    _check_state(state, group_states(), "group")
    wanted = {
        name: value
        for name, value in (("state", state), ("members", members), ("generation", generation), ("lag", lag))
        if value is not None
    }
    said = [f"{name}={value!r}" for name, value in wanted.items()]
    if predicate is not None:
        said.append(getattr(predicate, "__name__", repr(predicate)))

    def holds(view: GroupView) -> bool:
        is_there = bool(said) or view.coordinator is not None
        agrees = all(_READ[name](view) == value for name, value in wanted.items())
        return is_there and agrees and (predicate is None or predicate(view))

    def told(view: GroupView) -> str:
        return f"{view}; {_lag_of(view)}" if lag is not None else str(view)

    return _of_group(group_id, f"group {group_id} with {', '.join(said) or 'anything'}", holds, told)


def group_has_all(group_id: str) -> Condition[GroupView]:
    """The group is Stable, and every partition of what its members want to read has been given to one of them."""

    def told(view: GroupView) -> str:
        missing = ", ".join(f"{topic}-{index}" for topic, index in view.unassigned)
        return f"{view}; {f'nobody has {missing}' if missing else 'nobody was given anything'}"

    def holds(view: GroupView) -> bool:
        return view.state == "Stable" and not view.unassigned and any(member.assignment for member in view.members)

    return _of_group(group_id, f"all of what group {group_id} reads to be assigned", holds, told)


def commit_is(group_id: str, topic: str, partition: int, *, at_least: int) -> Condition[GroupView]:
    """The group has committed this offset of the partition, or a later one."""
    place = topic, partition

    def told(view: GroupView) -> str:
        committed = view.committed.get(place)
        what = "nothing is committed there" if committed is None else f"{committed} is committed there"
        others = ", ".join(f"{name}-{index} at {offset}" for (name, index), offset in view.committed.items())
        return f"{what}; of all partitions {others or 'none'}; {view}"

    return _of_group(
        group_id,
        f"group {group_id} to commit {topic}-{partition} up to {at_least} or later",
        lambda view: view.committed.get(place, -1) >= at_least,
        told,
    )


def records_are(topic: str, count: int, isolation: Isolation = COMMITTED) -> Condition[int]:
    """So many records are in the topic, or more. Raises `ValueError` for an isolation there is not."""
    check_isolation(isolation)
    return Condition(
        f"{count} {'record' if count == 1 else 'records'} in topic {topic}"
        f"{'' if isolation == COMMITTED else f' with {isolation}'}",
        lambda parts: count_records(parts.cluster, topic, isolation),
        lambda found: found >= count,
        lambda found: f"there are {found}" if found else "there are none",
        (topic,),
    )


def transaction_is(
    transactional_id: str, predicate: Callable[[TransactionView], bool] | None = None, *, state: str | None = None
) -> Condition[TransactionView]:
    """The transactional id is in this state, and as the predicate wants it; with neither, it is there.

    Raises `ValueError` for a state there is not.
    """
    _check_state(state, TRANSACTION_STATES, "transaction")
    said = [f"state={state!r}"] if state is not None else []
    if predicate is not None:
        said.append(getattr(predicate, "__name__", repr(predicate)))

    def holds(view: TransactionView) -> bool:
        is_there = bool(said) or view.coordinator is not None
        return is_there and state in (None, view.state) and (predicate is None or predicate(view))

    return Condition(
        f"transactional id {transactional_id} with {', '.join(said) or 'anything'}",
        lambda parts: look_at_transaction(parts.services, transactional_id),
        holds,
        str,
    )


def no_group_rebalances() -> Condition[list[GroupView]]:
    """No group is between two generations."""

    def look(parts: Assembly) -> list[GroupView]:
        return look_at_groups(parts.services, parts.cluster, only_rebalancing=True)

    return Condition("no group to rebalance", look, lambda views: not views, lambda views: "; ".join(map(str, views)))


def _of_group(
    group_id: str, said: str, holds: Callable[[GroupView], bool], told: Callable[[GroupView], str]
) -> Condition[GroupView]:
    def look(parts: Assembly) -> GroupView:
        return look_at_group(parts.services, parts.cluster, group_id)

    def told_of_others(view: GroupView) -> str:
        return told(view) if view.coordinator is not None else str(view)

    return Condition(said, look, holds, told_of_others, (GROUP_TOPIC,))


def _lag_of(view: GroupView) -> str:
    each = ", ".join(f"{topic}-{index} by {lag}" for (topic, index), lag in view.lag.items())
    if not each:
        return "it has committed nothing"
    uncommitted = ", ".join(f"{topic}-{index}" for topic, index in view.uncommitted)
    from_start = f"; nothing is committed for {uncommitted}, which counts from its log start (earliest)"
    return f"it lags by {view.total_lag}: {each}{from_start if uncommitted else ''}"
