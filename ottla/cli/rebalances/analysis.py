"""All groups of some journals: from their lines to what was found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from ottla.cli.rebalances.story import CauseSums, Story
from ottla.pipeline.report.choice import chosen
from ottla.pipeline.report.events import ALL_OUTCOMES
from ottla.pipeline.report.found import Found

if TYPE_CHECKING:
    from ottla.cli.rebalances.journals import Journals
    from ottla.terminal.output import Item


def find(journals: Journals, groups: Collection[str], top: int) -> Found:
    """What they say, of all groups or of these; `top`: how many groups and members are told. Raises `NoJournal`."""
    causes: defaultdict[str | None, CauseSums] = defaultdict(CauseSums)
    stories: dict[str, Story] = {}
    from_ms = until_ms = None
    for line in journals:
        if groups and line.group not in groups:
            continue
        from_ms = line.t if from_ms is None else min(from_ms, line.t)
        until_ms = line.t if until_ms is None else max(until_ms, line.t)
        if line.group not in stories:
            stories[line.group] = Story(line.group, causes.__getitem__)
        stories[line.group].add(line)
    for story in stories.values():
        story.end()
    items = sorted((story.group_item() for story in stories.values()), key=_by_harm)
    told = [stories[item["group"]] for item in items[:top]]
    rebalances, states = chosen(
        (item for story in told for item in story.rebalance_items()),
        (item for story in told for item in story.state_items(until_ms or 0)),
    )
    members = (item for story in stories.values() for item in story.member_items())
    return Found(
        sources=[name.rpartition("/")[2] if name != "-" else "stdin" for name in journals.names],
        lines=journals.lines,
        passed_over=journals.passed_over,
        from_ms=from_ms,
        until_ms=until_ms,
        group_count=len(items),
        rebalance_count=sum(item["rebalances"] for item in items),
        lost_lines=sum(item["lost_lines"] for item in items),
        groups=items[:top],
        causes=_cause_items(causes),
        members=sorted(members, key=_by_blame)[:top],
        rebalances=rebalances,
        states=states,
    )


def _by_harm(group: Item) -> tuple[object, ...]:
    return -group["unread_ms"], -group["not_stable_ms"], -group["rebalances"], group["group"]


def _by_blame(member: Item) -> tuple[object, ...]:
    return -member["rebalances"], -member["removed"], member["group"], member["member_id"]


def _cause_items(causes: dict[str | None, CauseSums]) -> list[Item]:
    items = [
        {
            "cause": cause,
            "rebalances": sums.outcomes.total(),
            **{outcome: sums.outcomes[outcome] for outcome in ALL_OUTCOMES},
            "total_ms": sums.lengths.total_ms,
            "median_ms": sums.lengths.percentile(50),
            "p95_ms": sums.lengths.percentile(95),
            "longest_ms": sums.lengths.longest_ms,
            "unread_ms": sums.unread_ms,
        }
        for cause, sums in causes.items()
    ]
    return sorted(
        items, key=lambda item: (-item["unread_ms"], -item["total_ms"], -item["rebalances"], item["cause"] or "")
    )
