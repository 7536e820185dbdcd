"""Assertions about what has happened in a broker. Each one that fails shows the timeline.

    kafka.group("kitchen").assert_rebalances(exactly=1, because="member_left", member="ana-*")
    kafka.assert_never("group.member.removed", group="kitchen", since=mark)

Whole words or patterns: `*` matches any text. What can't happen at all, for nothing has such a name, is an error,
and not an assertion that always holds.
"""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ottla.events.kind import KINDS, Kind
from ottla.protocol.registry import all_apis
from ottla.text.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ottla.control.state.requests import ReceivedRequest
    from ottla.control.state.timeline import Timeline

#: Above the table in what a failure says; the pytest plugin does not show it again then.
TIMELINE_TITLE = "What happened:"


def assert_rebalances(
    timeline: Timeline,
    group: str,
    *,
    exactly: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    because: str | None = None,
    member: str | None = None,
) -> None:
    """Assert how many rebalances the group began, for this reason and because of this member, if they are given.

    Without a number: at least one. Raises `AssertionError`; `ValueError` for a reason that there is not.
    """
    if because is not None:
        from ottla.coordinator.groups.kinds import causes

        _check_known(because, causes(), "cause of a rebalance")
    found = timeline.of(Kind.GROUP_REBALANCE_STARTED.name, group=group, member=member, cause=because)
    of_what = f"of group {group}" + (f" because {because}" if because else "") + (f" by {member}" if member else "")
    what = f"{'rebalance' if len(found) == 1 else 'rebalances'} {of_what}"
    _assert_count(len(found), what, timeline.about(group), exactly, at_least, at_most)


def assert_never(
    timeline: Timeline, kind: str, *, group: str | None = None, member: str | None = None, **details: object
) -> None:
    """Assert that nothing of this kind has happened. Raises `AssertionError`; `ValueError` if there is no such kind."""
    _check_known(kind, KINDS, "kind of event")
    if timeline.lost:
        raise RuntimeError(_too_much(timeline))
    found = timeline.of(kind, group=group, member=member, **details)
    if found:
        wanted = ", ".join(
            f"{key}={value!r}"
            for key, value in {"group": group, "member": member, **details}.items()
            if value is not None
        )
        fail(f"{kind}{f' ({wanted})' if wanted else ''} has happened, {len(found)} in all:\n{found}", timeline)


def assert_received(
    received: Sequence[ReceivedRequest],
    all_received: Sequence[ReceivedRequest],
    api: str,
    of_what: str,
    timeline: Timeline,
    *,
    exactly: int | None,
    at_least: int | None,
    at_most: int | None,
) -> None:
    """Assert how many requests there were of those that were asked for; at least one without a number."""
    counts = Counter(request.api for request in all_received)
    others = ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"
    what = f"{api}{of_what} {'was' if len(received) == 1 else 'were'} received; of all: {others}"
    _assert_count(len(received), what, timeline, exactly, at_least, at_most)


def check_api(api: str) -> None:
    """Raises `ValueError` if Kafka has no API of this name."""
    _check_known(api, [known.name for known in all_apis()], "API")


def _assert_count(
    count: int, what: str, timeline: Timeline, exactly: int | None, at_least: int | None, at_most: int | None
) -> None:
    if exactly is None and at_least is None and at_most is None:
        at_least = 1
    if timeline.lost and (exactly is not None or at_most is not None):
        raise RuntimeError(_too_much(timeline))
    wanted = [
        f"{word} {number}"
        for word, number, holds in (
            ("exactly", exactly, count == exactly),
            ("at least", at_least, at_least is None or count >= at_least),
            ("at most", at_most, at_most is None or count <= at_most),
        )
        if number is not None and not holds
    ]
    if wanted:
        fail(f"{' and '.join(wanted)} wanted, and {count} {what}", timeline)


def fail(sentence: str, timeline: Timeline) -> None:
    """Raise an `AssertionError` that shows what happened."""
    raise AssertionError(f"{sentence}\n\n{TIMELINE_TITLE}\n{timeline.short()}")


def _check_known(pattern: str, names: Collection[str], what: str) -> None:
    if not any(fnmatchcase(name, pattern) for name in names):
        raise ValueError(f"there is no {what} called {pattern!r}; {nearest(pattern, names)}")


def _too_much(timeline: Timeline) -> str:
    return (
        f"the first {timeline.lost} events are not kept any more, so there is no telling; give since=, a kafka.mark() "
        "from shortly before"
    )
